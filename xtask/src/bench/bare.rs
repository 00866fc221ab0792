//! What this machine leaves to any server with one client that waits for each commit: a bare loop of receive, durable
//! write, send, and a client on the loopback. No login, no protocol, no SQL.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::disk;

/// As long as a prepared INSERT and its reply are on the wire, about.
const REQUEST: usize = 100;
const REPLY: usize = 40;
/// How long a server that stays awake for its client looks at the socket before it sleeps.
const AWAKE: Duration = Duration::from_micros(50);

/// Round trips a second of a server that sleeps at its socket, and of one that stays awake for a while.
pub fn commits(dir: &Path) -> Result<[f64; 2], String> {
    let path = dir.join("bare");
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let file = disk::prepare(&path).map_err(failed)?;
    let asleep = round_trips(&file, Duration::ZERO).map_err(failed)?;
    let awake = round_trips(&file, AWAKE).map_err(failed)?;
    let _ = std::fs::remove_file(&path);
    Ok([asleep, awake])
}

/// Counted over one second.
fn round_trips(file: &File, awake: Duration) -> std::io::Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || serve(&mut server, file, awake));
        let began = Instant::now();
        let mut trips = 0u32;
        while began.elapsed() < Duration::from_secs(1) {
            client.write_all(&[1; REQUEST])?;
            client.read_exact(&mut [0; REPLY])?;
            trips += 1;
        }
        let rate = f64::from(trips) / began.elapsed().as_secs_f64();
        drop(client);
        match serving.join() {
            Ok(served) => served.map(|()| rate),
            Err(_) => Err(std::io::Error::other("the server thread panicked")),
        }
    })
}

/// Until the client is gone.
fn serve(socket: &mut TcpStream, file: &File, awake: Duration) -> std::io::Result<()> {
    let block = disk::Block::new();
    let mut offset = 0;
    while receive(socket, awake)? {
        file.write_all_at(block.bytes(), offset)?;
        offset = disk::next(offset);
        socket.write_all(&[2; REPLY])?;
    }
    Ok(())
}

/// False when the client is gone.
fn receive(socket: &mut TcpStream, awake: Duration) -> std::io::Result<bool> {
    let mut request = [0; REQUEST];
    let since = Instant::now();
    socket.set_nonblocking(true)?;
    let mut there = socket.read(&mut request);
    while since.elapsed() < awake
        && let Err(e) = &there
        && e.kind() == ErrorKind::WouldBlock
    {
        there = socket.read(&mut request);
    }
    socket.set_nonblocking(false)?;
    let there = match there {
        Err(e) if e.kind() == ErrorKind::WouldBlock => socket.read(&mut request)?,
        other => other?,
    };
    if there > 0 {
        socket.read_exact(&mut request[there..])?;
    }
    Ok(there > 0)
}
