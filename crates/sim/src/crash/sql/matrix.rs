//! How often which kind of statement came to which end.

use super::kinds;

/// How the transaction of a statement ended; where power failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ending {
    Commit,
    Rollback,
    Savepoint,
    XactAbort,
    Caught,
    Deadlock,
    Attention,
    Kill,
    Disconnect,
    /// Power failed while the transaction was open.
    CrashBefore,
    /// While the statement that commits ran.
    CrashInside,
    /// When it had just been committed.
    CrashAfter,
    /// In a recovery that had it to repeat or to undo.
    CrashInRecovery,
}

/// With the headings of the table.
pub const ENDINGS: [(Ending, &str); 13] = [
    (Ending::Commit, "commit"),
    (Ending::Rollback, "rollback"),
    (Ending::Savepoint, "savept"),
    (Ending::XactAbort, "xactab"),
    (Ending::Caught, "caught"),
    (Ending::Deadlock, "deadlk"),
    (Ending::Attention, "attent"),
    (Ending::Kill, "kill"),
    (Ending::Disconnect, "discon"),
    (Ending::CrashBefore, "before"),
    (Ending::CrashInside, "inside"),
    (Ending::CrashAfter, "after"),
    (Ending::CrashInRecovery, "recov"),
];

#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// By kind and ending.
    cells: Vec<[u64; ENDINGS.len()]>,
}

impl Matrix {
    pub fn count(&mut self, kinds: &[usize], ending: Ending) {
        self.cells.resize(kinds::KINDS.len(), [0; ENDINGS.len()]);
        for k in kinds {
            self.cells[*k][ending as usize] += 1;
        }
    }

    pub fn add(&mut self, other: &Matrix) {
        self.cells.resize(kinds::KINDS.len(), [0; ENDINGS.len()]);
        for (mine, others) in self.cells.iter_mut().zip(&other.cells) {
            for (m, o) in mine.iter_mut().zip(others) {
                *m += o;
            }
        }
    }

    fn cell(&self, kind: usize, ending: usize) -> u64 {
        self.cells.get(kind).map_or(0, |c| c[ending])
    }

    /// The table; `-` where a cell is impossible.
    pub fn show(&self) -> String {
        let mut out = format!("{:<34}", "statement");
        for (_, name) in ENDINGS {
            out += &format!("{name:>9}");
        }
        for (k, kind) in kinds::KINDS.iter().enumerate() {
            out += &format!("\n{:<34}", kind.name);
            if let kinds::Cover::Not(reason) = kind.cover {
                out += &format!("  {reason}");
                continue;
            }
            for (e, (ending, _)) in ENDINGS.iter().enumerate() {
                let cell = self.cell(k, e);
                out += &match kind.impossible(*ending) {
                    Some(_) if cell == 0 => format!("{:>9}", "-"),
                    _ => format!("{cell:>9}"),
                };
            }
        }
        out
    }

    /// Cells that were hit less often than this and are possible.
    pub fn thin(&self, least: u64) -> Vec<String> {
        let mut out = Vec::new();
        for (k, kind) in kinds::KINDS.iter().enumerate() {
            for (e, (ending, name)) in ENDINGS.iter().enumerate() {
                let cell = self.cell(k, e);
                if cell < least && kind.impossible(*ending).is_none() {
                    out.push(format!("{} / {name}: {cell}", kind.name));
                }
            }
        }
        out
    }
}
