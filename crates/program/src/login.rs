//! Where clients connect to, and what a login says of itself.

use std::net::SocketAddr;
use std::sync::Arc;

use duramen_observe::Traffic;
use duramen_os::time::WallTime;

/// Who logs in, and from where.
#[derive(Clone, Debug, Default)]
pub struct LoginRequest {
    pub user: String,
    pub password: String,
    /// Empty: the login's default database.
    pub database: String,
    pub app: String,
    pub host: String,
    pub language: String,
    /// The client's process; 0 where it does not say.
    pub client_pid: u32,
    /// An IP address; empty where there is none.
    pub client_address: String,
    /// 0 where there is none.
    pub client_port: u16,
    /// The server's end of the connection.
    pub local: Option<SocketAddr>,
    /// The size of packets that both have settled; 0 where there are none.
    pub packet_bytes: u32,
    pub encrypted: bool,
    /// Came to the port of the dedicated administrator connection.
    pub admin: bool,
    /// What the client calls the library that it speaks by; empty where it does not say.
    pub library: String,
    /// Packets of the connection; none are counted where there is none.
    pub traffic: Arc<Traffic>,
}

/// Where clients connect to, and since when.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    pub address: SocketAddr,
    pub since: WallTime,
}
