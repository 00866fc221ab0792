//! Drivers other people wrote, against the release build. Each is a program of `tests/clients` that runs the cases of
//! `cases.md` in a database of its own; two run at a time against one server. A driver that is not there is skipped by
//! name, or installed when asked to.

mod install;
mod kill;
mod report;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::server::{PASSWORD, Server, scratch};
use crate::sql::{self, Sql};
use crate::test::Tally;
use crate::{root, target_dir};
use report::Outcome;

/// A driver whose program is not done after this long is ended.
const LONGEST: Duration = Duration::from_secs(150);

/// One foreign client: how to get it and how to run it.
struct Client {
    name: &'static str,
    /// The file that lists its cases.
    list: &'static str,
    /// Makes the client ready below the target folder; `install` permits fetching. `Err` says what is missing.
    prepare: fn(install: bool) -> Result<Vec<String>, String>,
}

/// The cases of all drivers; SQLAlchemy, which goes through two of them, has its own.
const CASES: &str = "cases.md";
const SQLALCHEMY: &str = "sqlalchemy.md";

const CLIENTS: &[Client] = &[
    Client {
        name: "mssql-jdbc",
        list: CASES,
        prepare: install::java,
    },
    Client {
        name: "tedious",
        list: CASES,
        prepare: install::tedious,
    },
    Client {
        name: "pymssql",
        list: CASES,
        prepare: install::pymssql,
    },
    Client {
        name: "python-tds",
        list: CASES,
        prepare: install::python_tds,
    },
    Client {
        name: "mssql-python",
        list: CASES,
        prepare: install::mssql_python,
    },
    Client {
        name: "freetds",
        list: CASES,
        prepare: install::freetds,
    },
    Client {
        name: "go-mssqldb",
        list: CASES,
        prepare: install::go,
    },
    Client {
        name: "sqlalchemy-pymssql",
        list: SQLALCHEMY,
        prepare: install::sqlalchemy_pymssql,
    },
    Client {
        name: "sqlalchemy-mssql-python",
        list: SQLALCHEMY,
        prepare: install::sqlalchemy_mssql_python,
    },
    Client {
        name: "tiberius",
        list: CASES,
        prepare: install::tiberius,
    },
];

/// What every program is told, beside the name of its database.
struct Place<'a> {
    port: u16,
    certificate: PathBuf,
    cases: PathBuf,
    /// The cases by the file that lists them.
    lists: &'a BTreeMap<&'static str, Vec<String>>,
    not_yet: &'a BTreeSet<(String, String)>,
}

/// What came of one driver.
enum Ran {
    Missing(String),
    Done {
        outcomes: BTreeMap<String, Outcome>,
        printed: String,
        seconds: f64,
    },
}

/// `cargo xtask clients [--install] [NAME...]`: the drivers alone.
pub fn alone(words: &[&str]) -> ExitCode {
    let install = words.contains(&"--install");
    let only: Vec<&str> = words
        .iter()
        .copied()
        .filter(|w| *w != "--install")
        .collect();
    let mut tally = Tally::default();
    drivers(install, &only, &mut tally);
    if only.is_empty() {
        kill::run(install, &mut tally);
    }
    tally.end()
}

pub fn run(install: bool, tally: &mut Tally) {
    drivers(install, &[], tally);
    kill::run(install, tally);
}

fn drivers(install: bool, only: &[&str], tally: &mut Tally) {
    let dir = match scratch("clients") {
        Ok(dir) => dir,
        Err(e) => return tally.step(&format!("scratch directory: {e}"), false),
    };
    match Server::start(&dir) {
        Ok(server) => {
            if let Err(e) = against(&server, &dir, install, only, tally) {
                tally.step(&format!("foreign drivers: {e}"), false);
            }
            tally.step("SIGTERM ends the server cleanly", server.stop());
        }
        Err(e) => tally.step(&format!("server starts: {e}"), false),
    }
    let _ = std::fs::remove_dir_all(dir);
}

fn against(
    server: &Server,
    data: &Path,
    install: bool,
    only: &[&str],
    tally: &mut Tally,
) -> Result<(), String> {
    let folder = client_folder();
    let mut lists = BTreeMap::new();
    for list in [CASES, SQLALCHEMY] {
        lists.insert(list, report::cases(&report::read(&folder, list)?));
    }
    let not_yet = report::not_yet(&report::read(&folder, "not-yet.txt")?);
    let place = Place {
        port: server.port,
        certificate: data.join("server-certificate.pem"),
        cases: folder,
        lists: &lists,
        not_yet: &not_yet,
    };
    let queue: VecDeque<&Client> = CLIENTS
        .iter()
        .filter(|c| only.is_empty() || only.contains(&c.name))
        .collect();
    let queue = Mutex::new(queue);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no thread panics").pop_front();
                    let Some(client) = next else { break };
                    let ran = one(client, install, &place);
                    done.lock()
                        .expect("no thread panics")
                        .push((client.name, ran));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|(name, _)| CLIENTS.iter().position(|c| c.name == *name));
    let mut columns = Vec::new();
    for (name, ran) in done {
        match ran {
            Ran::Missing(why) => tally.skipped.push(format!("driver {name}: {why}")),
            Ran::Done {
                outcomes,
                printed,
                seconds,
            } => {
                report_driver(name, &outcomes, &printed, seconds, tally);
                columns.push((name.to_owned(), outcomes));
            }
        }
    }
    for (list, names) in &lists {
        let of_list = |name: &str| CLIENTS.iter().any(|c| c.name == name && c.list == *list);
        let columns: Vec<_> = columns
            .iter()
            .filter(|(name, _)| of_list(name))
            .cloned()
            .collect();
        if !columns.is_empty() {
            println!("{}", report::table(names, &columns));
        }
    }
    for (name, outcomes) in &columns {
        for (case, outcome) in outcomes {
            if let Outcome::Skipped(why) = outcome {
                println!("- {name} {case}: {why}");
            }
        }
    }
    Ok(())
}

/// The lines of one driver: what failed, and the counts.
fn report_driver(
    name: &str,
    outcomes: &BTreeMap<String, Outcome>,
    printed: &str,
    seconds: f64,
    tally: &mut Tally,
) {
    let mut counts = [0u32; 4];
    for (case, outcome) in outcomes {
        match outcome {
            Outcome::Passed => {
                tally.passed += 1;
                counts[0] += 1;
            }
            Outcome::Failed(why) => {
                counts[1] += 1;
                tally.step(&format!("driver {name}, {case}: {why}"), false);
            }
            Outcome::Skipped(_) => counts[2] += 1,
            Outcome::NotYet(_) => counts[3] += 1,
        }
    }
    if counts[0] == 0 {
        // It did not come far: whatever it said helps.
        print!("{printed}");
    }
    let [passed, failed, skipped, not_yet] = counts;
    println!(
        "driver {name}: {passed} passed, {failed} failed, {skipped} it cannot, {not_yet} not yet ({seconds:.1} s)"
    );
}

fn one(client: &Client, install: bool, place: &Place<'_>) -> Ran {
    let command = match (client.prepare)(install) {
        Ok(command) => command,
        Err(why) => return Ran::Missing(why),
    };
    let started = Instant::now();
    let printed = match database(client.name, place) {
        Ok(database) => program(client.name, &command, &database, place),
        Err(e) => format!("setup: {e}"),
    };
    Ran::Done {
        outcomes: report::outcomes(
            client.name,
            &printed,
            &place.lists[client.list],
            place.not_yet,
        ),
        printed,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// A database for a driver, with what `setup.sql` makes.
fn database(client: &str, place: &Place<'_>) -> Result<String, String> {
    let name = format!("clients_{}", client.replace('-', "_"));
    let sql = Sql { port: place.port };
    sql.query(
        "master",
        &format!("CREATE DATABASE {name}; ALTER DATABASE {name} SET ALLOW_SNAPSHOT_ISOLATION ON"),
    )?;
    sql::finish(&mut sql.script(&name, &place.cases.join("setup.sql"), &[]))?;
    Ok(name)
}

/// Runs a driver's program to its end, or ends it; what it printed, errors last.
fn program(client: &str, command: &[String], database: &str, place: &Place<'_>) -> String {
    let out = clients_dir().join(format!("{client}.out"));
    let run = || -> std::io::Result<String> {
        std::fs::create_dir_all(clients_dir())?;
        let file = std::fs::File::create(&out)?;
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args(["127.0.0.1", &place.port.to_string(), PASSWORD, database])
            .arg(&place.certificate)
            .arg(&place.cases)
            .stdin(Stdio::null())
            .stderr(file.try_clone()?)
            .stdout(file)
            .spawn()?;
        let limit = Instant::now() + LONGEST;
        let mut ended = None;
        while ended.is_none() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(20));
            ended = child.try_wait()?;
        }
        if ended.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let mut printed = String::from_utf8_lossy(&std::fs::read(&out)?).into_owned();
        if ended.is_none() {
            printed.push_str(&format!("ended after {} s\n", LONGEST.as_secs()));
        }
        Ok(printed)
    };
    run().unwrap_or_else(|e| format!("{}: {e}", command[0]))
}

/// The folder of the programs.
fn client_folder() -> PathBuf {
    root().join("tests").join("clients")
}

/// A file of it, by its path there.
fn client_file(path: &str) -> String {
    client_folder().join(path).to_string_lossy().into_owned()
}

/// Where clients are installed and built.
fn clients_dir() -> PathBuf {
    target_dir().join("clients")
}

/// Whether a command without output ends well.
fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}
