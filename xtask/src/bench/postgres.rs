//! The same loops on PostgreSQL: a cluster of its own on the same disk, with memory and WAL space to spare, honest
//! durability, PL/pgSQL with a COMMIT per row. Found through `pg_config` or below `/usr/lib/postgresql`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Cell, Engine, Shape, Wait};

const SETTINGS: [&str; 9] = [
    "max_connections=320",
    "shared_buffers=4GB",
    "max_wal_size=16GB",
    "min_wal_size=2GB",
    "checkpoint_timeout=30min",
    "wal_compression=off",
    "wal_buffers=64MB",
    "effective_cache_size=16GB",
    "fsync=on",
];

/// Wide values stay in the row, uncompressed, as they do here.
const SETUP: &str = "\
create table gate (x int);
create table narrow (id int generated always as identity primary key, word varchar(50), number int);
create index narrow_number on narrow (number);
create table wide (id bigint generated always as identity primary key, filler char(4100) default 'a');
alter table wide alter filler set storage plain;
create procedure fill_narrow(seconds float8, inout told text) language plpgsql as $$
declare began timestamptz := clock_timestamp(); rows bigint := 0;
begin
  while clock_timestamp() < began + seconds * interval '1 second' loop
    for i in 1..100 loop
      insert into narrow (word, number) values ('a word', rows + i);
      commit;
    end loop;
    rows := rows + 100;
  end loop;
  told := rows || '|' || (extract(epoch from clock_timestamp() - began) * 1000000)::bigint;
end $$;
create procedure fill_wide(seconds float8, inout told text) language plpgsql as $$
declare began timestamptz := clock_timestamp(); rows bigint := 0;
begin
  while clock_timestamp() < began + seconds * interval '1 second' loop
    for i in 1..10 loop
      insert into wide default values;
      commit;
    end loop;
    rows := rows + 10;
  end loop;
  told := rows || '|' || (extract(epoch from clock_timestamp() - began) * 1000000)::bigint;
end $$;";

pub struct Postgres {
    bin: PathBuf,
    data: PathBuf,
    port: u16,
    child: Child,
}

/// Where `initdb` and `postgres` are.
pub fn find() -> Result<PathBuf, String> {
    let output = Command::new("pg_config").arg("--bindir").output();
    let mut places: Vec<PathBuf> = output
        .ok()
        .map(|o| PathBuf::from(String::from_utf8_lossy(&o.stdout).trim()))
        .into_iter()
        .collect();
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    places.extend(
        versions
            .into_iter()
            .flatten()
            .flatten()
            .map(|e| e.path().join("bin")),
    );
    let found = places
        .into_iter()
        .find(|p| p.join("initdb").is_file() && p.join("postgres").is_file());
    found.ok_or_else(|| "initdb and postgres are not installed".to_owned())
}

/// A program of PostgreSQL, which refuses to run as root: then as the user that its package has made.
fn program(path: &Path) -> Command {
    let root = std::fs::metadata("/proc/self").is_ok_and(|m| {
        use std::os::unix::fs::MetadataExt;
        m.uid() == 0
    });
    if !root {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid",
        "postgres",
        "--regid",
        "postgres",
        "--clear-groups",
    ]);
    command.arg(path);
    command
}

impl Postgres {
    /// A fresh cluster with the tables of the bench.
    pub fn start(dir: &Path) -> Result<Postgres, String> {
        let (bin, data) = make(dir)?;
        let server = run(&bin, &data)?;
        server.psql(&["-c", "create database bench"], "postgres")?;
        server.psql(&["-c", SETUP], "bench")?;
        Ok(server)
    }

    fn command(&self, database: &str) -> Command {
        let mut command = Command::new(self.bin.join("psql"));
        command
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string()])
            .args(["-U", "postgres", "-Atq", "-v", "ON_ERROR_STOP=1"])
            .args(["-d", database])
            .stdin(Stdio::null());
        command
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn psql(&self, arguments: &[&str], database: &str) -> Result<String, String> {
        crate::sql::finish(self.command(database).args(arguments))
    }
}

/// Makes a cluster that nobody runs yet.
pub fn make(dir: &Path) -> Result<(PathBuf, PathBuf), String> {
    let bin = find()?;
    let data = dir.join("postgres");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    let _ = Command::new("chown").arg("postgres:").arg(&data).status();
    let mut init = program(&bin.join("initdb"));
    init.arg("-D")
        .arg(&data)
        .args(["-E", "UTF8", "--no-locale", "-A", "trust", "-U", "postgres"])
        .current_dir("/");
    crate::sql::finish(&mut init)?;
    Ok((bin, data))
}

/// Starts the cluster and waits until it answers a query.
pub fn run(bin: &Path, data: &Path) -> Result<Postgres, String> {
    let port = crate::server::free_port()?;
    let mut command = program(&bin.join("postgres"));
    command
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k"])
        .arg(data);
    for s in SETTINGS {
        command.args(["-c", s]);
    }
    let child = command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let server = Postgres {
        bin: bin.to_owned(),
        data: data.to_owned(),
        port,
        child,
    };
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        // A refused connection is cheaper than a client that finds out.
        let open = std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        if open && server.psql(&["-c", "select 1"], "postgres").is_ok() {
            return Ok(server);
        }
        if Instant::now() > limit {
            return Err("PostgreSQL does not answer".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Postgres {
    /// SIGKILL, to it and to its children; where its programs and its files are.
    pub fn kill(mut self) -> (PathBuf, PathBuf) {
        let pid = self.child.id().to_string();
        // Stopped first: it would start new ones meanwhile.
        let _ = Command::new("kill").args(["-STOP", &pid]).status();
        let children = Command::new("pgrep").args(["-P", &pid]).output();
        let _ = self.child.kill();
        let _ = self.child.wait();
        let children = children.map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        let children = children.unwrap_or_default();
        let _ = Command::new("kill")
            .arg("-KILL")
            .args(children.split_whitespace())
            .status();
        (self.bin.clone(), self.data.clone())
    }

    /// SIGINT: a checkpoint and the end.
    pub fn stop(mut self) -> bool {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        self.child.wait().is_ok_and(|s| s.success())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGQUIT: at once, children and shared memory too; what is kept does not matter any more.
        let pid = self.child.id().to_string();
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = Command::new("kill").args(["-QUIT", &pid]).status();
            let _ = self.child.wait();
            let _ = std::fs::remove_dir_all(&self.data);
        }
    }
}

impl Engine for Postgres {
    fn prepare(&self, _: &Cell) -> Result<(), String> {
        let text = ["-c", "truncate narrow, wide", "-c", "checkpoint"];
        self.psql(&text, "bench").map(|_| ())
    }

    fn close_gate(&self) -> Result<Child, String> {
        use std::io::Write;
        let mut child = self
            .command("bench")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        let input = child.stdin.as_mut().expect("stdin is piped");
        input
            .write_all(b"begin; lock table gate in access exclusive mode;\n")
            .and_then(|()| input.flush())
            .map_err(|e| e.to_string())?;
        std::thread::sleep(Duration::from_millis(300));
        Ok(child)
    }

    fn client(&self, cell: &Cell, seconds: f64) -> Command {
        let procedure = match cell.shape {
            Shape::Narrow => "fill_narrow",
            Shape::Wide => "fill_wide",
        };
        let sync = match cell.wait {
            Wait::Delayed => "off",
            _ => "on",
        };
        let mut command = self.command("bench");
        command
            .args(["-c", &format!("set synchronous_commit = {sync}")])
            .args(["-c", "select count(*) from gate"])
            .args(["-c", &format!("call {procedure}({seconds}, '')")]);
        command
    }

    fn waiting(&self) -> Result<u64, String> {
        let text = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        let out = self.psql(&["-c", text], "bench")?;
        out.trim().parse().map_err(|_| out)
    }

    fn open_gate(&self) -> &'static str {
        "commit;\n"
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }
}
