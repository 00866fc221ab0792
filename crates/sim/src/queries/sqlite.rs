//! SQLite as a child process: Python's own module, one statement a line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::world::Rows;

/// Reads a statement a line; answers with its rows, each after a space, and a dot; or with `!` and the error.
const PROGRAM: &str = r#"
import sqlite3, sys
db = sqlite3.connect(":memory:", isolation_level=None)
db.execute("PRAGMA case_sensitive_like = ON")
for line in sys.stdin:
    try:
        rows = db.execute(line).fetchall()
        out = "".join(" " + "\x1f".join("\0" if v is None else str(v) for v in r) + "\n" for r in rows) + ".\n"
    except sqlite3.Error as e:
        out = "!" + str(e).replace("\n", " ") + "\n"
    sys.stdout.write(out)
    sys.stdout.flush()
"#;

pub struct Sqlite {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Sqlite {
    /// `None` where there is no Python with SQLite.
    pub fn start() -> Option<Sqlite> {
        let mut child = Command::new("python3")
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (input, output) = (child.stdin.take(), child.stdout.take()?);
        let mut other = Sqlite {
            child,
            input,
            output: BufReader::new(output),
        };
        // RIGHT and FULL JOIN came with 3.39.
        let works = other
            .ask("SELECT 1 FROM (SELECT 1 AS x) AS a FULL JOIN (SELECT 1 AS x) AS b ON a.x = b.x");
        works.is_ok().then_some(other)
    }

    /// The rows of a statement, or its error.
    pub fn ask(&mut self, sql: &str) -> Result<Rows, String> {
        let line = sql.replace('\n', " ") + "\n";
        let input = self.input.as_mut().ok_or("closed")?;
        input
            .write_all(line.as_bytes())
            .and_then(|()| input.flush())
            .map_err(|e| e.to_string())?;
        let mut rows = Rows::new();
        loop {
            let mut line = String::new();
            if self
                .output
                .read_line(&mut line)
                .map_err(|e| e.to_string())?
                == 0
            {
                return Err("SQLite has gone".to_owned());
            }
            let line = line.trim_end_matches('\n');
            if line == "." {
                return Ok(rows);
            }
            if let Some(error) = line.strip_prefix('!') {
                return Err(error.to_owned());
            }
            let fields = line.strip_prefix(' ').unwrap_or(line).split('\x1f');
            let field = |f: &str| (f != "\0").then(|| f.to_owned());
            rows.push(fields.map(field).collect());
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}
