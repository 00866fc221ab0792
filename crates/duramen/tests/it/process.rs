//! A `duramen serve` of the tests' own: a port nobody uses, a directory of its own, killed by its pid whatever happens.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::{ServerMessage, Token};
use duramen_types::Value;

pub const PASSWORD: &str = "Duramen-Test-1";
pub const BINARY: &str = env!("CARGO_BIN_EXE_duramen");

pub struct Process {
    child: Child,
    pub port: u16,
    ready: Mutex<Receiver<u16>>,
}

impl Process {
    /// Starts the server over `dir` and does not wait for it.
    pub fn spawn(dir: &Path, flags: &[&str]) -> Process {
        Process::listening(free_port(), dir, flags)
    }

    fn listening(port: u16, dir: &Path, flags: &[&str]) -> Process {
        let mut child = Command::new(BINARY)
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .arg("--data-dir")
            .arg(dir)
            .args(flags)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("duramen starts");
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, ready) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // It ends in the address, in parentheses.
                if line.contains("SQL Server is now ready for client connections") {
                    let port = line.trim_end_matches(')').rsplit(':').next();
                    let _ = sender.send(port.and_then(|p| p.parse().ok()).unwrap_or(0));
                }
            }
        });
        let ready = Mutex::new(ready);
        Process { child, port, ready }
    }

    /// Starts the server and waits until it takes clients. It chooses its port itself: one that was free a moment ago may
    /// be another's by now.
    pub fn start(dir: &Path, flags: &[&str]) -> Process {
        let mut process = Process::listening(0, dir, flags);
        process.port = process.wait_ready();
        process
    }

    /// The port on which it takes clients.
    pub fn wait_ready(&self) -> u16 {
        let ready = self
            .ready
            .lock()
            .expect("nobody fails with it")
            .recv_timeout(Duration::from_secs(60));
        ready.expect("the server is ready within a minute")
    }

    /// Whether it takes clients; true once.
    pub fn is_ready(&self) -> bool {
        self.ready.lock().is_ok_and(|r| r.try_recv().is_ok())
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL: no goodbye, no flush.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and nothing more.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
    }

    /// SIGTERM; the exit must be clean.
    pub fn stop(mut self) {
        self.terminate();
        let limit = Instant::now() + Duration::from_secs(30);
        while Instant::now() < limit {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                assert!(status.success(), "the server ended with {status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Memory of the process that is in use (`VmRSS`).
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.child.id())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn options(&self, trust: Trust) -> ConnectOptions {
        ConnectOptions {
            host: "127.0.0.1".into(),
            port: self.port,
            user: "sa".into(),
            password: PASSWORD.into(),
            trust,
            connect_timeout: Some(Duration::from_secs(10)),
            read_timeout: Some(Duration::from_secs(60)),
            ..ConnectOptions::default()
        }
    }

    pub fn connect(&self) -> Client<Stream> {
        connect(&self.options(Trust::NoEncryption)).expect("the server takes sa")
    }
}

/// Memory of a process that is in use (`VmRSS`).
pub fn resident_bytes(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status"));
    let status = status.expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kb.expect("a number of kB") << 10
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a request gave.
#[derive(Debug, Default)]
pub struct Answer {
    pub rows: Vec<Vec<Value>>,
    pub errors: Vec<ServerMessage>,
    /// How many rows each statement that counts has touched.
    pub counts: Vec<u64>,
}

/// Runs a batch to its end.
pub fn ask(client: &mut Client<Stream>, sql: &str) -> Result<Answer, ClientError> {
    client.query(sql)?;
    let mut answer = Answer::default();
    while let Some(event) = client.next_event()? {
        match event {
            Token::Row(values) => answer.rows.push(values),
            Token::Error(error) => answer.errors.push(error),
            Token::Done(done) => answer.counts.extend(done.count()),
            _ => {}
        }
    }
    Ok(answer)
}

/// Runs a batch that must succeed; its rows.
pub fn rows(client: &mut Client<Stream>, sql: &str) -> Vec<Vec<Value>> {
    let answer = ask(client, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert!(answer.errors.is_empty(), "{sql}: {:?}", answer.errors);
    answer.rows
}

/// `duramen check DIR`: exit code and output.
pub fn check(dir: &Path) -> (i32, String) {
    let output = Command::new(BINARY)
        .arg("check")
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .expect("duramen check starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

/// A directory below the build's temporary folder, gone when the test has passed.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        Scratch::below(Path::new(env!("CARGO_TARGET_TMPDIR")), name)
    }

    /// One in another folder, on another file system perhaps.
    pub fn below(folder: &Path, name: &str) -> Scratch {
        let dir = folder.join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a scratch directory");
        Scratch(dir)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What a failed test leaves is what one looks at.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

pub fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    socket.local_addr().expect("bound").port()
}
