//! A server of our own for tests: ephemeral port, fresh data directory, killed by pid whatever happens.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::target_dir;

pub const PASSWORD: &str = "Duramen-Test-1";

pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts the release binary over `dir` and waits until it accepts clients.
    pub fn start(dir: &Path) -> Result<Server, String> {
        Server::start_with(dir, &[])
    }

    /// The same with more arguments of `serve`.
    pub fn start_with(dir: &Path, arguments: &[&str]) -> Result<Server, String> {
        let binary = target_dir().join("release").join("duramen");
        Server::start_binary(&binary, dir, arguments)
    }

    /// The same of another build.
    pub fn start_binary(binary: &Path, dir: &Path, arguments: &[&str]) -> Result<Server, String> {
        let mut command = Command::new(binary);
        Server::start_command(&mut command, dir, arguments, Duration::from_secs(30))
    }

    /// The same by a command that runs the binary, to which the arguments of `serve` are given; it has `patience` to be ready.
    pub fn start_command(
        command: &mut Command,
        dir: &Path,
        arguments: &[&str],
        patience: Duration,
    ) -> Result<Server, String> {
        let port = free_port()?;
        let mut child = command
            .args([
                "serve",
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--data-dir",
            ])
            .arg(dir)
            .args(arguments)
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .map_err(|e| format!("duramen does not start: {e}"))?;
        let stdout = child.stdout.take().expect("stdout is piped");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if line.contains("SQL Server is now ready for client connections") {
                    let _ = sender.send(());
                }
            }
        });
        let server = Server { child, port };
        match receiver.recv_timeout(patience) {
            Ok(()) => Ok(server),
            Err(e) => Err(format!("the server is not ready after {patience:?}: {e}")),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no goodbye, no flush.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and whether the exit was clean.
    pub fn stop(mut self) -> bool {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let limit = Instant::now() + Duration::from_secs(20);
        while Instant::now() < limit {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                Err(_) => return false,
            }
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port nobody listens on now.
pub fn free_port() -> Result<u16, String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    socket
        .local_addr()
        .map(|a| a.port())
        .map_err(|e| e.to_string())
}

/// A fresh directory below the target folder.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let dir = target_dir()
        .join("scratch")
        .join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    Ok(dir)
}
