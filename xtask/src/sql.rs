//! `duramen sql` as a child process: how everything here talks to a server, as a user would.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::PASSWORD;
use crate::target_dir;

/// A client of the server on a port of this machine.
#[derive(Clone, Copy)]
pub struct Sql {
    pub port: u16,
}

impl Sql {
    /// The client with its connection arguments, errors ending it, output bare: no headers, no padding.
    pub fn command(self, database: &str) -> Command {
        let mut command = Command::new(target_dir().join("release").join("duramen"));
        command
            .args(["sql", "-S", &format!("127.0.0.1,{}", self.port)])
            .args(["-U", "sa", "-P", PASSWORD, "-C", "-b"])
            .args(["-h", "-1", "-W", "-s", "|", "-l", "60", "-d", database])
            .stdin(Stdio::null());
        command
    }

    /// Runs a text; what it printed, or what went wrong.
    pub fn query(self, database: &str, text: &str) -> Result<String, String> {
        finish(self.command(database).args(["-Q", text]))
    }

    /// The one number that a query gives.
    pub fn number(self, database: &str, text: &str) -> Result<u64, String> {
        let out = self.query(database, &format!("SET NOCOUNT ON; {text}"))?;
        let number = out.lines().find_map(|l| l.trim().parse().ok());
        number.ok_or_else(|| format!("{text}: no number in {out:?}"))
    }

    /// A script file with its variables, to be started.
    pub fn script(self, database: &str, file: &Path, variables: &[(&str, String)]) -> Command {
        let mut command = self.command(database);
        command.arg("-i").arg(file);
        if !variables.is_empty() {
            command.arg("-v");
            command.args(variables.iter().map(|(n, v)| format!("{n}={v}")));
        }
        command
    }
}

/// Runs a client to its end; an error is its exit code or an error message in what it printed.
pub fn finish(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    checked(&output)
}

/// Starts all the clients, then waits for all; the first error of any.
pub fn finish_all(commands: Vec<Command>) -> Result<Vec<String>, String> {
    let started: Vec<_> = commands
        .into_iter()
        .map(|mut c| c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn())
        .collect();
    let mut outputs = Vec::new();
    for child in started {
        let child = child.map_err(|e| format!("a client does not start: {e}"))?;
        outputs.push(child.wait_with_output().map_err(|e| e.to_string()));
    }
    outputs
        .into_iter()
        .map(|output| checked(&output?))
        .collect()
}

fn checked(output: &std::process::Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() || text.lines().any(|l| l.starts_with("Msg ")) {
        return Err(format!("{}: {text}{complaint}", output.status));
    }
    Ok(text)
}
