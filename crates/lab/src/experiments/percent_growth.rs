//! A log that grows by 10 %, as a reader of the first article asked: many small growths first, huge ones later.

use crate::embedded::Settings;
use crate::experiment::{Experiment, Trial, Work, never_grew, no_claims, scaled};
use crate::record::{Figure, Outcome};
use crate::spread::Ratio;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "percent-growth",
    title: "Log growth by 10 percent",
    question: "Is growth by 10 % as bad as 1 MB, or as good as a fixed large step?",
    source: "",
    full: "4 GB of log from a log of 10 MB",
    weight: 1.0,
    pilot: 0.005,
    trials,
    findings,
    claims: no_claims,
};

const PAGES: f64 = 450_000.0;

struct Percent {
    profile: &'static str,
    growth: &'static str,
    pages: u64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let pages = scaled(PAGES, scale);
    let mut out: Vec<Box<dyn Trial>> = Vec::new();
    for profile in ["2012", "native"] {
        for growth in ["1MB", "10%", "64MB", "512MB"] {
            out.push(Box::new(Percent {
                profile,
                growth,
                pages,
            }));
        }
    }
    out
}

impl Trial for Percent {
    fn name(&self) -> String {
        format!("{}, by {}", self.profile, self.growth)
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("growth", self.growth.to_owned()),
            ("pages", self.pages.to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: self.profile,
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        self.pages as f64 * (8_400.0 + 9_300.0 * 1.1) + 1.3e9
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let (data, log) = (target.file("lab.mdf"), target.file("lab.ldf"));
        let data_mb = 64 + self.pages * 8_400 / 1_000_000;
        target.connect("master")?.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = {data_mb}MB, FILEGROWTH = 256MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = 10MB, FILEGROWTH = {});
             ALTER DATABASE lab SET RECOVERY FULL",
            self.growth
        ))?;
        let mut sql = target.connect("lab")?;
        sql.run(
            "CREATE TABLE dbo.page (id int IDENTITY(1, 1), filler nchar(2048));
             CREATE UNIQUE CLUSTERED INDEX page_id ON dbo.page (id);
             BACKUP DATABASE lab TO DISK = 'nul'",
        )
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        let mut sql = target.connect("lab")?;
        // Several statements, so that growths fall between and into them.
        let each = self.pages.div_ceil(16).max(1);
        let mut left = self.pages;
        while left > 0 {
            let rows = left.min(each);
            sql.run(&format!(
                "SET NOCOUNT ON;
                 INSERT dbo.page (filler)
                 SELECT TOP ({rows}) N'x' FROM sys.all_columns AS a CROSS JOIN sys.all_columns AS b"
            ))?;
            left -= rows;
        }
        Ok(Work {
            figures: vec![Figure::new("inserted", self.pages as f64, "pages")],
            ..Work::default()
        })
    }
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let of = |profile: &str, growth: &str| {
        let name = format!("{profile}, by {growth}");
        outcome.trials.iter().find(|t| t.name == name)
    };
    let mut out = Vec::new();
    for profile in ["2012", "native"] {
        let (Some(percent), Some(small), Some(fixed)) =
            (of(profile, "10%"), of(profile, "1MB"), of(profile, "64MB"))
        else {
            continue;
        };
        if [percent, small, fixed].iter().all(|t| t.log.growths == 0.0) {
            out.push(never_grew(profile));
            continue;
        }
        let times = |a, b| Ratio::of_times(a, b).map_or_else(String::new, |r| r.times_the_time());
        out.push(format!(
            "{profile}: growth by 10 % against 1 MB: {}; against 64 MB: {}; {:.0} growths and {:.0} VLFs ({:.0} and {:.0} with 1 MB, {:.0} and {:.0} with 64 MB).",
            times(percent, small),
            times(percent, fixed),
            percent.log.growths,
            percent.log.vlfs,
            small.log.growths,
            small.log.vlfs,
            fixed.log.growths,
            fixed.log.vlfs
        ));
        out.push(format!(
            "{profile}: with 10 % a log of 10 MB ends at {:.0} MB, with 64 MB at {:.0} MB.",
            percent.log.size_mb, fixed.log.size_mb
        ));
    }
    out
}
