//! `--record on`: what a run has counted becomes its rows of `docs/reference/reliability.tsv`, and the page with them.
//!
//! Programs and tests print `figure<TAB>what<TAB>figure`, with `<TAB>command` behind where a run has several. Commit and day
//! are those of the run's beginning, and a tree with changes that no commit has is refused: nobody could run that again.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::thread::JoinHandle;

use crate::reliability::{self, Row};
use crate::root;

/// What one run has counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    pub what: String,
    pub figure: String,
    /// The command that counts this and nothing else, where the whole run's counts more.
    pub command: Option<String>,
}

/// Whether a program passed, and the figures that it told.
pub type Ran = (bool, Vec<Figure>);

/// Files that recording itself changes, so that several runs can be recorded one after the other.
const OWN: [&str; 3] = [reliability::ROWS, reliability::PAGE, crate::planted::PAGE];

/// Runs a chore, and records what it counted where `--record` is among its words: by `verb`, the command's first words.
pub fn chore(
    verb: &str,
    words: &[&str],
    run: impl FnOnce(&[&str]) -> Result<Ran, String>,
) -> ExitCode {
    let (words, asked) = asked(words);
    let recorder = match asked.then(Recorder::begin).transpose() {
        Ok(recorder) => recorder,
        Err(why) => return wrong(&why),
    };
    let (passed, figures) = match run(&words) {
        Ok(ran) => ran,
        Err(why) => return wrong(&why),
    };
    let recorded = match recorder {
        Some(recorder) => recorder.put(&figures, &shown(verb, &words)),
        None => Ok(()),
    };
    if let Err(why) = &recorded {
        eprintln!("nothing is recorded: {why}");
    }
    match passed && recorded.is_ok() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn wrong(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

/// The words without `--record on`, and whether it was among them.
pub fn asked<'a>(words: &[&'a str]) -> (Vec<&'a str>, bool) {
    let Some(at) = words.iter().position(|w| *w == "--record") else {
        return (words.to_vec(), false);
    };
    let behind = at + 1 + usize::from(words.get(at + 1) == Some(&"on"));
    ([&words[..at], &words[behind..]].concat(), true)
}

/// The command as the page shows it. A folder is its machine's own affair.
fn shown(verb: &str, words: &[&str]) -> String {
    let mut command = format!("cargo xtask {verb}");
    for (at, word) in words.iter().enumerate() {
        let folder = at > 0 && words[at - 1] == "--dir";
        command.push(' ');
        command.push_str(if folder { "DIR" } else { word });
    }
    command
}

/// The figure that a line tells.
fn figure(line: &str) -> Option<Figure> {
    // It may stand behind the name of its test.
    let mut words = line.split_once("figure\t")?.1.split('\t');
    Some(Figure {
        what: words.next()?.to_owned(),
        figure: words.next()?.trim().to_owned(),
        command: words.next().map(|w| w.trim().to_owned()),
    })
}

/// Starts a program, shows what it prints, and keeps the figures of it.
pub fn start(command: &mut Command) -> io::Result<JoinHandle<Ran>> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let said = child.stdout.take();
    Ok(std::thread::spawn(move || {
        let mut figures = Vec::new();
        for line in said.into_iter().flat_map(|s| BufReader::new(s).lines()) {
            let Ok(line) = line else { break };
            println!("{line}");
            figures.extend(figure(&line));
        }
        (child.wait().is_ok_and(|s| s.success()), figures)
    }))
}

/// The same to its end.
pub fn run(command: &mut Command) -> Ran {
    match start(command) {
        Ok(thread) => thread.join().unwrap_or_default(),
        Err(e) => {
            eprintln!("{command:?}: {e}");
            Ran::default()
        }
    }
}

/// Figures of the same name from programs that shared a run, added number by number. Each must be there as often as there
/// were programs: one that ended early has told nothing.
pub fn added(figures: &[Figure], programs: usize) -> Result<Vec<Figure>, String> {
    let mut sums: Vec<(Figure, usize)> = Vec::new();
    for one in figures {
        match sums.iter_mut().find(|(sum, _)| sum.what == one.what) {
            Some((sum, times)) => {
                let text = sum_of(&sum.figure, &one.figure);
                sum.figure = text.ok_or_else(|| {
                    format!("'{}' and '{}' cannot be added", sum.figure, one.figure)
                })?;
                *times += 1;
            }
            None => sums.push((one.clone(), 1)),
        }
    }
    if sums.iter().any(|(_, times)| *times != programs) {
        return Err("one of the programs has ended early".to_owned());
    }
    Ok(sums.into_iter().map(|(sum, _)| sum).collect())
}

/// `3 crashes, 5 seeds` and `1 crashes, 2 seeds`: `4 crashes, 7 seeds`.
fn sum_of(one: &str, other: &str) -> Option<String> {
    let counts = |text: &str| -> Option<Vec<(u64, String)>> {
        let part = |part: &str| {
            let (count, name) = part.split_once(' ')?;
            Some((count.parse().ok()?, name.to_owned()))
        };
        text.split(", ").map(part).collect()
    };
    let (one, other) = (counts(one)?, counts(other)?);
    if one.len() != other.len() {
        return None;
    }
    let pairs = one.iter().zip(&other);
    let sums = pairs.map(|(a, b)| (a.1 == b.1).then(|| format!("{} {}", a.0 + b.0, a.1)));
    Some(sums.collect::<Option<Vec<_>>>()?.join(", "))
}

/// Where and when a run began.
pub struct Recorder {
    commit: String,
    date: String,
}

impl Recorder {
    /// Before the run; refuses what nobody could run again.
    pub fn begin() -> Result<Recorder, String> {
        let mut status = vec!["status", "--porcelain", "--", "."];
        let own = OWN.map(|file| format!(":(exclude){file}"));
        status.extend(own.iter().map(String::as_str));
        let changed = said("git", &status)?;
        if !changed.is_empty() {
            return Err(format!(
                "only what a commit has is recorded; changed here:\n{changed}"
            ));
        }
        Ok(Recorder {
            commit: said("git", &["rev-parse", "--short", "HEAD"])?,
            date: said("date", &["+%F"])?,
        })
    }

    /// Replaces the rows of these figures.
    pub fn put(&self, figures: &[Figure], command: &str) -> Result<(), String> {
        if figures.is_empty() {
            return Err("the run has told no figure".to_owned());
        }
        let rows = figures.iter().map(|one| Row {
            what: one.what.clone(),
            figure: one.figure.clone(),
            command: one.command.clone().unwrap_or_else(|| command.to_owned()),
            commit: self.commit.clone(),
            date: self.date.clone(),
        });
        reliability::put(rows.collect())
    }
}

/// What a program answers.
pub fn said(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(root())
        .output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()),
        false => Err(format!(
            "{program}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure_of(what: &str, text: &str) -> Figure {
        Figure {
            what: what.to_owned(),
            figure: text.to_owned(),
            command: None,
        }
    }

    #[test]
    fn what_programs_tell_is_read() {
        assert_eq!(
            figure("figure\tcrashes\t3 crashes"),
            Some(figure_of("crashes", "3 crashes"))
        );
        assert_eq!(
            figure("test x ... figure\tkills\t5\n"),
            Some(figure_of("kills", "5"))
        );
        let own = figure("figure\tisolation\t8\tcargo xtask isolation").unwrap();
        assert_eq!(own.command.as_deref(), Some("cargo xtask isolation"));
        assert_eq!(figure("figure\tcrashes"), None);
        assert_eq!(figure("3 crashes"), None);
    }

    #[test]
    fn a_program_is_heard_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "printf 'one\\nfigure\\ta\\t1 b\\n'; exit 3"]);
        assert_eq!(run(&mut command), (false, vec![figure_of("a", "1 b")]));
        assert_eq!(run(&mut Command::new("no such program")), (false, vec![]));
    }

    #[test]
    fn programs_that_shared_a_run_are_added() {
        let two = [
            figure_of("a", "3 crashes, 5 seeds"),
            figure_of("a", "1 crashes, 2 seeds"),
        ];
        assert_eq!(
            added(&two, 2),
            Ok(vec![figure_of("a", "4 crashes, 7 seeds")])
        );
        // The second has ended early, or tells of something else.
        assert!(added(&two[..1], 2).is_err());
        for other in ["1 crashes", "1 kills, 2 seeds", "none"] {
            assert!(
                added(&[two[0].clone(), figure_of("a", other)], 2).is_err(),
                "{other}"
            );
        }
    }

    #[test]
    fn the_word_is_taken_out_and_folders_are_not_shown() {
        assert_eq!(asked(&["--seed", "1"]), (vec!["--seed", "1"], false));
        assert_eq!(
            asked(&["--record", "on", "--seed", "1"]),
            (vec!["--seed", "1"], true)
        );
        assert_eq!(asked(&["--planted", "--record"]), (vec!["--planted"], true));
        assert_eq!(
            shown("ledger", &["--dir", "/mnt/a", "--kills", "5"]),
            "cargo xtask ledger --dir DIR --kills 5"
        );
    }
}
