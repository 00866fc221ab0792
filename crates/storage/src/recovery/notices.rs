//! The recoveries of an engine, and who is told of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::DbId;

use super::progress::{Notice, Progress, Recovering};
use crate::engine::Engine;

impl Engine {
    /// From now on lines for the server log go there, from whatever thread has something to say.
    pub fn set_notices(&self, notice: Notice) {
        *self.recoveries.notice.write() = Some(notice);
    }

    /// Says a line of the server log.
    pub fn notice(&self, text: &str) {
        self.recoveries.notice(text);
    }

    /// The recoveries that are under way.
    pub fn recoveries(&self) -> Vec<Recovering> {
        let all: Vec<_> = self.recoveries.under_way.lock().values().cloned().collect();
        all.iter().map(|p| p.look()).collect()
    }

    /// Recoveries that are under way end soon, with an error; the next start goes on with them.
    pub fn interrupt_recoveries(&self) {
        self.recoveries.interrupted.store(true, Ordering::SeqCst);
    }

    /// Recoveries of this engine end when what their thread works on is given up: of copies, which are then thrown away.
    pub fn recover_for_askers(&self) {
        self.recoveries.of_askers.store(true, Ordering::SeqCst);
    }

    /// Whether [`Engine::interrupt_recoveries`] was called.
    pub fn is_interrupted(&self) -> bool {
        self.recoveries.interrupted.load(Ordering::SeqCst)
    }

    /// The one of a database that is under way.
    pub(crate) fn recovery_of(&self, db: DbId) -> Option<Arc<Progress>> {
        self.recoveries.under_way.lock().get(&db.0).cloned()
    }

    /// A recovery begins; it is listed until [`Progress::end`].
    pub(crate) fn begin_recovery(&self, db: DbId, name: &str) -> Arc<Progress> {
        Progress::begin(&self.recoveries, db, name)
    }
}
