//! What the size of a log's growth costs, in the log of 2019, of 2022 and of our own.

use crate::embedded::Settings;
use crate::experiment::{Experiment, Published, Trial, Work, never_grew, scaled};
use crate::record::{self, Claim, Figure, Outcome};
use crate::spread::Ratio;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "growth",
    title: "Log growth of 64 MB and 1 GB",
    question: "Is a log that grows by 64 MB faster than one that grows by 1 GB, now that 2022 does not zero such growths?",
    source: "Changing log growth strategy in SQL Server 2022: about 20 % less time with 64 MB in 2022",
    full: "500,000 rows of a page each, one statement",
    weight: 1.5,
    pilot: 0.01,
    trials,
    findings,
    claims,
};

/// The growth of a log that never grows: as large as the work needs from the start.
const PRESIZED: u32 = 0;

struct Growth {
    profile: &'static str,
    growth_mb: u32,
    rows: u64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let rows = scaled(500_000.0, scale);
    let mut out: Vec<Box<dyn Trial>> = Vec::new();
    for profile in ["2019", "2022", "native"] {
        for growth_mb in [64, 1024, PRESIZED] {
            out.push(Box::new(Growth {
                profile,
                growth_mb,
                rows,
            }));
        }
    }
    out
}

impl Growth {
    /// What the work writes to the log, at most.
    fn log_mb(&self) -> u64 {
        64 + self.rows * 9_300 / 1_000_000
    }
}

impl Trial for Growth {
    fn name(&self) -> String {
        let growth = match self.growth_mb {
            PRESIZED => "sized before".to_owned(),
            1024 => "by 1 GB".to_owned(),
            mb => format!("by {mb} MB"),
        };
        format!("{}, {growth}", self.profile)
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("growth MB", self.growth_mb.to_string()),
            ("rows", self.rows.to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: self.profile,
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        let log = self.log_mb().max(u64::from(self.growth_mb) * 2) as f64;
        self.rows as f64 * 8_400.0 + log * 1.2e6 + 2e8
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let (data, log) = (target.file("lab.mdf"), target.file("lab.ldf"));
        let data_mb = 64 + self.rows * 8_400 / 1_000_000;
        let (log_mb, growth_mb) = match self.growth_mb {
            PRESIZED => (self.log_mb(), 64),
            growth => (32, growth),
        };
        target.connect("master")?.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = {data_mb}MB, FILEGROWTH = 256MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = {log_mb}MB, FILEGROWTH = {growth_mb}MB)"
        ))?;
        // Every row must come to the log whole and stay there.
        target
            .connect("master")?
            .run("ALTER DATABASE lab SET RECOVERY FULL")?;
        target.connect("lab")?.run(
            "CREATE TABLE dbo.page (id int IDENTITY(1, 1), filler nchar(2048));
             CREATE UNIQUE CLUSTERED INDEX page_id ON dbo.page (id)",
        )
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        target.connect("lab")?.run(&format!(
            "SET NOCOUNT ON;
             INSERT dbo.page (filler)
             SELECT TOP ({}) N'x' FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b",
            self.rows
        ))?;
        let rows = target
            .connect("lab")?
            .number("SELECT COUNT(*) FROM dbo.page")?;
        if rows as u64 != self.rows {
            return Err(format!("{rows} rows of {} are there", self.rows));
        }
        Ok(Work {
            figures: vec![Figure::new("inserted", rows, "rows")],
            ..Work::default()
        })
    }
}

fn find<'a>(outcome: &'a Outcome, profile: &str, growth: &str) -> Option<&'a record::Trial> {
    let name = format!("{profile}, {growth}");
    outcome.trials.iter().find(|t| t.name == name)
}

fn claims(outcome: &Outcome) -> Vec<Claim> {
    let of = |growth: &str| find(outcome, "2022", growth);
    let both = of("by 64 MB").zip(of("by 1 GB"));
    let ratio = both.and_then(|(small, large)| Ratio::of_times(small, large));
    let grew = both.is_none_or(|(small, _)| small.log.growths > 0.0);
    let claim = "2022: growth by 64 MB against growth by 1 GB";
    vec![Published::Ratio(0.8).compare(claim, ratio, grew)]
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let of = |profile: &str, growth: &str| find(outcome, profile, growth);
    let mut out = Vec::new();
    for profile in ["2019", "2022", "native"] {
        let (Some(small), Some(large)) = (of(profile, "by 64 MB"), of(profile, "by 1 GB")) else {
            continue;
        };
        if small.log.growths == 0.0 && large.log.growths == 0.0 {
            out.push(never_grew(profile));
            continue;
        }
        let times = |a, b| Ratio::of_times(a, b).map_or_else(String::new, |r| r.times_the_time());
        out.push(format!(
            "{profile}: growth by 64 MB against growth by 1 GB: {} ({} and {} growths, {:.0} and {:.0} VLFs; zeroing PREEMPTIVE_OS_WRITEFILEGATHER {:.2} s and {:.2} s).",
            times(small, large),
            small.log.growths,
            large.log.growths,
            small.log.vlfs,
            large.log.vlfs,
            small.wait_s("PREEMPTIVE_OS_WRITEFILEGATHER"),
            large.wait_s("PREEMPTIVE_OS_WRITEFILEGATHER"),
        ));
        if let Some(sized) = of(profile, "sized before") {
            out.push(format!(
                "{profile}: growth against a log sized before: by 64 MB {}; by 1 GB {}.",
                times(small, sized),
                times(large, sized)
            ));
        }
    }
    out
}
