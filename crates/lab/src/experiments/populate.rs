//! The 1-TB article: a table of a page a row, filled by many connections, alone and in batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::embedded::Settings;
use crate::experiment::{Experiment, Published, Trial, Work, run_clients, scaled, times};
use crate::latency::Latencies;
use crate::record::{Claim, Figure, Outcome};
use crate::spread::Ratio;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "populate",
    title: "Populating a large table: connections, batches, files",
    question: "What do more connections, larger transactions and separate files bring when every row fills a page?",
    source: "Benchmarking: 1-TB table population, parts 1 and 2",
    full: "134,217,728 rows of 4.1 KB, one a page",
    weight: 3.0,
    pilot: 0.000_05,
    trials,
    findings,
    claims,
};

const ROWS: f64 = 134_217_728.0;

#[derive(Clone, Copy)]
struct Populate {
    profile: &'static str,
    clients: u32,
    /// Rows of a transaction; 1: every INSERT by itself.
    batch: u32,
    /// The log is in another directory than the data.
    apart: bool,
    data_files: u32,
    /// The server was started with `-E`.
    large_extents: bool,
    /// Somebody runs CHECKPOINT all the time.
    checkpoints: bool,
    /// The log is as large as it will ever be from the start.
    log_sized: bool,
    rows: u64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let base = Populate {
        profile: "2012",
        clients: 128,
        batch: 1,
        apart: false,
        data_files: 1,
        large_extents: false,
        checkpoints: false,
        log_sized: false,
        // Everybody inserts equally many whole batches.
        rows: scaled(ROWS, scale).next_multiple_of(256 * 10),
    };
    let mut all = Vec::new();
    for clients in [16, 32, 64, 128, 256] {
        all.push(Populate { clients, ..base });
    }
    for batch in [10, 100, 1_000, 10_000] {
        all.push(Populate { batch, ..base });
    }
    for clients in [16, 256] {
        all.push(Populate {
            clients,
            batch: 10,
            ..base
        });
    }
    #[rustfmt::skip]
    all.extend([
        Populate { apart: true, ..base },
        Populate { data_files: 4, ..base },
        Populate { data_files: 4, large_extents: true, ..base },
        Populate { checkpoints: true, ..base },
        Populate { log_sized: true, ..base },
    ]);
    for clients in [16, 128] {
        for batch in [1, 10] {
            all.push(Populate {
                profile: "native",
                clients,
                batch,
                ..base
            });
        }
    }
    let boxed = |trial| Box::new(trial) as Box<dyn Trial>;
    all.into_iter().map(boxed).collect()
}

impl Populate {
    /// Rows of each connection: whole transactions, at least one.
    fn each(&self) -> u64 {
        (self.rows / u64::from(self.clients)).max(1)
    }

    fn inserted(&self) -> u64 {
        self.each() * u64::from(self.clients)
    }

    fn variant(&self) -> &'static str {
        match self {
            Populate { apart: true, .. } => ", log apart",
            Populate {
                large_extents: true,
                ..
            } => ", 4 data files, -E",
            Populate { data_files: 4, .. } => ", 4 data files",
            Populate {
                checkpoints: true, ..
            } => ", manual checkpoints",
            Populate {
                log_sized: true, ..
            } => ", log sized before",
            _ => "",
        }
    }
}

impl Trial for Populate {
    fn name(&self) -> String {
        format!(
            "{}, {} connections, batch of {}{}",
            self.profile,
            self.clients,
            self.batch,
            self.variant()
        )
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("connections", self.clients.to_string()),
            ("batch", self.batch.to_string()),
            ("log apart", self.apart.to_string()),
            ("data files", self.data_files.to_string()),
            ("-E", self.large_extents.to_string()),
            ("manual checkpoints", self.checkpoints.to_string()),
            ("log sized before", self.log_sized.to_string()),
            ("rows", self.inserted().to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: self.profile,
            large_extents: self.large_extents,
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        self.rows as f64 * 8_500.0 + 2.0e9
    }

    fn published_s(&self) -> Option<f64> {
        if self.profile != "2012" || !self.variant().is_empty() {
            return None;
        }
        match (self.clients, self.batch) {
            (16, 1) => Some(55_505.0),
            (32, 1) => Some(49_818.0),
            (64, 1) => Some(36_768.0),
            (128, 1) => Some(29_307.0),
            (256, 1) => Some(26_661.0),
            (128, 10) => Some(21_167.0),
            _ => None,
        }
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let files = self.data_files;
        let mb = (64 + self.rows * 8_400 / 1_000_000).div_ceil(u64::from(files));
        let file = |n: u32| {
            let path = target.file(&format!("lab{n}.mdf"));
            format!("(NAME = lab{n}, FILENAME = {path}, SIZE = {mb}MB, FILEGROWTH = 256MB)")
        };
        let data: Vec<String> = (0..files).map(file).collect();
        let log = match self.apart {
            true => target.file_apart("lab.ldf")?,
            false => target.file("lab.ldf"),
        };
        // The article's 256 MB; its "sized before" is whatever holds the whole run.
        let log_mb = match self.log_sized {
            true => 256 + self.rows * 5_200 / 1_000_000,
            false => 256,
        };
        target.connect("master")?.run(&format!(
            "CREATE DATABASE lab ON {} LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = {log_mb}MB, FILEGROWTH = 10%);
             ALTER DATABASE lab SET RECOVERY SIMPLE",
            data.join(", ")
        ))?;
        target.connect("lab")?.run(
            "CREATE TABLE dbo.big (c1 bigint IDENTITY, c2 char(4100) DEFAULT 'a');
             CREATE CLUSTERED INDEX big_c1 ON dbo.big (c1)",
        )
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let checkpoints = self.checkpoints.then(|| {
            let (address, stop) = (target.address().clone(), Arc::clone(&stop));
            std::thread::spawn(move || -> Result<u32, String> {
                let mut sql = crate::sql::Sql::connect(&address, "lab")?;
                let mut count = 0;
                while !stop.load(Ordering::SeqCst) {
                    sql.run("CHECKPOINT")?;
                    count += 1;
                    std::thread::sleep(Duration::from_millis(200));
                }
                Ok(count)
            })
        });
        let (each, batch) = (self.each(), u64::from(self.batch).min(self.each()));
        let mut observer = target.connect("lab")?;
        let busy_before = observer.number(PROCESSOR_MS)?;
        let work = run_clients(target, "lab", self.clients as usize, move |_, sql| {
            let began = Instant::now();
            sql.run(&insert_loop(each, batch))?;
            let mut latencies = Latencies::default();
            latencies.note(began.elapsed());
            Ok(latencies)
        });
        stop.store(true, Ordering::SeqCst);
        let mut figures = Vec::new();
        if let Some(thread) = checkpoints {
            let count = thread.join().map_err(|_| "the checkpoints ended")??;
            figures.push(Figure::new("checkpoints", f64::from(count), ""));
        }
        let mut work = work?;
        let busy_ms = observer.number(PROCESSOR_MS)? - busy_before;
        let processors = observer.number("SELECT cpu_count FROM sys.dm_os_sys_info")?;
        let rows = observer.number("SELECT COUNT_BIG(*) FROM dbo.big")?;
        if rows as u64 != self.inserted() {
            return Err(format!("{rows} rows of {} are there", self.inserted()));
        }
        let seconds = work.elapsed.map_or(0.0, |e| e.as_secs_f64());
        figures.push(Figure::new("inserted", rows, "rows"));
        figures.push(Figure::new("rate", times(rows, seconds), "rows/s"));
        let busy = 100.0 * times(busy_ms / 1000.0, seconds * processors);
        figures.push(Figure::new("processors busy", busy, "%"));
        work.figures = figures;
        // The time of a whole connection is no latency.
        work.latencies = Latencies::default();
        Ok(work)
    }
}

/// Processor time that the server has used.
const PROCESSOR_MS: &str =
    "SELECT process_user_time_ms + process_kernel_time_ms FROM sys.dm_os_sys_info";

/// A connection's rows, `batch` of them a transaction.
fn insert_loop(rows: u64, batch: u64) -> String {
    if batch == 1 {
        return format!(
            "SET NOCOUNT ON; DECLARE @n bigint = 0;
             WHILE @n < {rows} BEGIN INSERT INTO dbo.big DEFAULT VALUES; SET @n += 1 END"
        );
    }
    format!(
        "SET NOCOUNT ON; DECLARE @n bigint = 0, @i int;
         WHILE @n < {rows}
         BEGIN
             SET @i = 0;
             BEGIN TRANSACTION;
             WHILE @i < {batch} AND @n < {rows} BEGIN INSERT INTO dbo.big DEFAULT VALUES; SET @i += 1; SET @n += 1 END;
             COMMIT
         END"
    )
}

/// The rate of one trial by another's: how many times as fast the first one is.
fn faster(outcome: &Outcome, a: &str, b: &str) -> Option<Ratio> {
    let of = |name: &str| outcome.trials.iter().find(|t| t.name == name);
    Ratio::of_figures(of(a)?, of(b)?, "rate")
}

const SINGLE: &str = "2012, 128 connections, batch of 1";
const TENS: &str = "2012, 128 connections, batch of 10";
const FEW: &str = "2012, 16 connections, batch of 1";
const MANY: &str = "2012, 256 connections, batch of 1";

fn claims(outcome: &Outcome) -> Vec<Claim> {
    vec![
        Published::Ratio(55_505.0 / 26_661.0).compare(
            "256 connections against 16, a row a transaction: as fast",
            faster(outcome, MANY, FEW),
            true,
        ),
        Published::Ratio(29_307.0 / 21_167.0).compare(
            "128 connections, ten rows a transaction against single rows: as fast",
            faster(outcome, TENS, SINGLE),
            true,
        ),
    ]
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let faster = |a: &str, b: &str| faster(outcome, a, b);
    let mut out = Vec::new();
    let mut say = |subject: String, ratio: Option<Ratio>, why: &str| {
        if let Some(ratio) = ratio {
            out.push(format!("{subject}: {}.{why}", ratio.times_as_fast()));
        }
    };
    say(
        "2012, 128 connections, ten rows a transaction against single rows".to_owned(),
        faster(TENS, SINGLE),
        "",
    );
    say(
        "2012, 128 connections, a hundred rows a transaction against ten".to_owned(),
        faster("2012, 128 connections, batch of 100", TENS),
        " A log block holds at most 60 KB, which ten rows nearly fill.",
    );
    let busy = outcome.trials.iter().find(|t| t.name == FEW);
    let why = busy
        .and_then(|t| t.figure("processors busy"))
        .map_or_else(String::new, |busy| {
            let most = 100.0 / busy.max(1.0);
            format!(" 16 keep the processors {busy:.0} % busy already: more can bring {most:.1} times as much at most.")
        });
    say(
        "2012: 256 connections against 16".to_owned(),
        faster(MANY, FEW),
        &why,
    );
    for clients in [16, 128] {
        let name = |batch: u32| format!("native, {clients} connections, batch of {batch}");
        say(
            format!("native, {clients} connections, ten rows a transaction against single rows"),
            faster(&name(10), &name(1)),
            " With the packet gate no statement waits.",
        );
    }
    say(
        "128 connections with single rows, native against 2012, equally durable".to_owned(),
        faster("native, 128 connections, batch of 1", SINGLE),
        "",
    );
    for variant in [
        "log apart",
        "4 data files",
        "4 data files, -E",
        "manual checkpoints",
        "log sized before",
    ] {
        say(
            format!("2012, 128 connections, {variant}, against the same without"),
            faster(&format!("{SINGLE}, {variant}"), SINGLE),
            "",
        );
    }
    out
}
