//! What the documentation says, as `tests/rights.tsv` has it, and golden scripts of what came later: a line that begins with
//! `# right: ` has the same fields.

use std::path::Path;

/// A line of the table.
pub struct Line {
    pub kind: String,
    pub name: String,
    pub rights: Vec<String>,
    pub of: Vec<String>,
}

/// A file of the directory `tests`, without its comments, a line in its fields.
#[allow(clippy::disallowed_methods, reason = "the table lies on the real disk")]
pub fn fields(file: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let text = std::fs::read_to_string(path.join(file)).expect("the table");
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    lines
        .map(|l| l.split('\t').map(str::to_owned).collect())
        .collect()
}

/// What begins a line of the table in a golden script.
const IN_SCRIPT: &str = "# right: ";

/// The lines in golden scripts.
#[allow(
    clippy::disallowed_methods,
    reason = "the scripts lie on the real disk"
)]
fn in_scripts() -> Vec<Vec<String>> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut all = Vec::new();
    for script in std::fs::read_dir(scripts).expect("the scripts").flatten() {
        let text = std::fs::read_to_string(script.path()).unwrap_or_default();
        let lines = text.lines().filter_map(|l| l.strip_prefix(IN_SCRIPT));
        all.extend(lines.map(|l| l.split('\t').map(str::to_owned).collect()));
    }
    all
}

/// The text that tries a statement, where its line in a golden script has one behind the source.
pub fn probe_of_statement(name: &str) -> Option<String> {
    let mut lines = in_scripts().into_iter();
    let line = lines.find(|l| l[0] == "statement" && l[1] == name)?;
    line.get(5).cloned()
}

/// The lines of the table, and those in golden scripts.
fn lines() -> Vec<Line> {
    let mut all = fields("rights.tsv");
    all.extend(in_scripts());
    all.iter().map(|l| line(l)).collect()
}

fn line(fields: &[String]) -> Line {
    let ([kind, name, right, of, source] | [kind, name, right, of, source, _]) = fields else {
        panic!("a line of five fields, or of a probe behind them: {fields:?}");
    };
    assert!(!source.is_empty(), "{name} has no source");
    let parts = |s: &str| match s.starts_with("sysadmin") {
        true => vec![s.to_owned()],
        false => s.split(" or ").map(str::to_owned).collect(),
    };
    Line {
        kind: kind.clone(),
        name: name.clone(),
        rights: parts(right),
        of: parts(of),
    }
}

/// The lines of rows.
pub fn table() -> Vec<Line> {
    let mut lines = lines();
    lines.retain(|l| l.kind != "within");
    lines
}

/// What is asked within a row that asks for nothing itself, by the statement that it runs or the object that it reads.
pub fn within() -> Vec<Line> {
    let mut lines = lines();
    lines.retain(|l| l.kind == "within");
    lines
}

/// Rights on an object that a chain of ownership gives.
const CHAINED: &[&str] = &["SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE"];

impl Line {
    pub fn is_public(&self) -> bool {
        self.rights == ["none"]
    }

    /// Nobody may: it is not here.
    pub fn is_refused(&self) -> bool {
        self.rights == ["refused"]
    }

    pub fn is_of_server(&self) -> bool {
        self.of.iter().all(|o| o == "the server")
    }

    /// "Ownership chains": only what reads and changes rows or executes, of an object that a statement names. Definitions
    /// and the rights of databases and of the server are asked of the caller.
    pub fn is_chained(&self) -> bool {
        self.of == ["the object it names"]
            && self.rights.iter().all(|r| CHAINED.contains(&r.as_str()))
    }
}
