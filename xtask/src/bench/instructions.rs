//! `cargo xtask bench --against BINARY --only instructions`: what a statement or a row costs on both builds, counted.
//!
//! Where the CPU decides, a machine's noise is larger than what one change costs, and instructions are the same whoever else
//! runs. The servers run under callgrind, which counts while a worker is inside of `request::run`: threads that write, clean
//! and watch are no part of it, nor are those that help (MAXDOP 1). Each load runs once so many times and once twice as often; the difference is what its
//! repetitions cost, without its login, its text and its plan. Both binaries need their symbols
//! (`CARGO_PROFILE_RELEASE_STRIP=none`).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::median;
use crate::server::Server;
use crate::sql::Sql;

/// How long a server may take to start, at a fiftieth of its speed.
const PATIENCE: Duration = Duration::from_secs(300);

/// Rows of `many`.
const ROWS: usize = 20_000;

/// One line of the table.
struct Load {
    name: &'static str,
    /// Before each run.
    before: &'static str,
    /// What is repeated.
    text: Text,
    /// How often, the first time.
    times: usize,
    /// What a repetition's cost is divided by: its rows, or 1.
    of: usize,
}

enum Text {
    /// Statements in a loop of the server's, in which `@i` counts.
    Loop(&'static str),
    /// One batch after the other, the same each time.
    Batch(&'static str),
    /// One batch after the other, each with another number where `#` stands: none was seen before.
    New(&'static str),
}

const SETUP: &str = "\
CREATE DATABASE counted; ALTER DATABASE counted SET DELAYED_DURABILITY = FORCED";

const TABLES: &str = "\
SET NOCOUNT ON;
CREATE TABLE narrow (id int IDENTITY(1,1), word varchar(50), number int);
CREATE CLUSTERED INDEX narrow_id ON narrow (id);
CREATE INDEX narrow_number ON narrow (number);
CREATE TABLE keyed (id int NOT NULL PRIMARY KEY, number int NOT NULL, word varchar(50) NOT NULL);
INSERT keyed SELECT value, value * 7 % 1000, CONCAT('word ', value) FROM GENERATE_SERIES(1, 1000);
CREATE TABLE many (id int NOT NULL PRIMARY KEY, number int NOT NULL, part int NOT NULL, word varchar(50) NOT NULL);
INSERT many SELECT value, value * 7919 % 20011, value % 100, CONCAT('word ', value * 7919 % 20011) FROM GENERATE_SERIES(1, 20000);
CREATE TABLE empty (id int NOT NULL PRIMARY KEY, number int, part int, word varchar(50))";

const fn in_a_loop(name: &'static str, text: &'static str, times: usize) -> Load {
    Load {
        name,
        before: "",
        text: Text::Loop(text),
        times,
        of: 1,
    }
}

const fn of_rows(name: &'static str, text: &'static str) -> Load {
    Load {
        name,
        before: "",
        text: Text::Loop(text),
        times: 2,
        of: ROWS,
    }
}

const LOADS: [Load; 14] = [
    in_a_loop("loop: SET", "SET @v = @v + @i", 20_000),
    in_a_loop(
        "loop: text",
        "SET @s = CONCAT(LEFT(@s, 20), CHAR(65 + @i % 26))",
        5_000,
    ),
    Load {
        before: "TRUNCATE TABLE narrow; CHECKPOINT",
        ..in_a_loop(
            "loop: INSERT",
            "INSERT narrow (word, number) VALUES ('a word', @i)",
            4_000,
        )
    },
    in_a_loop(
        "loop: point SELECT",
        "SELECT @v = number FROM keyed WHERE id = @i % 1000 + 1",
        2_000,
    ),
    in_a_loop(
        "loop: UPDATE by key",
        "UPDATE keyed SET number = number + 1 WHERE id = @i % 1000 + 1",
        1_000,
    ),
    in_a_loop(
        "loop: DELETE and INSERT",
        "DELETE keyed WHERE id = @i % 1000 + 1; INSERT keyed VALUES (@i % 1000 + 1, @i, 'a word')",
        1_500,
    ),
    of_rows(
        "scan with a filter, a row",
        "SELECT @v = COUNT(*) FROM many WHERE number < 500 AND part > 3 OPTION (MAXDOP 1)",
    ),
    of_rows(
        "scan and GROUP BY, a row",
        "SELECT @v = MAX(n) FROM (SELECT part, COUNT(*) AS n, SUM(number) AS s FROM many GROUP BY part) g OPTION (MAXDOP 1)",
    ),
    of_rows(
        "hash join, a row",
        "SELECT @v = COUNT(*) FROM many a JOIN many b ON a.number = b.number WHERE a.part < 50 OPTION (MAXDOP 1)",
    ),
    of_rows(
        "sort, a row",
        "SELECT @s = word FROM many ORDER BY word, number OPTION (MAXDOP 1)",
    ),
    of_rows(
        "LIKE, a row",
        "SELECT @v = COUNT(*) FROM many WHERE word LIKE '%d 1%9_' OPTION (MAXDOP 1)",
    ),
    Load {
        name: "point SELECT over the wire",
        before: "",
        text: Text::Batch(
            "EXEC sp_executesql N'SELECT number FROM keyed WHERE id = @p', N'@p int', 17",
        ),
        times: 300,
        of: 1,
    },
    Load {
        name: "point SELECT, each a new text",
        before: "",
        text: Text::New("SELECT number AS n# FROM keyed WHERE id = 17"),
        times: 100,
        of: 1,
    },
    Load {
        name: "compile: three tables, no row",
        before: "",
        text: Text::New(
            "SELECT a.part AS n#, COUNT(*), SUM(b.number) FROM empty a JOIN empty b ON a.id = b.number \
             LEFT JOIN empty c ON c.id = b.part WHERE a.number BETWEEN 3 AND 9 AND b.word LIKE 'w%' \
             GROUP BY a.part HAVING COUNT(*) > 1 ORDER BY 2 DESC",
        ),
        times: 50,
        of: 1,
    },
];

/// A server under callgrind.
struct Counted {
    server: Server,
    /// Its dumps are files that begin like this, with the number of the dump behind.
    out: PathBuf,
    /// Dumps so far.
    dumps: usize,
    /// Numbers for texts that nobody has sent.
    texts: usize,
}

impl Counted {
    fn start(binary: &Path, home: &Path) -> Result<Counted, String> {
        let _ = std::fs::remove_dir_all(home);
        std::fs::create_dir_all(home).map_err(|e| e.to_string())?;
        let out = home.join("counted");
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--tool=callgrind", "--collect-atstart=no"])
            .args([
                "--instr-atstart=no",
                "--toggle-collect=duramen_server::request::run*",
            ])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(format!("--vgdb-prefix={}", home.join("vgdb").display()))
            .arg(binary);
        let server = Server::start_command(&mut command, &home.join("data"), &[], PATIENCE)?;
        let counted = Counted {
            server,
            out,
            dumps: 0,
            texts: 0,
        };
        counted.sql().query("master", SETUP)?;
        counted.sql().query("counted", TABLES)?;
        counted.control(&["--instr=on"])?;
        Ok(counted)
    }

    fn sql(&self) -> Sql {
        Sql {
            port: self.server.port,
        }
    }

    fn control(&self, what: &[&str]) -> Result<(), String> {
        let mut command = Command::new("callgrind_control");
        let pipes = self.out.with_file_name("vgdb");
        command
            .arg(format!("--vgdb-prefix={}", pipes.display()))
            .args(what)
            .arg(self.server.pid().to_string());
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("callgrind_control: {e}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// The instructions since the last time.
    fn count(&mut self) -> Result<f64, String> {
        self.control(&["--dump"])?;
        self.dumps += 1;
        let file = PathBuf::from(format!("{}.{}", self.out.display(), self.dumps));
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let _ = std::fs::remove_file(&file);
        let total = text.lines().find_map(|l| {
            let rest = l
                .strip_prefix("summary:")
                .or_else(|| l.strip_prefix("totals:"))?;
            rest.trim().parse().ok()
        });
        total.ok_or_else(|| format!("{}: no total", file.display()))
    }

    /// Runs a load so often.
    fn run(&mut self, load: &Load, times: usize) -> Result<(), String> {
        if !load.before.is_empty() {
            self.sql().query("counted", load.before)?;
        }
        let file = self.out.with_extension("sql");
        std::fs::write(&file, load.text.script(times, self.texts)).map_err(|e| e.to_string())?;
        self.texts += times;
        crate::sql::finish(&mut self.sql().script("counted", &file, &[])).map(drop)
    }

    /// What one repetition costs.
    fn cost(&mut self, load: &Load) -> Result<f64, String> {
        let mut costs = [0.0; 2];
        for (cost, times) in costs.iter_mut().zip([load.times, load.times * 2]) {
            self.count()?;
            self.run(load, times)?;
            *cost = self.count()?;
        }
        let cost = (costs[1] - costs[0]) / (load.times * load.of) as f64;
        match cost > 0.0 {
            true => Ok(cost),
            false => Err(format!(
                "{}: nothing was counted; has the binary its symbols?",
                load.name
            )),
        }
    }
}

impl Text {
    fn script(&self, times: usize, first: usize) -> String {
        match self {
            Text::Loop(text) => format!(
                "SET NOCOUNT ON; DECLARE @i int = 0, @v int = 0, @s varchar(100) = '';
                 WHILE @i < {times} BEGIN {text}; SET @i = @i + 1 END"
            ),
            Text::Batch(text) => format!("{text}\nGO\n").repeat(times),
            Text::New(text) => (first..first + times)
                .map(|n| format!("{}\nGO\n", text.replace('#', &n.to_string())))
                .collect(),
        }
    }
}

/// The table, `rounds` times counted on each of the two builds.
pub fn figures(dir: &Path, both: [&Path; 2], rounds: usize) -> Result<String, String> {
    let homes = [dir.join("counted-other"), dir.join("counted-this")];
    let mut servers = [
        Counted::start(both[0], &homes[0])?,
        Counted::start(both[1], &homes[1])?,
    ];
    let mut out = String::from(
        "Instructions of a statement or a row, medians\n\n| what | before | now | change |\n|---|---:|---:|---:|\n",
    );
    for load in &LOADS {
        let mut costs = [Vec::new(), Vec::new()];
        // The first time brings plans, pages and statistics.
        for server in &mut servers {
            server.run(load, load.times)?;
        }
        for _ in 0..rounds {
            for (server, costs) in servers.iter_mut().zip(&mut costs) {
                costs.push(server.cost(load)?);
            }
        }
        let [before, now] = costs.map(|all| median(&all));
        let change = (now / before - 1.0) * 100.0;
        println!("{}: {before:.0}, {now:.0}: {change:+.1} %", load.name);
        let _ = writeln!(
            out,
            "| {} | {before:.0} | {now:.0} | {change:+.1} % |",
            load.name
        );
    }
    for (server, home) in servers.into_iter().zip(&homes) {
        server.server.kill();
        let _ = std::fs::remove_dir_all(home);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn new_texts_are_new() {
        let script = Text::New("SELECT #").script(2, 7);
        assert_eq!(script, "SELECT 7\nGO\nSELECT 8\nGO\n");
    }
}
