//! The connection to the server: how it is found, whose certificate is believed, and how one waits for an answer that
//! may be interrupted or late.

use std::io;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::Token;

use super::args::Options;
use super::format;

/// How often a wait looks at what could end it.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the acknowledgement of an attention may take.
const ATTENTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Where the SQL Server Browser answers, and how long we wait for it.
const BROWSER_PORT: u16 = 1434;
const BROWSER_TIMEOUT: Duration = Duration::from_secs(1);

/// Why an answer does not come.
pub enum Waiting {
    /// Ctrl-C: the server has been told, the connection goes on.
    Interrupted,
    /// The time of `-t` is over; the same.
    TimedOut,
    /// The connection is lost.
    Lost(ClientError),
}

pub struct Connection {
    client: Client<Stream>,
    interrupts: Option<Arc<AtomicBool>>,
    /// When the running query has taken too long.
    deadline: Option<Instant>,
}

impl Connection {
    /// Connects as the options say. The error is what the user reads.
    pub fn open(
        options: &Options,
        interrupts: Option<Arc<AtomicBool>>,
    ) -> Result<Connection, String> {
        let connection = ConnectOptions {
            host: options.host.clone(),
            port: port(options)?,
            user: options.user.clone(),
            password: options.password.clone(),
            database: options.database.clone(),
            app: "SQLCMD".to_string(),
            packet_bytes: options.packet_bytes,
            workstation: options.workstation.clone(),
            strict: false,
            tds_version: 0,
            trust: trust(options)?,
            connect_timeout: seconds(options.login_timeout_s),
            read_timeout: seconds(options.login_timeout_s),
        };
        let client = connect(&connection).map_err(|error| login_error(&error))?;
        let socket = client.stream().socket();
        socket
            .set_read_timeout(Some(LOOK_EVERY))
            .map_err(|e| format!("Sqlcmd: Error: {e}"))?;
        Ok(Connection {
            client,
            interrupts,
            deadline: None,
        })
    }

    pub fn packet_bytes(&self) -> usize {
        self.client.packet_bytes()
    }

    /// Sends a batch, which may take so many seconds; 0: any time.
    pub fn query(&mut self, sql: &str, timeout_s: u64) -> Result<(), Waiting> {
        self.deadline = seconds(timeout_s).map(|limit| Instant::now() + limit);
        if let Some(flag) = &self.interrupts {
            flag.store(false, Ordering::SeqCst);
        }
        self.client.query(sql).map_err(Waiting::Lost)
    }

    /// What comes next of the answer; `None` at its end.
    pub fn next(&mut self) -> Result<Option<Token>, Waiting> {
        loop {
            if self.interrupted() {
                self.cancel().map_err(Waiting::Lost)?;
                return Err(Waiting::Interrupted);
            }
            match self.client.next_event() {
                Ok(event) => return Ok(event),
                Err(ClientError::Io(e)) if is_timeout(&e) => {
                    if self.deadline.is_some_and(|d| Instant::now() >= d) {
                        self.cancel().map_err(Waiting::Lost)?;
                        return Err(Waiting::TimedOut);
                    }
                }
                Err(error) => return Err(Waiting::Lost(error)),
            }
        }
    }

    fn interrupted(&self) -> bool {
        let flag = self.interrupts.as_ref();
        flag.is_some_and(|f| f.load(Ordering::SeqCst))
    }

    fn cancel(&mut self) -> Result<(), ClientError> {
        let socket = self.client.stream().socket();
        socket.set_read_timeout(Some(ATTENTION_TIMEOUT))?;
        self.client.cancel()?;
        let socket = self.client.stream().socket();
        socket.set_read_timeout(Some(LOOK_EVERY))?;
        if let Some(flag) = &self.interrupts {
            flag.store(false, Ordering::SeqCst);
        }
        Ok(())
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn seconds(n: u64) -> Option<Duration> {
    (n > 0).then(|| Duration::from_secs(n))
}

/// The port: the one given, or the one that the SQL Server Browser knows for a named instance. Where no browser
/// answers on this machine, the default one, and a warning says so.
fn port(options: &Options) -> Result<u16, String> {
    let Some(instance) = &options.instance else {
        return Ok(options.port);
    };
    if let Some(port) = browse(&options.host, instance) {
        return Ok(port);
    }
    if !is_loopback(options) {
        return Err(format!(
            "Sqlcmd: Error: '-S {}': no SQL Server Browser answers for the instance '{instance}'; give HOST,PORT.",
            options.server
        ));
    }
    eprintln!(
        "Sqlcmd: Warning: no SQL Server Browser answers for the instance '{instance}'; connecting to {},{}.",
        options.host, options.port
    );
    Ok(options.port)
}

/// Asks the SQL Server Browser for the TCP port of an instance (MC-SQLR, section 2.2.3 CLNT_UCAST_INST).
fn browse(host: &str, instance: &str) -> Option<u16> {
    let address = (host, BROWSER_PORT).to_socket_addrs().ok()?.next()?;
    let any = if address.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.set_read_timeout(Some(BROWSER_TIMEOUT)).ok()?;
    socket.connect(address).ok()?;
    let mut request = vec![4];
    request.extend_from_slice(instance.as_bytes());
    request.push(0);
    socket.send(&request).ok()?;
    let mut reply = [0; 1024];
    let length = socket.recv(&mut reply).ok()?;
    port_of(reply.get(..length)?)
}

/// The port in SVR_RESP: `5`, the length, and `name;value;...` pairs.
pub(super) fn port_of(reply: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(reply.strip_prefix(&[5])?.get(2..)?).into_owned();
    let words: Vec<&str> = text.split(';').collect();
    let pair = words.chunks(2).find(|p| p[0].eq_ignore_ascii_case("tcp"))?;
    pair.get(1)?.parse().ok()
}

fn is_loopback(options: &Options) -> bool {
    let addresses = (options.host.as_str(), options.port).to_socket_addrs();
    addresses.is_ok_and(|mut all| {
        all.all(|a| matches!(a.ip(), ip @ (IpAddr::V4(_) | IpAddr::V6(_)) if ip.is_loopback()))
    })
}

/// Whose certificate is believed: the one given, any one on request, and any one of this machine, which nobody can
/// stand in between.
fn trust(options: &Options) -> Result<Trust, String> {
    if let Some(path) = &options.certificate {
        let pem = std::fs::read(path).map_err(|e| format!("Sqlcmd: Error: '{path}': {e}"))?;
        return Ok(Trust::Pem(pem));
    }
    match options.trust_any || is_loopback(options) {
        true => Ok(Trust::Any),
        false => Err(format!(
            "Sqlcmd: Error: the certificate of '{}' cannot be verified; give it with -J FILE, or trust any with -C.",
            options.host
        )),
    }
}

fn login_error(error: &ClientError) -> String {
    match error {
        ClientError::Login(messages) if !messages.is_empty() => {
            let texts: Vec<String> = messages.iter().map(format::message).collect();
            texts.concat().trim_end().to_string()
        }
        ClientError::Io(e) => {
            format!("Sqlcmd: Error: a connection to the server could not be made: {e}")
        }
        other => format!("Sqlcmd: Error: {other}"),
    }
}
