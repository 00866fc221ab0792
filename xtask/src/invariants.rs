//! The numbered invariants in the heads of modules: each says what holds it.
//!
//! An item ends with `[assert: name/number]`, the beginning of an assertion's message, with `[test: name]`, a test's function,
//! or with `[golden: name]`, a script below `tests/golden`; several are allowed. There is no item that names nothing.
//!
//! A numbered list in a head that does not say "Invariants" is one nobody looks at: it has a row in `OTHER_LISTS`, which says
//! what it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::record::{self, Figure};
use crate::reliability::{ASSERTIONS, INVARIANTS};
use crate::root;

/// One numbered invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invariant {
    pub file: PathBuf,
    pub number: usize,
    pub text: String,
}

/// What is said to hold an invariant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holder {
    Assert(String),
    Test(String),
    Golden(String),
}

impl Invariant {
    pub fn holders(&self) -> Vec<Holder> {
        let mut rest = self.text.as_str();
        let mut all = Vec::new();
        while let Some(start) = rest.find('[') {
            rest = &rest[start + 1..];
            let Some(end) = rest.find(']') else { break };
            for part in rest[..end].split(';') {
                match part.trim().split_once(": ") {
                    Some(("assert", name)) => all.push(Holder::Assert(name.to_owned())),
                    Some(("test", name)) => all.push(Holder::Test(name.to_owned())),
                    Some(("golden", name)) => all.push(Holder::Golden(name.to_owned())),
                    _ => {}
                }
            }
        }
        all
    }
}

/// Every source file of the rooms.
pub fn sources() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    collect(&root().join("crates"), &mut all);
    all
}

fn collect(dir: &Path, into: &mut Vec<(PathBuf, String)>) {
    let mut entries: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) => entries.flatten().map(|e| e.path()).collect(),
        Err(_) => return,
    };
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs")
            && let Ok(text) = fs::read_to_string(&path)
        {
            into.push((path, text));
        }
    }
}

/// The invariants of one file's head.
pub fn invariants_of(file: &Path, text: &str) -> Vec<Invariant> {
    let head: Vec<&str> = text
        .lines()
        .map_while(|l| l.strip_prefix("//!"))
        .map(str::trim)
        .collect();
    let Some(start) = head.iter().position(|l| l.contains("Invariants")) else {
        return Vec::new();
    };
    let mut all: Vec<Invariant> = Vec::new();
    let first = head[start]
        .split_once("Invariants")
        .map_or("", |(_, rest)| rest);
    let mut lines = vec![first.trim_start_matches(':').trim()];
    lines.extend(&head[start + 1..]);
    for line in lines {
        // A blank line behind the last item ends the list.
        if line.is_empty() && !all.is_empty() {
            break;
        }
        for piece in pieces(line) {
            match numbered(&piece) {
                Some((number, text)) if number == all.len() + 1 => all.push(Invariant {
                    file: file.to_owned(),
                    number,
                    text,
                }),
                _ => {
                    if let Some(last) = all.last_mut() {
                        last.text.push(' ');
                        last.text.push_str(&piece);
                    }
                }
            }
        }
    }
    all
}

/// How many numbered lists of two items or more a file's head has beside its invariants.
#[cfg(test)]
fn other_lists(file: &Path, text: &str) -> usize {
    let head = text.lines().map_while(|l| l.strip_prefix("//!"));
    let numbers: Vec<usize> = head
        .flat_map(|l| {
            pieces(
                l.split_once("Invariants")
                    .map_or(l, |(_, rest)| rest)
                    .trim(),
            )
        })
        .filter_map(|p| numbered(p.trim_start_matches([':', ' '])).map(|(n, _)| n))
        .collect();
    let lists = numbers.windows(2).filter(|w| *w == [1, 2]).count();
    lists - usize::from(invariants_of(file, text).len() > 1)
}

/// A line cut before each `(2)` and each `; 2. `, as short lists have them.
fn pieces(line: &str) -> Vec<String> {
    let mut cuts = vec![0];
    for (at, _) in line.match_indices('(').chain(line.match_indices("; ")) {
        let at = if line[at..].starts_with(';') {
            at + 2
        } else {
            at
        };
        if numbered(&line[at..]).is_some() {
            cuts.push(at);
        }
    }
    cuts.sort_unstable();
    cuts.push(line.len());
    cuts.windows(2)
        .map(|w| line[w[0]..w[1]].trim().to_owned())
        .filter(|p| !p.is_empty())
        .collect()
}

/// `1. text` or `(1) text`.
fn numbered(line: &str) -> Option<(usize, String)> {
    let (number, rest) = match line.strip_prefix('(') {
        Some(inside) => inside.split_once(") ")?,
        None => line.split_once(". ")?,
    };
    Some((number.parse().ok()?, rest.to_owned()))
}

/// Assertions outside tests in the rooms of the engine, each with a message: `debug_assert!` and `assert!`, `_eq` and `_ne`.
fn assertions(sources: &[(PathBuf, String)]) -> usize {
    const ROOMS: [&str; 15] = [
        "format", "backup", "check", "pool", "storage", "txn", "wal", "access", "program", "core",
        "define", "events", "admin", "inspect", "session",
    ];
    const FORMS: [&str; 5] = [
        "debug_assert!(",
        "debug_assert_eq!(",
        "debug_assert_ne!(",
        "assert!(",
        "assert_eq!(",
    ];
    let own = |file: &Path| {
        let path = file.to_string_lossy().replace('\\', "/");
        let of_engine = ROOMS
            .iter()
            .any(|room| path.contains(&format!("crates/{room}/src/")));
        of_engine
            && !["tests", "model.rs", "planted"]
                .iter()
                .any(|test| path.contains(test))
    };
    let of_file = |text: &str| {
        let code = text.split("#[cfg(test)]\nmod tests {").next();
        let lines = code.unwrap_or_default().lines().map(str::trim_start);
        lines
            .filter(|line| FORMS.iter().any(|form| line.starts_with(form)))
            .count()
    };
    let counted = sources.iter().filter(|(file, _)| own(file));
    counted.map(|(_, text)| of_file(text)).sum()
}

/// `cargo xtask invariants [--record on]`: how many there are.
pub fn run(args: &[&str]) -> ExitCode {
    record::chore("invariants", args, |words| {
        if let Some(word) = words.first() {
            return Err(format!("unknown option '{word}'"));
        }
        let sources = sources();
        let all: Vec<Invariant> = sources
            .iter()
            .flat_map(|(file, text)| invariants_of(file, text))
            .collect();
        let held = all.iter().filter(|one| !one.holders().is_empty()).count();
        let counted = [
            (ASSERTIONS, assertions(&sources).to_string()),
            (INVARIANTS, format!("{held} of {}", all.len())),
        ];
        let figures = counted.map(|(what, figure)| {
            println!("{what}: {figure}");
            Figure {
                what: what.to_owned(),
                figure,
                command: None,
            }
        });
        Ok((held == all.len(), figures.into()))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::reliability;

    /// Numbered lists that are no invariants of the code below them, and what they are.
    const OTHER_LISTS: &[(&str, &str)] = &[
        ("crates/catalog/src/system_write.rs", "steps of a write"),
        (
            "crates/duramen/tests/it/isolation.rs",
            "what a test looks at",
        ),
        ("crates/duramen/tests/it/ledger.rs", "what a test looks at"),
        ("crates/os/src/sim.rs", "rules for code that is simulated"),
        ("crates/os/src/stack.rs", "two ways to bound a walk"),
        (
            "crates/events/src/xe/room.rs",
            "why nobody waits for ever: an argument over other rooms",
        ),
        ("crates/sim/src/crash/backups.rs", "what a run asserts"),
        ("crates/sim/src/crash/sql/hear.rs", "an order of judging"),
        ("crates/sim/src/crash/sql.rs", "what a run asserts"),
        ("crates/sim/src/crash.rs", "what a run asserts"),
        ("crates/backup/src/lib.rs", "steps of a backup"),
        (
            "crates/backup/src/pages.rs",
            "an argument why restored pages are right",
        ),
        ("crates/backup/src/units.rs", "what a form of media is"),
        ("crates/check/src/snapshot.rs", "steps of a check"),
        ("crates/check/src/lib.rs", "how findings are judged"),
        (
            "crates/storage/src/files/raise.rs",
            "why marks are raised when and where they are",
        ),
        ("crates/wal/src/log/verify.rs", "what a check looks for"),
    ];

    #[test]
    fn every_invariant_names_what_holds_it() {
        let sources = sources();
        let mut tests = BTreeSet::new();
        let mut whole = String::new();
        for (_, text) in &sources {
            for line in text.lines() {
                // Those that planted bugs are found by are visible beyond their file.
                if let Some((before, rest)) = line.trim_start().split_once("fn ")
                    && (before.is_empty() || before.starts_with("pub"))
                    && let Some((name, _)) = rest.split_once('(')
                {
                    tests.insert(name.to_owned());
                }
            }
            whole.push_str(text);
        }
        let (mut unheld, mut wrong, mut lists) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (file, text) in &sources {
            for invariant in invariants_of(file, text) {
                lists.insert(invariant.file.clone());
                let place = format!("{}: {}", invariant.file.display(), invariant.number);
                let holders = invariant.holders();
                if holders.is_empty() {
                    unheld.push(place.clone());
                }
                for holder in holders {
                    let is_there = match &holder {
                        Holder::Assert(name) => whole.contains(&format!("\"{name}: ")),
                        Holder::Test(name) => tests.contains(name),
                        Holder::Golden(name) => {
                            root().join(format!("tests/golden/{name}.slt")).exists()
                        }
                    };
                    if !is_there {
                        wrong.push(format!("{place}: {holder:?} is not in the tree"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        assert!(
            lists.len() >= 45,
            "{} lists of invariants are found",
            lists.len()
        );
        assert!(
            unheld.is_empty(),
            "{} invariants say not what holds them:\n{}",
            unheld.len(),
            unheld.join("\n")
        );
    }

    #[test]
    fn numbered_lists_are_invariants_or_named() {
        let mut wrong = Vec::new();
        let mut seen = BTreeSet::new();
        for (file, text) in sources() {
            let path = file.strip_prefix(root()).unwrap_or(&file);
            let path = path.to_string_lossy().replace('\\', "/");
            if other_lists(&file, &text) == 0 {
                continue;
            }
            match OTHER_LISTS.iter().find(|(other, _)| *other == path) {
                Some((other, _)) => _ = seen.insert(*other),
                None => wrong.push(format!("{path} has a list that does not say what it is")),
            }
        }
        let unused = OTHER_LISTS.iter().filter(|(p, _)| !seen.contains(p));
        wrong.extend(unused.map(|(p, _)| format!("{p} has no list any more")));
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// The page of figures says how many there were; the number may rise.
    #[test]
    fn assertions_do_not_get_fewer() {
        let count = assertions(&sources());
        let rows = reliability::read().unwrap();
        let recorded = rows.iter().find(|row| row.what == ASSERTIONS);
        let recorded = recorded.expect("run: cargo xtask invariants --record on");
        let before: usize = recorded.figure.parse().unwrap();
        assert!(
            before > 0 && count >= before,
            "{count} assertions, where there were {before}"
        );
    }

    #[test]
    fn lists_beside_the_invariants_are_seen() {
        let of = |text: &str| other_lists(Path::new("x.rs"), text);
        assert_eq!(of("//! So:\n//! 1. One.\n//! 2. Two.\n"), 1);
        assert_eq!(of("//! What is promised: (1) one; (2) two.\n"), 1);
        assert_eq!(of("//! Invariants\n//! 1. One.\n//! 2. Two.\n"), 0);
        assert_eq!(of("//! Invariants: 1. one; 2. two\n"), 0);
        let both = "//! Invariants: (1) one; (2) two.\n//!\n//! 1. A step.\n//! 2. Another.\n";
        assert_eq!(of(both), 1);
        assert_eq!(of("//! 1. Alone.\n"), 0);
        assert_eq!(of("//! A head.\n\nmod a; // 1. x; 2. y\n"), 0);
    }

    #[test]
    fn assertions_of_the_engine_itself_are_counted() {
        let code = "    debug_assert!(a, \"x\");\nassert_eq!(\n// assert!(\n#[cfg(test)]\nmod tests {\n    assert!(b);\n";
        let at = |path: &str| assertions(&[(path.into(), code.to_owned())]);
        assert_eq!(at("crates/wal/src/x.rs"), 2);
        assert_eq!(at("crates/wal/src/tests/x.rs"), 0);
        assert_eq!(at("crates/tds/src/x.rs"), 0);
    }

    #[test]
    fn lists_of_all_forms_are_read() {
        let of = |text: &str| {
            let all = invariants_of(Path::new("x.rs"), text);
            all.iter()
                .map(|i| (i.number, i.holders().len()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(
                "//! Invariants\n//! 1. One,\n//!    longer. [test: a]\n//! 2. Two.\n//!\n//! 3. None.\n"
            ),
            [(1, 1), (2, 0)]
        );
        assert_eq!(
            of(
                "//! Invariants: (1) one [assert: m/1]; (2) two,\n//! (3) three [assert: m/3; test: b]\n"
            ),
            [(1, 1), (2, 0), (3, 2)]
        );
        assert_eq!(of("//! Invariants: 1. one; 2. two\n"), [(1, 0), (2, 0)]);
    }
}
