//! The six tests of the first article: a table doubled five times over logs that grow in different ways.

use crate::embedded::Settings;
use crate::experiment::{Experiment, Published, Trial, Work, scaled, times};
use crate::record::{self, Claim, Figure, Outcome};
use crate::spread::Ratio;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "vlf",
    title: "Growth increments and virtual log files",
    question: "What do small growths of data and log, and the VLFs they make, cost a bulk load?",
    source: "Experiments with SQL Server VLFs, part 1: tests 1 to 6",
    full: "1,600,000 charges doubled five times to 51,200,000, three nonclustered indexes",
    weight: 4.0,
    pilot: 0.002,
    trials,
    findings,
    claims,
};

const CHARGES: f64 = 1_600_000.0;
const DOUBLINGS: u32 = 5;
/// What a row takes in the data file with its four indexes, and in a log that describes every row.
const DATA_BYTES: f64 = 130.0;
const LOG_BYTES: f64 = 680.0;

struct Vlf {
    /// Of the article; the same test may run in several profiles.
    test: u32,
    profile: &'static str,
    instant_file_init: bool,
    growth_mb: u32,
    /// The log is grown to its final size in eight steps before the work.
    grown_before: bool,
    maxdop: u32,
    tempdb_files: u32,
    scale: f64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let base = Vlf {
        test: 1,
        profile: "2012",
        instant_file_init: false,
        growth_mb: 1,
        grown_before: false,
        maxdop: 0,
        tempdb_files: 1,
        scale,
    };
    let (instant, growth_mb) = (true, 1024);
    #[rustfmt::skip]
    let all = [
        Vlf { ..base },
        Vlf { test: 2, instant_file_init: instant, ..base },
        Vlf { test: 3, instant_file_init: instant, growth_mb, ..base },
        Vlf { test: 4, instant_file_init: instant, growth_mb, grown_before: true, ..base },
        Vlf { test: 5, instant_file_init: instant, growth_mb, grown_before: true, maxdop: 4, ..base },
        Vlf { test: 6, instant_file_init: instant, growth_mb, grown_before: true, maxdop: 4, tempdb_files: 4, ..base },
        Vlf { profile: "native", ..base },
        Vlf { test: 3, profile: "native", instant_file_init: instant, growth_mb, ..base },
        Vlf { test: 4, profile: "native", instant_file_init: instant, growth_mb, grown_before: true, ..base },
    ];
    let boxed = |trial| Box::new(trial) as Box<dyn Trial>;
    all.into_iter().map(boxed).collect()
}

impl Vlf {
    fn charges(&self) -> u64 {
        scaled(CHARGES, self.scale)
    }

    fn megabytes(&self, full: f64) -> u64 {
        scaled(full, self.scale).max(8)
    }
}

impl Trial for Vlf {
    fn name(&self) -> String {
        let growth = match (self.growth_mb, self.grown_before) {
            (_, true) => "log grown before",
            (1, false) => "growth by 1 MB",
            _ => "growth by 1 GB",
        };
        format!("{}, test {}, {growth}", self.profile, self.test)
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("test", self.test.to_string()),
            ("growth MB", self.growth_mb.to_string()),
            ("instant file init", self.instant_file_init.to_string()),
            ("log grown before", self.grown_before.to_string()),
            ("maxdop", self.maxdop.to_string()),
            ("tempdb files", self.tempdb_files.to_string()),
            ("charges", self.charges().to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: self.profile,
            instant_file_init: self.instant_file_init,
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        let rows = self.charges() as f64 * f64::from(1 << DOUBLINGS);
        let growth = f64::from(self.growth_mb) * 2.1e6;
        rows * (DATA_BYTES + LOG_BYTES) + growth + 3e8
    }

    fn published_s(&self) -> Option<f64> {
        let seconds = [1074.0, 1069.0, 771.0, 711.0, 716.0, 723.0];
        let published = seconds.get(self.test as usize - 1).copied();
        published.filter(|_| self.profile == "2012")
    }

    fn published_waits(&self) -> &'static [(&'static str, f64)] {
        match (self.profile, self.test) {
            ("2012", 1) => &[
                ("CXPACKET", 72.22),
                ("PREEMPTIVE_OS_FLUSHFILEBUFFERS", 13.01),
                ("PREEMPTIVE_OS_WRITEFILEGATHER", 6.52),
                ("WRITELOG", 2.13),
                ("PREEMPTIVE_OS_FILEOPS", 1.39),
                ("PAGEIOLATCH_EX", 0.97),
            ],
            ("2012", 2) => &[
                ("CXPACKET", 72.88),
                ("PREEMPTIVE_OS_FLUSHFILEBUFFERS", 13.34),
                ("PREEMPTIVE_OS_WRITEFILEGATHER", 6.4),
                ("PREEMPTIVE_OS_FILEOPS", 1.39),
                ("WRITELOG", 1.12),
            ],
            ("2012", 3) => &[
                ("CXPACKET", 88.95),
                ("PREEMPTIVE_OS_WRITEFILEGATHER", 7.48),
                ("ASYNC_IO_COMPLETION", 1.11),
            ],
            ("2012", 4) => &[
                ("CXPACKET", 94.74),
                ("PREEMPTIVE_OS_WRITEFILEGATHER", 1.57),
                ("ASYNC_IO_COMPLETION", 1.13),
            ],
            _ => &[],
        }
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        if self.tempdb_files > 1 && !target.is_embedded() {
            return Err("it adds files to tempdb, on a server of the lab's own only".to_owned());
        }
        let (data, log) = (target.file("lab.mdf"), target.file_apart("lab.ldf")?);
        let (data_mb, log_mb) = (self.megabytes(1000.0), self.megabytes(400.0));
        let growth = self.growth_mb;
        let mut sql = target.connect("master")?;
        sql.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = {data_mb}MB, FILEGROWTH = {growth}MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = {log_mb}MB, FILEGROWTH = {growth}MB)"
        ))?;
        sql.run("ALTER DATABASE lab SET RECOVERY SIMPLE")?;
        // A server begins with a file for each processor.
        let there = match self.tempdb_files {
            1 => 1,
            _ => {
                sql.number("SELECT COUNT(*) FROM tempdb.sys.database_files WHERE type = 0")? as u32
            }
        };
        for n in there..self.tempdb_files {
            let file = target.file(&format!("temp{n}.ndf"));
            sql.run(&format!(
                "ALTER DATABASE tempdb ADD FILE (NAME = lab_temp{n}, FILENAME = {file}, SIZE = 16MB, FILEGROWTH = 64MB)"
            ))?;
        }
        let mut sql = target.connect("lab")?;
        sql.run(&charge_table(self.charges()))?;
        // The chain begins with a full backup, as after the article's restore; the log keeps all from here on.
        sql.run(
            "CHECKPOINT; ALTER DATABASE lab SET RECOVERY FULL; BACKUP DATABASE lab TO DISK = 'nul'",
        )?;
        if self.grown_before {
            let step = self.megabytes(4000.0);
            // It may have grown meanwhile, by as much as it grows at once.
            let there = sql.number("SELECT size / 128 FROM sys.database_files WHERE type = 1")?;
            for size in (1..=8).map(|n| log_mb + n * step) {
                if size as f64 <= there {
                    continue;
                }
                sql.run(&format!(
                    "ALTER DATABASE lab MODIFY FILE (NAME = lab_log, SIZE = {size}MB)"
                ))?;
            }
        }
        Ok(())
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        let hint = match self.maxdop {
            0 => String::new(),
            n => format!(" OPTION (MAXDOP {n})"),
        };
        let mut sql = target.connect("lab")?;
        for n in 1..=DOUBLINGS {
            let days = n * 30;
            sql.run(&format!(
                "SET NOCOUNT ON;
                 INSERT INTO dbo.charge (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
                 SELECT member_no, provider_no, category_no, charge_dt + {days}, charge_amt, statement_no, charge_code
                 FROM dbo.charge{hint}"
            ))?;
        }
        let rows = sql.number("SELECT COUNT(*) FROM dbo.charge")?;
        let expected = self.charges() << DOUBLINGS;
        if rows as u64 != expected {
            return Err(format!("{rows} charges of {expected} are there"));
        }
        let inserted = rows - self.charges() as f64;
        Ok(Work {
            figures: vec![Figure::new("rows inserted", inserted, "rows")],
            ..Work::default()
        })
    }
}

/// A table of charges, filled from arithmetic: skewed amounts, members and providers that repeat. With the table locked
/// and empty that is logged by extents, so that the log begins the work as large as it was made.
fn charge_table(rows: u64) -> String {
    format!(
        "SET NOCOUNT ON;
         CREATE TABLE dbo.charge (
             charge_no int IDENTITY(1, 1) NOT NULL, member_no int NOT NULL, provider_no int NOT NULL,
             category_no int NOT NULL, charge_dt datetime NOT NULL, charge_amt money NOT NULL,
             statement_no int NOT NULL, charge_code char(2) NOT NULL,
             CONSTRAINT charge_key PRIMARY KEY CLUSTERED (charge_no));
         INSERT dbo.charge WITH (TABLOCK) (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
         SELECT 1 + n * 7919 % 10000, 1 + n * 104729 % 500, 1 + n % 10, DATEADD(minute, n % 500000, '19990101'),
                CONVERT(money, n * 31 % 5000), 1 + n % 20000, ' '
         FROM (SELECT TOP ({rows}) CONVERT(bigint, ROW_NUMBER() OVER (ORDER BY (SELECT NULL))) AS n
               FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b) AS numbers;
         CREATE INDEX charge_category_link ON dbo.charge (category_no);
         CREATE INDEX charge_provider_link ON dbo.charge (provider_no);
         CREATE INDEX charge_statement_link ON dbo.charge (statement_no)"
    )
}

/// The article's counts by the published rule: 4 VLFs a growth of 1 MB, 16 a growth of 1 GB.
fn at_full_scale(test: u32) -> Option<f64> {
    match test {
        1 | 2 => Some(126_399.0),
        3 => Some(246.0),
        4..=6 => Some(127.0),
        _ => None,
    }
}

fn find<'a>(outcome: &'a Outcome, profile: &str, test: u32) -> Option<&'a record::Trial> {
    let start = format!("{profile}, test {test},");
    outcome.trials.iter().find(|t| t.name.starts_with(&start))
}

/// The time of one of the article's tests by another's.
fn ratio(outcome: &Outcome, profile: &str, a: u32, b: u32) -> Option<Ratio> {
    Ratio::of_times(find(outcome, profile, a)?, find(outcome, profile, b)?)
}

fn claims(outcome: &Outcome) -> Vec<Claim> {
    let pairs = [
        (
            "2012: growth by 1 MB without and with instant file initialization",
            1,
            2,
            Published::NoDifference,
        ),
        (
            "2012: growth by 1 MB against growth by 1 GB",
            1,
            3,
            Published::Ratio(1074.0 / 771.0),
        ),
        (
            "2012: a log grown before against one that grows by 1 GB",
            4,
            3,
            Published::Ratio(711.0 / 771.0),
        ),
        (
            "2012: MAXDOP 4 against no bound",
            5,
            4,
            Published::NoDifference,
        ),
        (
            "2012: four files of tempdb against one",
            6,
            5,
            Published::NoDifference,
        ),
    ];
    let grew = find(outcome, "2012", 1).is_none_or(|t| t.log.growths > 0.0);
    let claim = |(claim, a, b, published): (&str, u32, u32, Published)| {
        published.compare(claim, ratio(outcome, "2012", a, b), grew)
    };
    let mut claims: Vec<Claim> = pairs.into_iter().map(claim).collect();
    if let (Some(small), Some(published)) = (find(outcome, "2012", 1), at_full_scale(1)) {
        let ours = vlfs_at_full_scale(outcome, small);
        let verdict = match (times(ours, published) - 1.0).abs() < 0.1 {
            true => "reproduced",
            false => "not reproduced",
        };
        claims.push(Claim {
            claim: "2012: VLFs that growth by 1 MB leaves".to_owned(),
            published: format!("{published:.0}"),
            ours: format!("{ours:.0} at full scale"),
            verdict: verdict.to_owned(),
        });
    }
    claims
}

/// As many VLFs as the whole work would have made: 4 a growth.
fn vlfs_at_full_scale(outcome: &Outcome, small: &record::Trial) -> f64 {
    let first = small.log.vlfs - 4.0 * small.log.growths;
    first + times(4.0 * small.log.growths, outcome.scale)
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let mut out = Vec::new();
    for profile in ["2012", "native"] {
        let (Some(small), Some(large)) = (find(outcome, profile, 1), find(outcome, profile, 3))
        else {
            continue;
        };
        let Some(slower) = ratio(outcome, profile, 1, 3) else {
            continue;
        };
        out.push(format!(
            "{profile}: growth by 1 MB against growth by 1 GB: {}: {:.0} growths and {:.0} VLFs instead of {:.0} and {:.0}.",
            slower.times_the_time(),
            small.log.growths,
            small.log.vlfs,
            large.log.growths,
            large.log.vlfs
        ));
        if slower.differs() && slower.0.median > 1.0 {
            out.push(of_the_loss(profile, small, large));
        }
    }
    if let Some(small) = find(outcome, "2012", 1)
        && outcome.scale > 0.0
    {
        out.push(format!(
            "2012: {:.0} growths made {:.0} VLFs; at full scale that is about {:.0} (published: {:.0}).",
            small.log.growths,
            small.log.vlfs,
            vlfs_at_full_scale(outcome, small),
            at_full_scale(1).unwrap_or_default()
        ));
    }
    if let Some(ratio) = ratio(outcome, "2012", 4, 3) {
        out.push(format!(
            "2012: a log grown before the work against one that grows by 1 GB: {}.",
            ratio.times_the_time()
        ));
    }
    out
}

/// What the operating system has to do with a loss that is there.
fn of_the_loss(profile: &str, small: &record::Trial, large: &record::Trial) -> String {
    let loss = small.elapsed_s - large.elapsed_s;
    let zeroing = |t: &record::Trial| {
        t.wait_s("PREEMPTIVE_OS_WRITEFILEGATHER")
            + t.wait_s("PREEMPTIVE_OS_FLUSHFILEBUFFERS")
            + t.wait_s("PREEMPTIVE_OS_FILEOPS")
    };
    let (by_small, by_large) = (zeroing(small), zeroing(large));
    let share = match by_small - by_large <= loss {
        true => format!(
            "{:.0} % of the loss of {loss:.2} s",
            100.0 * times(by_small - by_large, loss)
        ),
        false => format!("the loss is {loss:.2} s, because growths went on beside the work"),
    };
    format!(
        "{profile}: the operating system took {by_small:.2} s to extend, zero and flush files with 1 MB, {by_large:.2} s with 1 GB: {share}."
    )
}
