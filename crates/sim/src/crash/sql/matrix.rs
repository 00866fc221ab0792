//! How often which kind of statement came to which end.

use super::kinds;

/// How the transaction of a statement ended, or the statement itself, or the request that it was on its way in; where power
/// failed.
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
    /// While the request that commits it ran.
    CrashInside,
    /// When it had been committed, and its session had committed nothing since.
    CrashAfter,
    /// In a recovery, cut before its end, that had its commit to repeat: that was logged behind the checkpoint from which the
    /// recovery began. What recoveries undo is no part of this column: nobody knows how much of it was on the disk.
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

/// A kind of statement, by its number, and an end that it may come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    pub kind: usize,
    pub ending: Ending,
}

impl Cell {
    /// As it is shown: `DROP VIEW/kill`.
    pub fn parse(text: &str) -> Option<Cell> {
        let (kind, ending) = text.rsplit_once('/')?;
        let kind = kinds::KINDS.iter().position(|k| k.name == kind)?;
        let ending = ENDINGS.iter().find(|e| e.1 == ending)?.0;
        Some(Cell { kind, ending })
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ending = ENDINGS[self.ending as usize].1;
        write!(f, "{}/{ending}", kinds::KINDS[self.kind].name)
    }
}

/// What the stories of a run are to favour: where it has come the seldomest so far.
#[derive(Default)]
pub struct Steering {
    /// How often a story has favoured a cell and did not come there.
    vain: Vec<[u64; ENDINGS.len()]>,
    /// The cell of the last story, and how often it was hit before.
    last: Option<(Cell, u64)>,
}

impl Steering {
    /// The cell that was hit and tried in vain the seldomest; which of several, `seed` says.
    pub fn next(&mut self, matrix: &Matrix, seed: u64) -> Cell {
        /// Hits that a story in vain stands for: what is not to be had does not take the time of all others.
        const VAIN: u64 = 12;
        self.vain.resize(kinds::KINDS.len(), [0; ENDINGS.len()]);
        let hits = |c: Cell| matrix.cell(c.kind, c.ending as usize);
        if let Some((cell, before)) = self.last
            && hits(cell) == before
        {
            self.vain[cell.kind][cell.ending as usize] += 1;
        }
        let all = kinds::KINDS.iter().enumerate().flat_map(|(kind, k)| {
            let possible = ENDINGS.iter().map(|e| e.0);
            possible
                .filter(|e| k.impossible(*e).is_none())
                .map(move |ending| Cell { kind, ending })
        });
        let weight = |c: &Cell| hits(*c) + VAIN * self.vain[c.kind][c.ending as usize];
        let mut best: Vec<Cell> = Vec::new();
        for cell in all {
            match best.first().map(|b| weight(&cell).cmp(&weight(b))) {
                Some(std::cmp::Ordering::Greater) => {}
                Some(std::cmp::Ordering::Equal) => best.push(cell),
                _ => best = vec![cell],
            }
        }
        let cell = best[(seed.wrapping_mul(0x9e37_79b9) >> 7) as usize % best.len()];
        self.last = Some((cell, hits(cell)));
        cell
    }
}

#[derive(Clone, Debug, Default)]
pub struct Matrix {
    /// By kind and ending.
    cells: Vec<[u64; ENDINGS.len()]>,
}

impl Matrix {
    pub fn count(&mut self, kinds: &[usize], ending: Ending) {
        self.cells.resize(kinds::KINDS.len(), [0; ENDINGS.len()]);
        for k in kinds {
            let kind = &kinds::KINDS[*k];
            // The list of what is impossible cannot lie: a story that proves it wrong is a finding.
            let why = kind.impossible(ending);
            assert_eq!(why, None, "{} has come to {ending:?}", kind.name);
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

    /// The table; `-` where a cell is impossible: nobody has come there, `count` sees to it.
    pub fn show(&self) -> String {
        let mut out = format!("{:<40}", "statement");
        for (_, name) in ENDINGS {
            out += &format!("{name:>9}");
        }
        for (k, kind) in kinds::KINDS.iter().enumerate() {
            out += &format!("\n{:<40}", kind.name);
            if let kinds::Cover::Not(reason) = kind.cover {
                out += &format!("  {reason}");
                continue;
            }
            for (e, (ending, _)) in ENDINGS.iter().enumerate() {
                let cell = self.cell(k, e);
                out += &match kind.impossible(*ending) {
                    Some(_) => format!("{:>9}", "-"),
                    None => format!("{cell:>9}"),
                };
            }
        }
        out
    }

    /// The cells that nobody comes to, by their reason.
    pub fn impossible() -> Vec<String> {
        let name = |e: &kinds::Impossible| {
            let endings = e.endings.iter().map(|e| ENDINGS[*e as usize].1);
            endings.collect::<Vec<_>>().join(", ")
        };
        let row = |r: &kinds::Impossible| format!("impossible: {} / {}: {}", r.of, name(r), r.why);
        kinds::IMPOSSIBLE.iter().map(row).collect()
    }

    /// Kinds that are to be made and were not.
    pub fn unmade(&self) -> Vec<&'static str> {
        let kinds = kinds::KINDS.iter().enumerate();
        let idle = kinds.filter(|(k, kind)| {
            kind.cover.is_made() && (0..ENDINGS.len()).all(|e| self.cell(*k, e) == 0)
        });
        idle.map(|(_, kind)| kind.name).collect()
    }

    /// Cells that were hit less often than this and are possible, and how often.
    pub fn thin(&self, least: u64) -> Vec<(String, u64)> {
        let mut out = Vec::new();
        for (k, kind) in kinds::KINDS.iter().enumerate() {
            for (e, (ending, name)) in ENDINGS.iter().enumerate() {
                let cell = self.cell(k, e);
                if cell < least && kind.impossible(*ending).is_none() {
                    out.push((format!("{} ({}) / {name}", kind.name, kind.row), cell));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing comes twice while something has not been tried, nor what is hit before what is not; what is hit seldom comes
    /// again before what is hit often.
    #[test]
    fn steering_goes_where_it_has_come_the_seldomest() {
        let (mut steering, mut matrix) = (Steering::default(), Matrix::default());
        let mut seen = Vec::new();
        for seed in 0..400 {
            let cell = steering.next(&matrix, seed);
            assert!(!seen.contains(&cell), "{cell}");
            assert_eq!(Cell::parse(&cell.to_string()), Some(cell));
            assert_eq!(kinds::KINDS[cell.kind].impossible(cell.ending), None);
            seen.push(cell);
        }
        let hit = steering.next(&matrix, 400);
        let mut other = Steering::default();
        for _ in 0..100 {
            matrix.count(&[hit.kind], hit.ending);
        }
        assert!((0..400).all(|seed| other.next(&matrix, seed) != hit));
        for (n, kind) in kinds::KINDS.iter().enumerate() {
            let possible = ENDINGS.iter().filter(|e| kind.impossible(e.0).is_none());
            possible.for_each(|e| (0..40).for_each(|_| matrix.count(&[n], e.0)));
        }
        let mut poor = Matrix::default();
        poor.add(&matrix);
        let cell = Cell::parse("INSERT VALUES/commit").expect("a cell");
        poor.cells[cell.kind][cell.ending as usize] = 3;
        let mut steering = Steering::default();
        for seed in 0..10 {
            assert_eq!(steering.next(&poor, seed), cell, "{seed}");
            poor.count(&[cell.kind], cell.ending);
        }
    }

    #[test]
    #[should_panic(expected = "BACKUP LOG has come to Savepoint")]
    fn who_comes_where_nobody_can_says_so() {
        let kind = kinds::number("BACKUP LOG");
        Matrix::default().count(&[kind], Ending::Savepoint);
    }
}
