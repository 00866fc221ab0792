//! A driver inserts in a loop and writes down what was acknowledged; the server is killed; the rows are there again.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{client_file, install};
use crate::server::{PASSWORD, Server, scratch};
use crate::test::Tally;

const NAME: &str = "kill -9 under a writing driver loses nothing acknowledged";

pub fn run(may_install: bool, tally: &mut Tally) {
    let python = match install::pymssql(may_install) {
        Ok(command) => command[0].clone(),
        Err(why) => return tally.skipped.push(format!("{NAME}: {why}")),
    };
    let result = rounds(&python);
    if let Err(e) = &result {
        println!("{e}");
    }
    tally.step(NAME, result.is_ok());
}

fn rounds(python: &str) -> Result<(), String> {
    let dir = scratch("kill")?;
    let script = client_file("python/ledger.py");
    let ledger = dir.join("ledger.txt");
    let data = dir.join("data");
    for round in 0..3 {
        let server = Server::start(&data)?;
        let port = server.port.to_string();
        if !verify(python, &script, &port, &ledger)? {
            return Err(format!("round {round}: the ledger does not agree"));
        }
        let mut writer = Command::new(python)
            .arg(&script)
            .args(["write", "127.0.0.1", &port, PASSWORD])
            .arg(&ledger)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        std::thread::sleep(Duration::from_millis(1500));
        server.kill();
        let _ = writer.wait();
    }
    let server = Server::start(&data)?;
    let port = server.port.to_string();
    let agrees = verify(python, &script, &port, &ledger)?;
    drop(server);
    let _ = std::fs::remove_dir_all(dir);
    if agrees {
        Ok(())
    } else {
        Err("the ledger does not agree".to_owned())
    }
}

fn verify(python: &str, script: &str, port: &str, ledger: &Path) -> Result<bool, String> {
    let status = Command::new(python)
        .arg(script)
        .args(["verify", "127.0.0.1", port, PASSWORD])
        .arg(ledger)
        .stdin(Stdio::null())
        .status();
    status.map(|s| s.success()).map_err(|e| e.to_string())
}
