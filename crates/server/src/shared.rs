//! What all connections share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use duramen_observe::{Counter, gauge};
use duramen_os::memory::Broker;
use duramen_os::sync::Mutex;
use duramen_tds::prelogin::TlsPolicy;

use crate::backend::{Backend, Delivery};
use crate::brake::Brake;
use crate::connection::Connection;
use crate::pool::Pool;
use crate::tls::TlsSetup;

/// So many replies of a round of the gate are quicker written than handed to a worker: by the log's own writer, who has
/// better to do, and by a worker that has written the log and is done with its request.
const ROUND_OF_OTHERS: usize = 1;
const ROUND_OF_WORKER: usize = 16;

/// What all connections share.
pub struct Shared {
    pub backend: Arc<dyn Backend>,
    /// What requests and replies take is asked of it.
    pub memory: Option<Arc<Broker>>,
    pub pool: Pool,
    /// Threads of the dedicated administrator connection, which nobody else takes.
    pub admin_pool: Option<Pool>,
    pub tls: Option<TlsSetup>,
    pub force_encryption: bool,
    pub max_message_bytes: usize,
    pub login_timeout: Duration,
    pub brake: Brake,
    pub timer: tokio::runtime::Handle,
    pub connections: Mutex<BTreeMap<u64, Arc<Connection>>>,
    /// Connections with packets that the gate has released, for one worker to write them all.
    pub released: Mutex<Vec<Arc<Connection>>>,
    pub next_id: AtomicU64,
}

impl Shared {
    pub fn tls_policy(&self) -> TlsPolicy {
        match (&self.tls, self.force_encryption) {
            (None, _) => TlsPolicy::None,
            (Some(_), false) => TlsPolicy::Available,
            (Some(_), true) => TlsPolicy::Forced,
        }
    }

    pub fn pools(&self) -> impl Iterator<Item = &Pool> {
        std::iter::once(&self.pool).chain(&self.admin_pool)
    }

    /// Has a worker run something after a while; nobody waits for it.
    pub fn later(self: &Arc<Shared>, wait: Duration, job: impl FnOnce() + Send + 'static) {
        let shared = Arc::clone(self);
        self.timer.spawn(async move {
            tokio::time::sleep(wait).await;
            shared.pool.run(job);
        });
    }

    /// A connection has ended.
    pub fn forget(&self, id: u64) {
        if self.connections.lock().remove(&id).is_some() {
            gauge(Counter::UserConnections, -1);
            gauge(Counter::LogicalConnections, -1);
        }
    }

    /// Writes what the gate has released.
    pub fn write_released(&self) {
        let released = std::mem::take(&mut *self.released.lock());
        for connection in released {
            connection.out.flush();
            connection.sent();
        }
    }

    /// From the packet gate; under its lock, but for the end of a round.
    pub fn deliver(self: &Arc<Shared>, delivery: Delivery) {
        let of = |id| self.connections.lock().get(&id).cloned();
        match delivery {
            Delivery::Packet { connection, bytes } => {
                if let Some(connection) = of(connection) {
                    connection.out.append_only(&bytes);
                    self.released.lock().push(connection);
                }
            }
            Delivery::Round => {
                let most = match Pool::is_worker() {
                    true => ROUND_OF_WORKER,
                    false => ROUND_OF_OTHERS,
                };
                if self.released.lock().len() <= most {
                    self.write_released();
                } else {
                    let shared = Arc::clone(self);
                    self.pool.run_urgently(move || shared.write_released());
                }
            }
            Delivery::End { connection } => {
                if let Some(connection) = of(connection) {
                    connection.lose();
                }
            }
        }
    }
}
