//! What many VLFs cost afterwards: starting, backing up and restoring a database whose log has 10 to 100,000 of them.

use std::time::Instant;

use crate::embedded::Settings;
use crate::experiment::{Experiment, Trial, Work, no_claims, scaled};
use crate::record::{Figure, Outcome};
use crate::spread::Ratio;
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "vlf-count",
    title: "The number of VLFs and what it costs later",
    question: "Do recovery, backup and restore take longer when the log is cut into more VLFs?",
    source: "",
    full: "1,000,000 rows to redo in each of five logs of 10 to 100,000 VLFs",
    weight: 1.0,
    pilot: 0.005,
    trials,
    findings,
    claims: no_claims,
};

/// What a growth of 1 MB makes: 4 VLFs of 256 KB in the old profiles.
const VLFS_A_GROWTH: u64 = 4;

struct VlfCount {
    vlfs: u64,
    rows: u64,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let rows = scaled(1_000_000.0, scale);
    let trial = |vlfs| Box::new(VlfCount { vlfs, rows }) as Box<dyn Trial>;
    // A tenth of the scale, a tenth of the greatest count: 25 GB of log are for who asks for all.
    let most = (100_000.0 * scale.max(0.01)) as u64;
    let counts = [10, 100, 1_000, 10_000, 100_000];
    counts
        .into_iter()
        .filter(|n| *n <= most)
        .map(trial)
        .collect()
}

impl Trial for VlfCount {
    fn name(&self) -> String {
        format!("{} VLFs", self.vlfs)
    }

    fn family(&self) -> String {
        "2012".to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", "2012".to_owned()),
            ("VLFs", self.vlfs.to_string()),
            ("rows", self.rows.to_string()),
        ]
    }

    fn server(&self) -> Settings {
        Settings {
            profile: "2012",
            ..Settings::default()
        }
    }

    fn disk_bytes(&self) -> f64 {
        // The log twice: once restored.
        self.vlfs as f64 * 262_144.0 * 2.0 + self.rows as f64 * 1_500.0 + 3e8
    }

    fn restarts(&self) -> bool {
        true
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let (data, log) = (target.file("lab.mdf"), target.file("lab.ldf"));
        let mut sql = target.connect("master")?;
        // The first 1.5 MB have few VLFs; a growth of a megabyte brings four more.
        sql.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = 64MB, FILEGROWTH = 64MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = 2MB, FILEGROWTH = 512MB);
             ALTER DATABASE lab SET RECOVERY FULL"
        ))?;
        let mut have = sql.number("SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID('lab'))")? as u64;
        let mut mb = 2;
        let mut batch = String::new();
        while have + VLFS_A_GROWTH <= self.vlfs {
            mb += 1;
            have += VLFS_A_GROWTH;
            batch.push_str(&format!(
                "ALTER DATABASE lab MODIFY FILE (NAME = lab_log, SIZE = {mb}MB);\n"
            ));
            if mb % 500 == 0 {
                sql.run(&batch)?;
                batch.clear();
            }
        }
        sql.run(&batch)?;
        target.connect("lab")?.run(
            "CREATE TABLE dbo.entry (id int IDENTITY(1, 1) PRIMARY KEY, word varchar(50), number int);
             BACKUP DATABASE lab TO DISK = 'nul'",
        )
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        let rows = self.rows;
        target.connect("lab")?.run("CHECKPOINT")?;
        target.connect("lab")?.run(&format!(
            "SET NOCOUNT ON; DECLARE @n int = 0; BEGIN TRANSACTION;
             WHILE @n < {rows}
             BEGIN INSERT dbo.entry (word, number) VALUES ('Some words', @n); SET @n += 1 END;
             COMMIT"
        ))?;
        let vlfs = target
            .connect("master")?
            .number("SELECT COUNT(*) FROM sys.dm_db_log_info(DB_ID('lab'))")?;
        let recovery = target.crash_and_start()?;
        let there = target
            .connect("lab")?
            .number("SELECT COUNT(*) FROM dbo.entry")?;
        if there as u64 != rows {
            return Err(format!("{there} rows of {rows} came back"));
        }
        let mut sql = target.connect("master")?;
        let (full, copy, log) = (
            target.file("lab.bak"),
            target.file("copy.mdf"),
            target.file("copy.ldf"),
        );
        let mut timed = |text: String| {
            let began = Instant::now();
            sql.run(&text).map(|()| began.elapsed().as_secs_f64())
        };
        let backup_s = timed(format!("BACKUP DATABASE lab TO DISK = {full} WITH INIT"))?;
        let log_backup_s = timed("BACKUP LOG lab TO DISK = 'nul'".to_owned())?;
        let restore_s = timed(format!(
            "RESTORE DATABASE lab_copy FROM DISK = {full} WITH MOVE 'lab' TO {copy}, MOVE 'lab_log' TO {log}"
        ))?;
        let log_mb = sql.number(
            "SELECT size / 128 FROM sys.master_files WHERE database_id = DB_ID('lab') AND type = 1",
        )?;
        let seconds = |name: &str, value: f64| Figure::new(name, value, "s");
        Ok(Work {
            elapsed: Some(recovery),
            figures: vec![
                Figure::new("VLFs", vlfs, ""),
                Figure::new("log file", log_mb, "MB"),
                seconds("start after a crash", recovery.as_secs_f64()),
                seconds("full backup", backup_s),
                seconds("log backup", log_backup_s),
                seconds("restore", restore_s),
            ],
            ..Work::default()
        })
    }
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let (Some(few), Some(many)) = (outcome.trials.first(), outcome.trials.last()) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for name in [
        "start after a crash",
        "full backup",
        "log backup",
        "restore",
    ] {
        let Some(ratio) = Ratio::of_figures(many, few, name) else {
            continue;
        };
        out.push(format!(
            "{name}, {} VLFs against {}: {}.",
            many.setting("VLFs"),
            few.setting("VLFs"),
            ratio.times_the_time()
        ));
    }
    if let (Some(a), Some(b)) = (few.figure("log file"), many.figure("log file")) {
        out.push(format!(
            "the log files are {a:.0} and {b:.0} MB: a restore makes the file anew and fills it, and that grows with its size."
        ));
    }
    out
}
