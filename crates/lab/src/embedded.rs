//! A server of our own for one trial: this very program as `serve`, on a port and a directory that nobody else has.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::sql::Address;

const READY: &str = "SQL Server is now ready for client connections";
const START_LIMIT: Duration = Duration::from_secs(120);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// What a trial asks of its server at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `--log-profile`.
    pub profile: &'static str,
    pub instant_file_init: bool,
    /// `--max-memory` in MB; `None`: the server's default.
    pub memory_mb: Option<u32>,
    /// `-E`: a file gives 64 extents in its turn.
    pub large_extents: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            profile: "native",
            instant_file_init: true,
            memory_mb: None,
            large_extents: false,
        }
    }
}

pub struct Embedded {
    child: Option<Child>,
    program: PathBuf,
    root: PathBuf,
    settings: Settings,
    address: Address,
}

impl Embedded {
    /// Prepares a place below a directory; nothing runs yet.
    pub fn new(below: &Path) -> Result<Embedded, String> {
        let program = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
        let root = below.join(format!("lab-{}", std::process::id()));
        std::fs::create_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
        let root = std::path::absolute(&root).map_err(|e| e.to_string())?;
        Ok(Embedded {
            child: None,
            program,
            root,
            settings: Settings::default(),
            address: Address {
                host: "127.0.0.1".to_owned(),
                port: 0,
                user: "sa".to_owned(),
                password: format!("Lab-{}-{:x}", std::process::id(), now_ns()),
            },
        })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Where the trials' files are.
    pub fn files(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Ends what runs, empties the place and starts a server with these settings.
    pub fn fresh(&mut self, settings: &Settings) -> Result<(), String> {
        self.kill();
        for dir in ["data", "files"] {
            let dir = self.root.join(dir);
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        self.settings = settings.clone();
        self.start().map(|_| ())
    }

    /// Starts the server over what is there; the time until it is ready.
    pub fn start(&mut self) -> Result<Duration, String> {
        let began = Instant::now();
        let mut command = Command::new(&self.program);
        command
            // It chooses its port itself: one that was free a moment ago may be another's.
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(self.root.join("data"))
            .args(["--log-profile", self.settings.profile])
            .args([
                "--instant-file-init",
                on_off(self.settings.instant_file_init),
            ])
            .env("MSSQL_SA_PASSWORD", &self.address.password)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.settings.large_extents {
            command.arg("-E");
        }
        if let Some(mb) = self.settings.memory_mb {
            command.args(["--max-memory", &format!("{mb}MB")]);
        }
        let mut child = command
            .spawn()
            .map_err(|e| format!("the server does not start: {e}"))?;
        let (sender, receiver) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || watch(BufReader::new(out), &sender));
        }
        let complaints = child.stderr.take().map(|err| {
            // Read to its end, or the server would block on a full pipe.
            std::thread::spawn(move || BufReader::new(err).lines().map_while(Result::ok).last())
        });
        self.child = Some(child);
        match receiver.recv_timeout(START_LIMIT) {
            Ok(port) => {
                self.address.port = port;
                Ok(began.elapsed())
            }
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(format!("the server is not ready after {START_LIMIT:?}"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.kill();
                let last = complaints.and_then(|c| c.join().ok().flatten());
                Err(format!(
                    "the server has ended: {}",
                    last.unwrap_or_default()
                ))
            }
        }
    }

    /// SIGKILL, as a crash.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGTERM, and waits for the clean end.
    pub fn stop(&mut self) -> Result<(), String> {
        let Some(child) = &mut self.child else {
            return Ok(());
        };
        let pid = child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let limit = Instant::now() + STOP_LIMIT;
        while Instant::now() < limit {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => {
                    self.child = None;
                    return Ok(());
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Ok(Some(status)) => return Err(format!("the server ended with {status}")),
                Err(e) => return Err(format!("the server: {e}")),
            }
        }
        self.kill();
        Err("the server does not end".to_owned())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Tells on which port the server is ready, and reads on so that it never blocks.
fn watch(out: impl BufRead, sender: &mpsc::Sender<u16>) {
    for line in out.lines().map_while(Result::ok) {
        if line.contains(READY)
            && let Some(port) = line.trim_end_matches(')').rsplit(':').next()
            && let Ok(port) = port.parse()
        {
            let _ = sender.send(port);
        }
    }
}

fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn now_ns() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| d.as_nanos())
}
