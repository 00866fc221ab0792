//! Drivers other people wrote, against the release build: each is a program of `tests/clients` that exits 0 when
//! everything it checks held. A driver that is not there is skipped by name, or installed when asked to.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::server::{PASSWORD, Server, scratch};
use crate::test::Tally;
use crate::{root, target_dir};

/// One foreign client: how to get it and how to run it.
struct Client {
    name: &'static str,
    /// Makes the client ready below the target folder; `install` permits fetching. `Err` says what is missing.
    prepare: fn(install: bool) -> Result<Vec<String>, String>,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "pymssql",
        prepare: python,
    },
    Client {
        name: "go-mssqldb",
        prepare: go,
    },
    Client {
        name: "mssql-jdbc",
        prepare: java,
    },
];

pub fn run(install: bool, tally: &mut Tally) {
    let dir = match scratch("clients") {
        Ok(dir) => dir,
        Err(e) => return tally.step(&format!("scratch directory: {e}"), false),
    };
    match Server::start(&dir) {
        Ok(server) => {
            for client in CLIENTS {
                one(client, install, &server, tally);
            }
            tally.step("SIGTERM ends the server cleanly", server.stop());
        }
        Err(e) => tally.step(&format!("server starts: {e}"), false),
    }
    kill_nine(install, tally);
    let _ = std::fs::remove_dir_all(dir);
}

fn one(client: &Client, install: bool, server: &Server, tally: &mut Tally) {
    match (client.prepare)(install) {
        Ok(command) => {
            let ok = Command::new(&command[0])
                .args(&command[1..])
                .args(["127.0.0.1", &server.port.to_string(), PASSWORD])
                .stdin(Stdio::null())
                .status()
                .is_ok_and(|s| s.success());
            tally.step(&format!("driver {}", client.name), ok);
        }
        Err(why) => tally.skipped.push(format!("driver {}: {why}", client.name)),
    }
}

/// A driver inserts in a loop and writes down what was acknowledged; the server is killed; the rows are there again.
fn kill_nine(install: bool, tally: &mut Tally) {
    let name = "kill -9 under a writing driver loses nothing acknowledged";
    let python = match python(install) {
        Ok(command) => command[0].clone(),
        Err(why) => return tally.skipped.push(format!("{name}: {why}")),
    };
    let result = (|| -> Result<(), String> {
        let dir = scratch("kill")?;
        let script = client_file("ledger.py");
        let ledger = dir.join("ledger.txt");
        let data = dir.join("data");
        for round in 0..3 {
            let server = Server::start(&data)?;
            let port = server.port.to_string();
            let verify = run_python(
                &python,
                &script,
                &["verify", "127.0.0.1", &port, PASSWORD],
                &ledger,
            )?;
            if !verify {
                return Err(format!("round {round}: the ledger does not agree"));
            }
            let mut writer = Command::new(&python)
                .arg(&script)
                .args(["write", "127.0.0.1", &port, PASSWORD])
                .arg(&ledger)
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| e.to_string())?;
            std::thread::sleep(std::time::Duration::from_millis(1500));
            server.kill();
            let _ = writer.wait();
        }
        let server = Server::start(&data)?;
        let port = server.port.to_string();
        let ok = run_python(
            &python,
            &script,
            &["verify", "127.0.0.1", &port, PASSWORD],
            &ledger,
        )?;
        let _ = std::fs::remove_dir_all(dir);
        if ok {
            Ok(())
        } else {
            Err("the ledger does not agree".to_owned())
        }
    })();
    if let Err(e) = &result {
        println!("{e}");
    }
    tally.step(name, result.is_ok());
}

fn run_python(
    python: &str,
    script: &str,
    args: &[&str],
    ledger: &std::path::Path,
) -> Result<bool, String> {
    let status = Command::new(python)
        .arg(script)
        .args(args)
        .arg(ledger)
        .stdin(Stdio::null())
        .status();
    status.map(|s| s.success()).map_err(|e| e.to_string())
}

fn client_file(name: &str) -> String {
    root()
        .join("tests")
        .join("clients")
        .join(name)
        .to_string_lossy()
        .into_owned()
}

fn clients_dir() -> PathBuf {
    target_dir().join("clients")
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// pymssql in a virtual environment of its own.
fn python(install: bool) -> Result<Vec<String>, String> {
    let venv = clients_dir().join("venv");
    let python = venv.join("bin").join("python");
    let has = |p: &PathBuf| succeeds(Command::new(p).args(["-c", "import pymssql"]));
    if !has(&python) {
        if !install {
            return Err("pymssql is not installed (cargo xtask test --install)".to_owned());
        }
        if !succeeds(Command::new("python3").args(["-m", "venv"]).arg(&venv)) {
            return Err("python3 -m venv fails".to_owned());
        }
        if !succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", "pymssql"]))
            || !has(&python)
        {
            return Err("pip install pymssql fails".to_owned());
        }
    }
    Ok(vec![
        python.to_string_lossy().into_owned(),
        client_file("pymssql_smoke.py"),
    ])
}

/// The Go program, built with the module cache that `go` keeps.
fn go(install: bool) -> Result<Vec<String>, String> {
    let binary = clients_dir().join("gosmoke");
    let source = root().join("tests").join("clients").join("go");
    if !source.join("go.mod").exists() {
        return Err("tests/clients/go is not there".to_owned());
    }
    let mut build = Command::new("go");
    build
        .args(["build", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(&source);
    if !install {
        build.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off");
    }
    if !succeeds(&mut build) {
        return Err(
            "go build fails (go missing, or its modules: cargo xtask test --install)".to_owned(),
        );
    }
    Ok(vec![binary.to_string_lossy().into_owned()])
}

/// The Java class, with the driver jar fetched by Maven.
fn java(install: bool) -> Result<Vec<String>, String> {
    let dir = clients_dir().join("java");
    let jar = dir.join("mssql-jdbc.jar");
    let source = root()
        .join("tests")
        .join("clients")
        .join("java")
        .join("Smoke.java");
    if !source.exists() {
        return Err("tests/clients/java is not there".to_owned());
    }
    std::fs::create_dir_all(&dir).map_err(|e| e.to_string())?;
    if !jar.exists() {
        if !install {
            return Err("the jar is not installed (cargo xtask test --install)".to_owned());
        }
        let get = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
        let fetched = succeeds(
            Command::new("mvn")
                .args([
                    "-q",
                    "-B",
                    get,
                    "-Dartifact=com.microsoft.sqlserver:mssql-jdbc:12.8.1.jre11",
                ])
                .arg(format!("-DoutputDirectory={}", dir.display()))
                .arg("-Dmdep.stripVersion=true"),
        );
        if !fetched || !jar.exists() {
            return Err("Maven does not fetch mssql-jdbc".to_owned());
        }
    }
    if !succeeds(
        Command::new("javac")
            .arg("-cp")
            .arg(&jar)
            .arg("-d")
            .arg(&dir)
            .arg(&source),
    ) {
        return Err("javac fails".to_owned());
    }
    let classpath = format!("{}:{}", jar.display(), dir.display());
    Ok(vec![
        "java".to_owned(),
        "-cp".to_owned(),
        classpath,
        "Smoke".to_owned(),
    ])
}
