//! What a seed decides before anything runs.

use std::time::Duration;

use duramen_os::IoError;
use duramen_os::random::Rng;
use duramen_os::sim::{DiskOp, Fault, SimDisk};

/// How a round ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Power fails in the middle of a change of the disk, after so many.
    Changes(u64),
    /// Power fails after this virtual time.
    After(Duration),
    /// Power fails at the very moment at which this packet leaves.
    Packet(u64),
    /// Power fails when all sessions are through.
    Never,
}

/// Something that goes wrong without a loss of power.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// The n-th operation fails once, in any file or in one.
    Fails(DiskOp, u64, Option<&'static str>),
    /// The disk takes so many bytes more.
    DiskFull(u64),
}

/// One life of the process.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Starts before it that are cut short after so many changes of the disk.
    pub cuts: Vec<u64>,
    /// `None`: look, shut down, check; nothing else.
    pub stop: Option<Stop>,
    pub faults: Vec<Trouble>,
    /// Steps of each session.
    pub steps: u32,
}

/// What sessions like to do. Shares are of 100.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Habits {
    /// In a transaction: to commit, instead of going on.
    pub commit: u64,
    /// In a transaction: to write in whatever database comes, not where it has written already.
    pub roam: u64,
    /// Of changes: large values.
    pub large: u64,
    /// Of changes in transactions: transfers between accounts that all sessions use.
    pub transfer: u64,
    /// Between transactions: to read what others have committed.
    pub read: u64,
    /// Bytes of the largest values.
    pub largest: u64,
    /// Between transactions: a checkpoint, or a flush of the log.
    pub checkpoint: u64,
    /// Of changes: rows of the heap, most of whose bytes are blanks.
    pub blank: u64,
}

/// Which habits the sessions of a story have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Focus {
    /// As the seed decides.
    Any,
    /// A bit of everything.
    Mixed,
    /// Short transactions over both databases.
    Commits,
    /// Readers on the heels of writers.
    Readers,
    /// Much log, long transactions.
    Volume,
    /// Checkpoints all the time, while transactions are open.
    Pages,
    /// A bit of everything, and in every life a write of a log fails.
    Log,
}

impl Focus {
    /// The focus of that name, in lower case.
    pub fn parse(name: &str) -> Option<Focus> {
        Some(match name {
            "any" => Focus::Any,
            "mixed" => Focus::Mixed,
            "commits" => Focus::Commits,
            "readers" => Focus::Readers,
            "volume" => Focus::Volume,
            "pages" => Focus::Pages,
            "log" => Focus::Log,
            _ => return None,
        })
    }
}

/// By `Focus`, from `Mixed` on.
const HABITS: [Habits; 5] = [
    Habits {
        commit: 20,
        roam: 15,
        large: 15,
        transfer: 15,
        read: 10,
        largest: 40_000,
        checkpoint: 5,
        blank: 40,
    },
    Habits {
        commit: 45,
        roam: 60,
        large: 5,
        transfer: 20,
        read: 10,
        largest: 1_000,
        checkpoint: 2,
        blank: 20,
    },
    Habits {
        commit: 50,
        roam: 15,
        large: 0,
        transfer: 60,
        read: 50,
        largest: 1_000,
        checkpoint: 2,
        blank: 20,
    },
    Habits {
        commit: 6,
        roam: 10,
        large: 50,
        transfer: 5,
        read: 5,
        largest: 150_000,
        checkpoint: 15,
        blank: 20,
    },
    Habits {
        commit: 12,
        roam: 15,
        large: 5,
        transfer: 5,
        read: 5,
        largest: 20_000,
        checkpoint: 35,
        blank: 70,
    },
];

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub habits: Habits,
    pub seed: u64,
    pub sector: u32,
    /// Bytes of the buffer pool.
    pub memory: u64,
    pub sessions: usize,
    /// Some commits ask for delayed durability.
    pub delayed: bool,
    /// Tables are made and dropped now and then.
    pub ddl: bool,
    /// The files of every database are checked at the end, not only looked into.
    pub check_all: bool,
    pub rounds: Vec<Round>,
}

impl Plan {
    pub fn new(seed: u64, focus: Focus) -> Plan {
        let mut rng = Rng::new(seed ^ 0x0005_e551_0435);
        let mut rounds = Vec::new();
        let count = 1 + rng.below(2);
        let with_faults = rng.one_in(4);
        for n in 0..count {
            let cuts = if n == 0 { Vec::new() } else { cuts(&mut rng) };
            // Mostly early: a short story has as many moments to crash at as a long one.
            let scale = [1, 4, 16][rng.below(3) as usize];
            let stop = match rng.below(10) {
                0..4 => Stop::Changes(rng.below(300 * scale)),
                4..6 => Stop::After(Duration::from_micros(rng.below(40_000 * scale))),
                6..9 => Stop::Packet(1 + rng.below(12 * scale)),
                _ => Stop::Never,
            };
            let faults = if focus == Focus::Log {
                vec![failing_log(&mut rng)]
            } else if with_faults && rng.one_in(2) {
                vec![trouble(&mut rng)]
            } else {
                Vec::new()
            };
            rounds.push(Round {
                cuts,
                stop: Some(stop),
                faults,
                steps: 10 + rng.below(10 * scale) as u32,
            });
        }
        rounds.push(Round {
            cuts: cuts(&mut rng),
            stop: None,
            faults: Vec::new(),
            steps: 0,
        });
        Plan {
            habits: HABITS[match focus {
                Focus::Any => rng.below(HABITS.len() as u64) as usize,
                Focus::Mixed | Focus::Log => 0,
                Focus::Commits => 1,
                Focus::Readers => 2,
                Focus::Volume => 3,
                Focus::Pages => 4,
            }],
            seed,
            sector: if rng.one_in(2) { 512 } else { 4096 },
            memory: [512 << 10, 1 << 20, 4 << 20][rng.below(3) as usize],
            sessions: 1 + rng.below(4) as usize,
            delayed: rng.one_in(4),
            ddl: rng.one_in(4),
            check_all: rng.one_in(4),
            rounds,
        }
    }
}

/// Crashes in the middle of recoveries: mostly none, sometimes two.
fn cuts(rng: &mut Rng) -> Vec<u64> {
    let count = [0, 0, 0, 1, 1, 2][rng.below(6) as usize];
    (0..count).map(|_| rng.below(120)).collect()
}

fn failing_log(rng: &mut Rng) -> Trouble {
    let file = ["/data/a.ldf", "/data/b.ldf"][rng.below(2) as usize];
    Trouble::Fails(DiskOp::Write, 1 + rng.below(60), Some(file))
}

fn trouble(rng: &mut Rng) -> Trouble {
    let nth = 1 + rng.below(60);
    let file = [
        None,
        Some("/data/a.mdf"),
        Some("/data/b.mdf"),
        Some("/data/a.ldf"),
        Some("/data/b.ldf"),
        Some("/data/duramen.dwb"),
    ][rng.below(6) as usize];
    match rng.below(5) {
        0 => Trouble::DiskFull(rng.below(400_000)),
        1 => Trouble::Fails(DiskOp::Read, nth, file),
        2 => Trouble::Fails(DiskOp::Sync, 1 + nth / 4, file),
        _ => Trouble::Fails(DiskOp::Write, nth, file),
    }
}

/// Orders a trouble from the disk.
pub(super) fn order(disk: &SimDisk, trouble: &Trouble) {
    match trouble {
        Trouble::Fails(op, nth, file) => disk.add_fault(Fault {
            op: *op,
            path: file.map(Into::into),
            nth: *nth,
            error: IoError::device("simulated"),
            lasting: false,
        }),
        Trouble::DiskFull(room) => {
            let free = duramen_os::Disk::free_space(disk, "/data".as_ref()).unwrap_or(0);
            disk.set_capacity((1u64 << 40) - free + room);
        }
    }
}
