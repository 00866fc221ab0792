//! What the rows of each session must be, and what has been promised of them.
//!
//! Sessions share tables but not rows, except the accounts: so each session knows exactly what its rows are after each
//! of its commits. The ledger keeps these states, in order, per session and database. A crash may cut off the end of
//! the list, but nothing that a released packet told of.

use std::collections::BTreeMap;

/// The databases of the simulation. `Db` is an index into it.
pub const DATABASES: [&str; 2] = ["a", "b"];
pub const DBS: usize = DATABASES.len();
/// Sessions have the numbers 1 to this.
pub const MAX_SESSIONS: usize = 4;
/// Accounts of each database.
pub const ACCOUNTS: i32 = 3;
/// Ids that belong to a session begin at its number times this.
pub const IDS: i32 = 100;

/// A row of `t` or `h`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// A letter, and how often `pad` has it.
    pub pad: (u8, u32),
    pub n: Option<i32>,
    /// The text before the blanks.
    pub f: String,
}

/// A session's rows in one database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// The number of the last explicit transaction that wrote here.
    pub seq: i64,
    /// Clustered, with a nonclustered index.
    pub t: BTreeMap<i32, Row>,
    /// A heap with an index.
    pub h: BTreeMap<i32, Row>,
    /// Large values: a letter, and how often.
    pub l: BTreeMap<i32, (u8, u32)>,
    /// The session's own table, while it is there: its rows, and whether it has an index.
    pub own: Option<(BTreeMap<i32, u32>, bool)>,
    /// Transfers by transaction number: account and amount, in the order of accounts.
    pub hist: BTreeMap<i64, BTreeMap<i32, i64>>,
}

impl Part {
    /// What is different, for a message.
    pub fn difference(&self, other: &Part) -> String {
        fn keys<V: PartialEq + std::fmt::Debug>(
            name: &str,
            a: &BTreeMap<i32, V>,
            b: &BTreeMap<i32, V>,
            out: &mut Vec<String>,
        ) {
            let ids: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            for id in ids {
                if a.get(id) != b.get(id) && out.len() < 6 {
                    let (x, y) = (format!("{:?}", a.get(id)), format!("{:?}", b.get(id)));
                    out.push(format!("{name} {id}: {x:.200} and {y:.200}"));
                }
            }
        }
        let mut out = Vec::new();
        if self.seq != other.seq {
            out.push(format!("seq: {} and {}", self.seq, other.seq));
        }
        keys("t", &self.t, &other.t, &mut out);
        keys("h", &self.h, &other.h, &mut out);
        keys("l", &self.l, &other.l, &mut out);
        if self.own != other.own {
            out.push(format!("own: {:?} and {:?}", self.own, other.own));
        }
        if self.hist != other.hist {
            out.push(format!("hist: {:?} and {:?}", self.hist, other.hist));
        }
        out.join("; ")
    }
}

/// A commit of a session in one database.
#[derive(Clone, Debug)]
pub struct Entry {
    pub state: Part,
    /// The transaction wrote the other database too.
    pub both: bool,
    /// Fully durable, and so owed to whoever is told of it.
    pub full: bool,
    /// The statement that committed has ended: others must see it.
    pub done: bool,
}

/// The commits of a session in one database; the first is what was there before.
#[derive(Clone, Debug)]
pub struct Line {
    pub entries: Vec<Entry>,
    /// The entry that clients know to be there.
    pub floor: usize,
    /// The entry up to which others were told.
    pub told: usize,
}

impl Line {
    fn new(state: Part) -> Line {
        Line {
            entries: vec![Entry {
                state,
                both: false,
                full: true,
                done: true,
            }],
            floor: 0,
            told: 0,
        }
    }
}

/// Everything that was committed and promised since the last start.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By session and database.
    lines: Vec<[Line; DBS]>,
}

/// What a packet tells the client that gets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The session's own commit.
    Committed {
        session: usize,
        db: usize,
        entry: usize,
    },
    /// Another session's commit, as a reader has seen it.
    Told {
        session: usize,
        db: usize,
        entry: usize,
    },
}

impl Ledger {
    pub fn new(sessions: usize) -> Ledger {
        let empty = || [Line::new(Part::default()), Line::new(Part::default())];
        Ledger {
            lines: (0..sessions).map(|_| empty()).collect(),
        }
    }

    pub fn sessions(&self) -> usize {
        self.lines.len()
    }

    /// What the session's rows are after its last commit.
    pub fn last(&self, session: usize, db: usize) -> &Part {
        let entries = &self.lines[session][db].entries;
        &entries[entries.len() - 1].state
    }

    /// A commit is about to be tried; gives its number.
    pub fn push(&mut self, session: usize, db: usize, entry: Entry) -> usize {
        let line = &mut self.lines[session][db];
        line.entries.push(entry);
        line.entries.len() - 1
    }

    /// The commit was refused.
    pub fn pop(&mut self, session: usize, db: usize) {
        self.lines[session][db].entries.pop();
    }

    /// The commit has ended well.
    pub fn done(&mut self, session: usize, db: usize, entry: usize) {
        self.lines[session][db].entries[entry].done = true;
    }

    /// The number of the last commit that everybody sees.
    pub fn visible(&self, session: usize, db: usize) -> usize {
        let entries = &self.lines[session][db].entries;
        entries.iter().rposition(|e| e.done).unwrap_or(0)
    }

    /// The states after a commit and those that followed it.
    pub fn states_from(&self, session: usize, db: usize, from: usize) -> Vec<Part> {
        let entries = &self.lines[session][db].entries[from..];
        entries.iter().map(|e| e.state.clone()).collect()
    }

    /// The commit after which `seq` was this, if there was one; the last of several.
    pub fn entry_of_seq(&self, session: usize, db: usize, seq: i64) -> Option<usize> {
        let entries = &self.lines[session][db].entries;
        entries.iter().rposition(|e| e.state.seq == seq)
    }

    /// The first commit after which `seq` was this.
    pub fn first_of_seq(&self, session: usize, db: usize, seq: i64) -> Option<usize> {
        let entries = &self.lines[session][db].entries;
        entries.iter().position(|e| e.state.seq == seq)
    }

    /// A packet that claims this has left.
    pub fn keep(&mut self, claim: Claim) {
        match claim {
            Claim::Committed { session, db, entry } => {
                let line = &mut self.lines[session][db];
                if line.entries[entry].full {
                    line.floor = line.floor.max(entry);
                }
            }
            Claim::Told { session, db, entry } => {
                let line = &mut self.lines[session][db];
                // Whoever reads a delayed commit is promised the last full one before it.
                let full = line.entries[..=entry].iter().rposition(|e| e.full);
                line.told = line.told.max(full.unwrap_or(0));
            }
        }
    }

    /// Compares what recovery has left of a session with what may be, and goes on from there. `found` is by database.
    pub fn settle(&mut self, session: usize, found: [Part; DBS]) -> Result<(), String> {
        for (db, part) in found.iter().enumerate() {
            let line = &self.lines[session][db];
            let lowest = line.floor.max(line.told);
            let fits = line.entries[lowest..].iter().any(|e| e.state == *part);
            if fits {
                continue;
            }
            let who = format!("session {} in database {}", session + 1, DATABASES[db]);
            if let Some(at) = line.entries.iter().rposition(|e| e.state == *part) {
                let by = if line.told > line.floor {
                    "a reader was told of"
                } else {
                    "the client was told of"
                };
                return Err(format!(
                    "{who}: commit {at} is the last that is there, and {by} commit {lowest}"
                ));
            }
            // The nearest state, for the message.
            let seq = part.seq;
            let near = line.entries.iter().rposition(|e| e.state.seq == seq);
            let near = near.unwrap_or(line.entries.len() - 1);
            return Err(format!(
                "{who}: the rows are not those after any of {} commits (promised: {lowest}); \
                 they differ from those after commit {near}: {}",
                line.entries.len() - 1,
                part.difference(&line.entries[near].state)
            ));
        }
        self.both_or_neither(session, &found)?;
        for (db, part) in found.into_iter().enumerate() {
            self.lines[session][db] = Line::new(part);
        }
        Ok(())
    }

    /// Transactions over two databases write their number in both.
    fn both_or_neither(&self, session: usize, found: &[Part; DBS]) -> Result<(), String> {
        for (db, line) in self.lines[session].iter().enumerate() {
            for e in line.entries.iter().filter(|e| e.both) {
                let seq = e.state.seq;
                let here = found[db].seq >= seq;
                let there = found[1 - db].seq >= seq;
                if here != there {
                    let (has, lacks) = if here { (db, 1 - db) } else { (1 - db, db) };
                    return Err(format!(
                        "session {}: transaction {seq} over two databases is in {} and not in {}",
                        session + 1,
                        DATABASES[has],
                        DATABASES[lacks]
                    ));
                }
            }
        }
        Ok(())
    }
}
