//! `duramen lab`: from words to runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::advise;
use crate::calibrate;
use crate::experiment::Experiment;
use crate::experiments::ALL;
use crate::machine::{free_bytes, machine};
use crate::progress::Live;
use crate::record::{Disk, Run, Server};
use crate::report;
use crate::runner::{Extent, Runner, directory, disk_bytes};
use crate::spread::REPEATS;
use crate::sql::Address;
use crate::target::Target;

pub const HELP: &str = "\
usage: duramen lab list
       duramen lab run NAME...|all [OPTIONS]
       duramen lab report DIR              writes DIR/report.html again from DIR/run.json
       duramen lab compare DIR DIR         overlays two runs; writes compare.html into the second
       duramen lab advise [--target ...] [--evidence DIR]   looks at a server and says what to change; quotes a run

  --scale X              does X of the published work, more than 0 and at most 1
  --budget TIME,SIZE     does what fits, e.g. 25m,20GB
  --repeats N            runs each trial N times, round by round  (default 5, at least 5)
  --out DIR              where results go                     (default lab-DATE-TIME)
  --files DIR            where a server of the lab's own keeps its files  (default: the results' directory)
  --target mssql://USER:PASSWORD@HOST[:PORT]   somebody's server instead of one of the lab's own

Without --scale and --budget all of the work is done, after it has been said how much that is.
";

/// What `run` was asked.
#[derive(Debug, PartialEq)]
pub struct RunOptions {
    pub names: Vec<String>,
    pub extent: Option<Extent>,
    pub out: Option<PathBuf>,
    pub files: Option<PathBuf>,
    pub target: Option<String>,
    pub repeats: u32,
}

/// Runs the command; the exit code.
pub fn run(args: &[String]) -> u8 {
    let done = match args.first().map(String::as_str) {
        None | Some("help") => {
            print!("{HELP}");
            Ok(())
        }
        _ if asks_for_help(args) => {
            print!("{HELP}");
            Ok(())
        }
        Some("list") => {
            list();
            Ok(())
        }
        Some("run") => parse(&args[1..]).and_then(|options| run_all(&options, args)),
        Some("report") => one(&args[1..]).and_then(|dir| write_report(&dir, &read(&dir)?)),
        Some("compare") => compare(&args[1..]),
        Some("advise") => give_advice(&args[1..]),
        Some(other) => Err(format!("unknown command '{other}'\n{HELP}")),
    };
    match done {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("duramen lab: {message}");
            1
        }
    }
}

/// Whether `--help` or `-h` is anywhere in it.
pub(crate) fn asks_for_help(args: &[String]) -> bool {
    args.iter().any(|a| matches!(a.as_str(), "--help" | "-h"))
}

fn list() {
    for e in ALL {
        println!("{:<16}{}", e.name, e.title);
        println!("{:<16}{}", "", e.question);
        println!("{:<16}at scale 1: {}", "", e.full);
        if !e.source.is_empty() {
            println!("{:<16}published: {}", "", e.source);
        }
    }
}

/// Reads the words after `run`.
pub fn parse(args: &[String]) -> Result<RunOptions, String> {
    let mut options = RunOptions {
        names: Vec::new(),
        extent: None,
        out: None,
        files: None,
        target: None,
        repeats: REPEATS,
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if !arg.starts_with("--") {
            options.names.push(arg.clone());
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--scale" | "--budget" if options.extent.is_some() => {
                return Err("--scale and --budget exclude each other".to_owned());
            }
            "--scale" => options.extent = Some(Extent::Scale(scale(value)?)),
            "--budget" => options.extent = Some(budget(value)?),
            "--repeats" => options.repeats = repeats(value)?,
            "--out" => options.out = Some(PathBuf::from(value)),
            "--files" => options.files = Some(PathBuf::from(value)),
            "--target" => options.target = Some(value.clone()),
            other => return Err(format!("unknown option '{other}'\n{HELP}")),
        }
    }
    if options.names.is_empty() {
        return Err(
            "which experiment? 'duramen lab list' names them, 'all' takes every one".to_owned(),
        );
    }
    Ok(options)
}

/// Fewer would find nothing.
fn repeats(text: &str) -> Result<u32, String> {
    let value = text.parse().ok().filter(|n| (REPEATS..=1000).contains(n));
    value.ok_or_else(|| format!("--repeats {text}: a number from {REPEATS} to 1000"))
}

fn scale(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| format!("--scale {text}: not a number"))?;
    match value > 0.0 && value <= 1.0 {
        true => Ok(value),
        false => Err(format!("--scale {text}: more than 0 and at most 1")),
    }
}

/// `25m,20GB`.
pub fn budget(text: &str) -> Result<Extent, String> {
    let bad = || format!("--budget {text}: TIME,SIZE as in 25m,20GB");
    let (time, size) = text.split_once(',').ok_or_else(bad)?;
    let amount = |text: &str, units: &[(&str, f64)]| {
        let text = text.trim().to_ascii_lowercase();
        units.iter().find_map(|(unit, factor)| {
            let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            (number > 0.0 && number.is_finite()).then_some(number * factor)
        })
    };
    let seconds = amount(time, &[("h", 3600.0), ("m", 60.0), ("s", 1.0)]).ok_or_else(bad)?;
    let bytes = amount(size, &[("tb", 1e12), ("gb", 1e9), ("mb", 1e6)]).ok_or_else(bad)?;
    if seconds > 30.0 * 86_400.0 {
        return Err(bad());
    }
    Ok(Extent::Budget {
        time: Duration::from_secs_f64(seconds),
        bytes,
    })
}

/// `mssql://user:password@host[:port]`; the password may hold everything but is cut at the last `@`.
pub fn target(text: &str) -> Result<Address, String> {
    let bad = || "--target: mssql://USER:PASSWORD@HOST[:PORT]".to_owned();
    let rest = text.strip_prefix("mssql://").ok_or_else(bad)?;
    let (who, host) = rest.rsplit_once('@').ok_or_else(bad)?;
    let (user, password) = who.split_once(':').ok_or_else(bad)?;
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| bad())?),
        None => (host, 1433),
    };
    if user.is_empty() || host.is_empty() {
        return Err(bad());
    }
    Ok(Address {
        host: host.to_owned(),
        port,
        user: user.to_owned(),
        password: password.to_owned(),
    })
}

fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, String> {
    if names.iter().any(|n| n == "all") {
        return Ok(ALL.to_vec());
    }
    let find = |name: &String| {
        let found = ALL.iter().find(|e| e.name == *name);
        found.copied().ok_or_else(|| {
            let all: Vec<&str> = ALL.iter().map(|e| e.name).collect();
            format!("no experiment '{name}'; there are {}", all.join(", "))
        })
    };
    names.iter().map(find).collect()
}

fn run_all(options: &RunOptions, args: &[String]) -> Result<(), String> {
    let list = chosen(&options.names)?;
    let began = Instant::now();
    let stamp = stamp();
    let out = match &options.out {
        Some(dir) => dir.clone(),
        None => PathBuf::from(format!("lab-{}", stamp.replace([' ', ':'], "-"))),
    };
    let out = directory(&out)?;
    let below = directory(options.files.as_deref().unwrap_or(&out))?;
    let target = match &options.target {
        Some(text) => Target::remote(target(text)?)?,
        None => Target::embedded(&below)?,
    };
    let disk = match target.is_embedded() {
        true => disk(&below)?,
        false => Disk::default(),
    };
    let server = Server {
        version: target.about.version.clone(),
        ours: target.about.ours,
        embedded: target.is_embedded(),
    };
    let mut runner = Runner {
        target,
        live: Live::new(0),
        out: out.clone(),
        below,
        repeats: options.repeats,
    };
    let extent = match options.extent {
        Some(extent) => extent,
        None => full(&mut runner, &list)?,
    };
    let extent = match extent {
        // What the start took is part of the budget.
        Extent::Budget { time, bytes } => Extent::Budget {
            time: time.saturating_sub(began.elapsed()),
            bytes,
        },
        scale => scale,
    };
    let outcomes = runner.run(&list, extent);
    runner.live.finish();
    let _ = runner.target.stop();
    let run = Run {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        began: stamp,
        seconds: began.elapsed().as_secs_f64(),
        machine: machine(),
        disk,
        server,
        command: command(args),
        experiments: outcomes,
    };
    let json = serde_json::to_string_pretty(&run).map_err(|e| e.to_string())?;
    write(&out.join("run.json"), &json)?;
    write_report(&out, &run)?;
    print_findings(&run);
    Ok(())
}

/// Says what all of the work takes, and refuses when the disk is too small for it.
fn full(runner: &mut Runner, list: &[&'static Experiment]) -> Result<Extent, String> {
    let mut seconds = 0.0;
    let mut bytes = 0.0_f64;
    for experiment in list {
        let (_, estimate) = runner.pilot(experiment, f64::INFINITY);
        seconds += estimate.seconds(1.0) * f64::from(runner.repeats);
        bytes = bytes.max(disk_bytes(experiment, 1.0));
    }
    runner.live.say(&format!(
        "all of the work takes about {} and {:.1} GB of disk",
        hours(seconds),
        bytes / 1e9
    ));
    if let (true, Some(free)) = (runner.target.is_embedded(), free_bytes(&runner.below))
        && bytes > free as f64
    {
        return Err(format!(
            "{:.1} GB are free below {}; give --scale or --budget, or --files with more space",
            free as f64 / 1e9,
            runner.below.display()
        ));
    }
    Ok(Extent::Scale(1.0))
}

fn hours(seconds: f64) -> String {
    match seconds {
        s if s >= 5400.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 90.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{s:.0} seconds"),
    }
}

/// The disk's own limits, which every figure of the log stands beside.
fn disk(dir: &Path) -> Result<Disk, String> {
    let measured = calibrate::quick(dir)?;
    Ok(Disk {
        directory: dir.display().to_string(),
        free_gb: free_bytes(dir).map_or(0.0, |b| b as f64 / 1e9),
        ..measured
    })
}

/// The findings on the terminal.
fn print_findings(run: &Run) {
    for outcome in &run.experiments {
        println!("\n{} (scale {:.4})", outcome.title, outcome.scale);
        for claim in &outcome.claims {
            println!(
                "  published: {}: {}; here: {}: {}",
                claim.claim, claim.published, claim.ours, claim.verdict
            );
        }
        for finding in &outcome.findings {
            println!("  {finding}");
        }
        for skipped in &outcome.skipped {
            println!("  skipped: {}: {}", skipped.name, skipped.why);
        }
    }
}

fn compare(args: &[String]) -> Result<(), String> {
    let [first, second] = args else {
        return Err("compare DIR DIR".to_owned());
    };
    let (a, b) = (read(Path::new(first))?, read(Path::new(second))?);
    let path = Path::new(second).join("compare.html");
    write(&path, &report::compare(&a, &b))?;
    println!("{}", path.display());
    Ok(())
}

/// The server is the target, else the one on this machine's usual port with the password of the environment.
fn give_advice(args: &[String]) -> Result<(), String> {
    let mut address = None;
    let mut evidence = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--target" => address = Some(target(value)?),
            "--evidence" => evidence = Some(read(Path::new(value))?),
            other => return Err(format!("unknown option '{other}'\n{HELP}")),
        }
    }
    let address = match address {
        Some(address) => address,
        None => Address {
            host: "127.0.0.1".to_owned(),
            port: 1433,
            user: "sa".to_owned(),
            password: std::env::var("SQLCMDPASSWORD").map_err(
                |_| "which server? --target, or SQLCMDPASSWORD for sa at 127.0.0.1,1433",
            )?,
        },
    };
    let target = Target::remote(address)?;
    print!("{}", advise::advise(&target, evidence.as_ref())?);
    Ok(())
}

fn one(args: &[String]) -> Result<PathBuf, String> {
    match args {
        [dir] => Ok(PathBuf::from(dir)),
        _ => Err("report DIR".to_owned()),
    }
}

fn read(dir: &Path) -> Result<Run, String> {
    let path = dir.join("run.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn write_report(dir: &Path, run: &Run) -> Result<(), String> {
    let path = dir.join("report.html");
    write(&path, &report::html(run))?;
    println!("{}", path.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The command without the target's password.
fn command(args: &[String]) -> String {
    let hidden = |word: &String| match target(word) {
        Ok(address) => format!(
            "mssql://{}:...@{}:{}",
            address.user, address.host, address.port
        ),
        Err(_) => word.clone(),
    };
    let words: Vec<String> = args.iter().map(hidden).collect();
    format!("duramen lab {}", words.join(" "))
}

/// Now, `2026-01-31 12:00:00` UTC.
fn stamp() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |d| d.as_secs());
    let ((year, month, day), [hour, minute, second]) =
        duramen_types::temporal::ymd_hms(seconds as i64);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}
