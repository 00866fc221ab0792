//! What a commit costs: a million rows inserted one by one, in batches and in one transaction, with every way to wait.

use crate::embedded::Settings;
use crate::experiment::{Commit, Experiment, Trial, Work, scaled, times};
use crate::record::{Figure, Outcome};
use crate::target::Target;

pub const EXPERIMENT: Experiment = Experiment {
    name: "durability",
    title: "Durability: classic wait, packet gate, delayed",
    question: "How much of an insert loop is waiting for the log, and what does it cost to wait less?",
    source: "Delayed Durability in SQL Server 2014, part 2: 360 s with full durability, 27 s with delayed",
    full: "1,000,000 rows",
    weight: 1.0,
    pilot: 0.002,
    trials,
    findings,
};

/// Rows of a transaction.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// One: every INSERT commits by itself.
    Loop,
    /// A hundred.
    Batch,
    /// All of them.
    Transaction,
    /// As the loop, in a stored procedure.
    Procedure,
}

struct Durability {
    profile: &'static str,
    commit: Commit,
    shape: Shape,
    rows: u64,
    published_s: Option<f64>,
}

fn trials(scale: f64) -> Vec<Box<dyn Trial>> {
    let rows = scaled(1_000_000.0, scale);
    let cells = [
        ("2014", Commit::Classic, Shape::Loop, Some(360.0)),
        ("2014", Commit::Delayed, Shape::Loop, Some(27.0)),
        ("2014", Commit::Classic, Shape::Batch, None),
        ("2014", Commit::Classic, Shape::Transaction, None),
        ("2014", Commit::Classic, Shape::Procedure, None),
        ("2014", Commit::Delayed, Shape::Procedure, None),
        ("native", Commit::Classic, Shape::Loop, None),
        ("native", Commit::Gate, Shape::Loop, None),
        ("native", Commit::Delayed, Shape::Loop, None),
        ("native", Commit::Gate, Shape::Batch, None),
        ("native", Commit::Gate, Shape::Transaction, None),
        ("native", Commit::Gate, Shape::Procedure, None),
    ];
    let trial = |(profile, commit, shape, published_s)| {
        Box::new(Durability {
            profile,
            commit,
            shape,
            rows,
            published_s,
        }) as Box<dyn Trial>
    };
    cells.map(trial).into_iter().collect()
}

impl Trial for Durability {
    fn name(&self) -> String {
        let shape = match self.shape {
            Shape::Loop => "a row a transaction",
            Shape::Batch => "100 rows a transaction",
            Shape::Transaction => "one transaction",
            Shape::Procedure => "a row a transaction, procedure",
        };
        format!("{}, {}, {shape}", self.profile, self.commit.name())
    }

    fn family(&self) -> String {
        self.profile.to_owned()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.to_owned()),
            ("commit", self.commit.name().to_owned()),
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
        420e6 + 900.0 * self.rows as f64
    }

    fn published_s(&self) -> Option<f64> {
        self.published_s
    }

    fn prepare(&self, target: &mut Target) -> Result<(), String> {
        let (data, log) = (target.file("lab.mdf"), target.file("lab.ldf"));
        target.connect("master")?.run(&format!(
            "CREATE DATABASE lab ON (NAME = lab, FILENAME = {data}, SIZE = 200MB, FILEGROWTH = 100MB)
             LOG ON (NAME = lab_log, FILENAME = {log}, SIZE = 200MB, FILEGROWTH = 100MB)"
        ))?;
        self.commit.set(target, "lab")?;
        target.connect("lab")?.run(
            "CREATE TABLE dbo.entry (id int IDENTITY(1, 1), word varchar(50), number int);
             CREATE CLUSTERED INDEX entry_id ON dbo.entry (id);
             CREATE INDEX entry_number ON dbo.entry (number)",
        )
    }

    fn work(&self, target: &mut Target) -> Result<Work, String> {
        let rows = self.rows;
        let (begin, end) = match self.shape {
            Shape::Loop | Shape::Procedure => ("", ""),
            Shape::Batch => (
                "IF @n % 100 = 0 BEGIN TRANSACTION;",
                "IF @n % 100 = 0 AND @@TRANCOUNT > 0 COMMIT;",
            ),
            Shape::Transaction => ("IF @n = 0 BEGIN TRANSACTION;", ""),
        };
        let mut text = format!(
            "SET NOCOUNT ON; DECLARE @n int = 0;
             WHILE @n < {rows}
             BEGIN
                 {begin}
                 INSERT INTO dbo.entry (word, number) VALUES ('Some words', @n);
                 SET @n += 1;
                 {end}
             END;
             IF @@TRANCOUNT > 0 COMMIT"
        );
        if self.shape == Shape::Procedure {
            target
                .connect("lab")?
                .run(&format!("CREATE PROCEDURE dbo.enter AS\n{text}"))?;
            text = "EXEC dbo.enter".to_owned();
        }
        target.connect("lab")?.run(&text)?;
        let there = target
            .connect("lab")?
            .number("SELECT COUNT(*) FROM dbo.entry")?;
        if there as u64 != rows {
            return Err(format!("{there} rows of {rows} are there"));
        }
        Ok(Work {
            figures: vec![Figure::new("inserted", rows as f64, "rows")],
            ..Work::default()
        })
    }
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let of = |name: &str| outcome.trials.iter().find(|t| t.name == name);
    let mut out = Vec::new();
    let classic = of("2014, classic wait, a row a transaction");
    if let (Some(classic), Some(delayed)) = (classic, of("2014, delayed, a row a transaction")) {
        out.push(format!(
            "Delayed durability makes the loop {:.1} times as fast as the classic wait (published: {:.1}); {:.0} % of the classic loop is WRITELOG.",
            times(classic.elapsed_s, delayed.elapsed_s),
            360.0 / 27.0,
            100.0 * times(classic.wait_s("WRITELOG"), classic.elapsed_s)
        ));
    }
    let gate = of("native, packet gate, a row a transaction");
    if let (Some(classic), Some(gate)) = (classic, gate) {
        out.push(format!(
            "With the packet gate the fully durable loop is {:.1} times as fast as with the classic wait: the reply waits for the log once, not every row.",
            times(classic.elapsed_s, gate.elapsed_s)
        ));
    }
    if let (Some(gate), Some(delayed)) = (gate, of("native, delayed, a row a transaction")) {
        out.push(format!(
            "Full durability behind the gate takes {:.2} times as long as delayed durability, which may lose the end on a crash.",
            times(gate.elapsed_s, delayed.elapsed_s)
        ));
    }
    if let (Some(one), Some(all)) = (classic, of("2014, classic wait, one transaction")) {
        out.push(format!(
            "One transaction around the classic loop makes it {:.1} times as fast (a reader of the article asked): one wait instead of one a row.",
            times(one.elapsed_s, all.elapsed_s)
        ));
    }
    let procedure = of("2014, classic wait, a row a transaction, procedure");
    if let (Some(batch), Some(procedure)) = (classic, procedure) {
        out.push(format!(
            "As a stored procedure the classic loop takes {:.2} times as long as a batch (a reader asked): both run a compiled plan, and wait for the same log.",
            times(procedure.elapsed_s, batch.elapsed_s)
        ));
    }
    out
}
