//! What a commit costs: a million rows inserted one by one, in batches and in one transaction, with every way to wait.

use crate::embedded::Settings;
use crate::experiment::{Commit, Experiment, Published, Trial, Work, scaled, times};
use crate::record::{Claim, Figure, Outcome};
use crate::spread::Ratio;
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
    claims,
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

fn claims(outcome: &Outcome) -> Vec<Claim> {
    let ratio = ratio(outcome, CLASSIC, "2014, delayed, a row a transaction");
    let claim = "a loop of INSERTs: full durability against delayed durability";
    vec![Published::Ratio(360.0 / 27.0).compare(claim, ratio, true)]
}

const CLASSIC: &str = "2014, classic wait, a row a transaction";
const GATE: &str = "native, packet gate, a row a transaction";

/// The time of one trial by another's.
fn ratio(outcome: &Outcome, a: &str, b: &str) -> Option<Ratio> {
    let of = |name: &str| outcome.trials.iter().find(|t| t.name == name);
    Ratio::of_times(of(a)?, of(b)?)
}

fn findings(outcome: &Outcome) -> Vec<String> {
    let ratio = |a: &str, b: &str| ratio(outcome, a, b);
    let mut out = Vec::new();
    if let Some(faster) = ratio(CLASSIC, "2014, delayed, a row a transaction") {
        let classic = outcome.trials.iter().find(|t| t.name == CLASSIC);
        let waiting = classic.map_or(0.0, |t| times(t.wait_s("WRITELOG"), t.elapsed_s));
        out.push(format!(
            "The loop with delayed durability against the classic wait: {}; {:.0} % of the classic loop is WRITELOG.",
            faster.times_as_fast(),
            100.0 * waiting
        ));
    }
    if let Some(faster) = ratio(CLASSIC, GATE) {
        out.push(format!(
            "The fully durable loop with the packet gate against the classic wait: {}. The reply waits for the log once, not every row.",
            faster.times_as_fast()
        ));
    }
    if let Some(slower) = ratio(GATE, "native, delayed, a row a transaction") {
        out.push(format!(
            "Full durability behind the gate against delayed durability, which may lose the end on a crash: {}.",
            slower.times_the_time()
        ));
    }
    if let Some(faster) = ratio(CLASSIC, "2014, classic wait, one transaction") {
        out.push(format!(
            "One transaction around the classic loop against a transaction a row (a reader of the article asked): {}.",
            faster.times_as_fast()
        ));
    }
    if let Some(slower) = ratio(
        "2014, classic wait, a row a transaction, procedure",
        CLASSIC,
    ) {
        out.push(format!(
            "The classic loop as a stored procedure against a batch (a reader asked): {}. Both run a compiled plan, and wait for the same log.",
            slower.times_the_time()
        ));
    }
    out
}
