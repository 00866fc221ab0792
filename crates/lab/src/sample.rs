//! `duramen sample credit`: the sample database of card charges that the articles' scripts restore.
//!
//! Everything is T-SQL, so that any server can hold it. The data is arithmetic over row numbers and a seed: the same
//! arguments give the same rows everywhere.

mod credit;

use std::path::Path;
use std::time::Instant;

use crate::args::asks_for_help;
use crate::sql::{Address, Sql, quoted};
use crate::target::Target;

pub const HELP: &str = "\
usage: duramen sample credit [OPTIONS]

  --rows N             charges                                (default 1600000)
  --seed N             other data of the same shape           (default 1)
  --backup FILE        leaves the database as a backup at FILE and nothing on the server; without -S a server of
                       its own makes it, and FILE is a path of this machine
  -S HOST,PORT         the server                             (default 127.0.0.1,1433)
  -U LOGIN -P PASSWORD (or SQLCMDPASSWORD)                    (default sa)
  -C                   accepted; the server's certificate is trusted
";

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub rows: u64,
    pub seed: u64,
    pub backup: Option<String>,
    /// `-S`; `None`: not given.
    pub server: Option<(String, u16)>,
    pub user: String,
    pub password: Option<String>,
}

/// Runs the command; the exit code.
pub fn run(args: &[String]) -> u8 {
    let done = match args.first().map(String::as_str) {
        Some(_) if asks_for_help(args) => {
            print!("{HELP}");
            Ok(())
        }
        Some("credit") => parse(&args[1..]).and_then(|options| credit(&options)),
        None | Some("help") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("no sample '{other}'; there is credit")),
    };
    match done {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("duramen sample: {message}");
            1
        }
    }
}

/// Reads the words after `credit`.
pub fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        rows: 1_600_000,
        seed: 1,
        backup: None,
        server: None,
        user: "sa".to_owned(),
        password: std::env::var("SQLCMDPASSWORD").ok(),
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "-C" {
            continue;
        }
        let mut value = || rest.next().ok_or_else(|| format!("{arg} needs a value"));
        let count = |text: &str, most: u64| {
            let n = text.parse().ok().filter(|n| (1..=most).contains(n));
            n.ok_or_else(|| format!("{arg} {text}: a number from 1 to {most}"))
        };
        match arg.as_str() {
            "--rows" => options.rows = count(value()?, 1_000_000_000)?,
            "--seed" => options.seed = count(value()?, 1_000_000)?,
            "--backup" => options.backup = Some(value()?.clone()),
            "-S" => options.server = Some(server(value()?)?),
            "-U" => options.user = value()?.clone(),
            "-P" => options.password = Some(value()?.clone()),
            other => return Err(format!("unknown option '{other}'\n{HELP}")),
        }
    }
    Ok(options)
}

/// `HOST,PORT` or `HOST`.
fn server(text: &str) -> Result<(String, u16), String> {
    let (host, port) = text.split_once(',').unwrap_or((text, "1433"));
    let port = port
        .trim()
        .parse()
        .map_err(|_| format!("-S {text}: HOST,PORT"))?;
    match host.strip_prefix("tcp:").unwrap_or(host).trim() {
        "" | "." | "(local)" => Ok(("127.0.0.1".to_owned(), port)),
        host => Ok((host.to_owned(), port)),
    }
}

fn credit(options: &Options) -> Result<(), String> {
    match (&options.server, &options.backup) {
        (None, Some(file)) => embedded(options, Path::new(file)),
        (server, backup) => {
            let (host, port) = server.clone().unwrap_or(("127.0.0.1".to_owned(), 1433));
            let password = options.password.clone();
            let target = Target::remote(Address {
                host,
                port,
                user: options.user.clone(),
                password: password.ok_or("-P or SQLCMDPASSWORD: the password is missing")?,
            })?;
            make(&target, options)?;
            match backup {
                Some(file) => keep(&target, file),
                None => Ok(()),
            }
        }
    }
}

/// On a server of our own beside the backup, which goes when the backup is there.
fn embedded(options: &Options, file: &Path) -> Result<(), String> {
    let file = std::path::absolute(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let target = Target::embedded(dir)?;
    make(&target, options)?;
    keep(&target, &file.display().to_string())
}

fn make(target: &Target, options: &Options) -> Result<(), String> {
    let mut sql = target.connect("master")?;
    if sql.value("SELECT DB_ID(N'Credit')")?.is_some() {
        return Err(
            "the server has a database Credit already; DROP DATABASE Credit first".to_owned(),
        );
    }
    sql.run(&credit::database(
        &target.file("CreditData.mdf"),
        &target.file("CreditLog.ldf"),
    ))?;
    match fill(target, options) {
        Ok(()) => Ok(()),
        Err(error) => {
            // Half a sample is none.
            let _ = sql.run("DROP DATABASE Credit");
            Err(error)
        }
    }
}

fn fill(target: &Target, options: &Options) -> Result<(), String> {
    let mut sql = target.connect("Credit")?;
    let step = |sql: &mut Sql, what: &str, text: &str| {
        let began = Instant::now();
        sql.run(text).map_err(|e| format!("{what}: {e}"))?;
        eprintln!("{what:<24}{:>8.2} s", began.elapsed().as_secs_f64());
        Ok::<f64, String>(began.elapsed().as_secs_f64())
    };
    step(&mut sql, "tables", credit::TABLES)?;
    step(&mut sql, "numbers", credit::NUMBERS)?;
    step(
        &mut sql,
        "members and others",
        &credit::people(options.seed),
    )?;
    let mut seconds = 0.0;
    for (what, text) in credit::charges(options.rows, options.seed) {
        seconds += step(&mut sql, &what, &text)?;
    }
    eprintln!(
        "{:<24}{:>8.0} rows/s",
        "charges",
        options.rows as f64 / f64::max(seconds, 1e-9)
    );
    step(&mut sql, "indexes and keys", credit::INDEXES)?;
    step(&mut sql, "log", credit::LOG)?;
    let rows = sql.number("SELECT COUNT_BIG(*) FROM dbo.charge")?;
    match rows as u64 == options.rows {
        true => Ok(()),
        false => Err(format!("{rows} charges of {} are there", options.rows)),
    }
}

/// Leaves a backup and takes the database away.
fn keep(target: &Target, file: &str) -> Result<(), String> {
    let mut sql = target.connect("master")?;
    let began = Instant::now();
    sql.run(&format!(
        "BACKUP DATABASE Credit TO DISK = {} WITH INIT, FORMAT, NAME = N'Credit sample'",
        quoted(file)
    ))?;
    eprintln!("{:<24}{:>8.2} s", "backup", began.elapsed().as_secs_f64());
    sql.run("DROP DATABASE Credit")?;
    println!("{file}");
    Ok(())
}

#[cfg(test)]
mod tests;
