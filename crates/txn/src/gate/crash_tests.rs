//! The promise of the gate, with real logs on a disk that loses power: whatever a packet that left has told is still
//! true after the restart.
//!
//! Sessions write a cell of one database or of both, read the cells of others, and tell in packets what they
//! committed and what they saw. At a random moment the power goes. Then the logs are opened again: every transaction
//! that a sent packet spoke of must be committed there, across both databases.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duramen_base::{DbId, FileId, Lsn, RowsetId, SessionId, XdesId};
use duramen_os::random::Rng;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::sync::Mutex;
use duramen_os::{Env, thread};
use duramen_wal::record::{Lcx, Lop, RecordBuilder, RecordView};
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

use super::{Dependencies, GateHub, Outcome, SessionDeps, Submit};
use crate::durability::{DelayedDurability, Durability};
use crate::lock::{LockDuration, LockManager, LockMode, Resource};
use crate::transaction::{IsolationLevel, Transaction, TxnKind};
use crate::txlog::{Decision, TransactionLog, abort, commit};

type Reported = (DbId, XdesId);
const DBS: [DbId; 2] = [DbId(5), DbId(6)];

struct World {
    locks: LockManager,
    dbs: Vec<Arc<TransactionLog>>,
    /// The last transaction that wrote each cell, and whether it was fully durable.
    cells: Mutex<[Option<(XdesId, Durability)>; 2]>,
    hub: Arc<GateHub>,
    sent: Mutex<Vec<Reported>>,
    /// Transactions that wrote both databases.
    pairs: Mutex<Vec<(Reported, Reported)>>,
    ended: Mutex<BTreeSet<u64>>,
}

fn config(db: DbId) -> LogConfig {
    LogConfig {
        db_name: format!("db{}", db.0),
        db_id: db,
        sector: 512,
        first_seq: 43,
        ..LogConfig::default()
    }
}

fn spec(db: DbId) -> LogFileSpec {
    LogFileSpec {
        name: "log".to_owned(),
        path: Path::new("/logs").join(format!("{}.ldf", db.0)),
        file_id: FileId(2),
        size: 1 << 20,
        max_size: None,
        growth: Growth::Bytes(1 << 20),
    }
}

fn start(env: &Env) -> Arc<World> {
    env.disk
        .create_dir_all(Path::new("/logs"))
        .expect("a directory");
    let logs: Vec<_> = DBS
        .iter()
        .map(|&db| Log::create(env, config(db), &spec(db), &[0; 8192]).expect("a log"))
        .collect();
    let world = Arc::new(World {
        locks: LockManager::new(),
        dbs: DBS
            .iter()
            .zip(&logs)
            .map(|(&db, log)| TransactionLog::new(db, Arc::clone(log) as _, XdesId(1)))
            .collect(),
        cells: Mutex::default(),
        hub: GateHub::new(),
        sent: Mutex::default(),
        pairs: Mutex::default(),
        ended: Mutex::default(),
    });
    world.dbs[1].set_delayed_durability(DelayedDurability::Allowed);
    let receiver = Arc::downgrade(&world);
    world.hub.set_deliver(Box::new(move |outcome| {
        let Some(world) = receiver.upgrade() else {
            return;
        };
        match outcome {
            Outcome::Packet { bytes, .. } => world.sent.lock().extend(read(&bytes)),
            Outcome::Round => {}
            Outcome::End { connection } => {
                world.ended.lock().insert(connection);
            }
        }
    }));
    for (&db, log) in DBS.iter().zip(&logs) {
        world.hub.attach(db, log);
    }
    world
}

fn packet(reported: &[Reported]) -> Vec<u8> {
    let bytes = |t: &Reported| [t.0.0 as u64, t.1.0].map(u64::to_le_bytes).concat();
    reported.iter().flat_map(bytes).collect()
}

fn read(packet: &[u8]) -> Vec<Reported> {
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("8 bytes"));
    packet
        .chunks(16)
        .map(|c| (DbId(word(&c[..8]) as u16), XdesId(word(&c[8..]))))
        .collect()
}

/// One session; ends when its connection does.
fn session(world: &World, number: u64, seed: u64) {
    let mut dice = Rng::new(seed * 100 + number);
    let owner = world.locks.owner(SessionId(51 + number as u16));
    let deps = world.hub.session_deps();
    let outlet = world.hub.outlet(number, &deps);
    let flush_first = outlet.clone();
    owner.set_before_wait(Box::new(move || flush_first.before_block()));
    loop {
        let mut reported = Vec::new();
        for _ in 0..=dice.below(3) {
            statement(world, &owner, &deps, &mut dice, &mut reported);
            world.locks.release_all(&owner);
        }
        let answer = match reported.len() % 2 {
            0 => outlet.submit_last(packet(&reported)),
            _ => outlet.submit(packet(&reported)),
        };
        match answer {
            Submit::Released(bytes) => world.sent.lock().extend(read(&bytes)),
            Submit::Held(_) => {}
            Submit::Ended => return,
        }
        outlet.request_done();
        if dice.one_in(3) {
            thread::sleep(Duration::from_micros(dice.below(3000)));
        }
    }
}

fn statement(
    world: &World,
    owner: &crate::lock::LockOwner,
    deps: &SessionDeps,
    dice: &mut Rng,
    reported: &mut Vec<Reported>,
) {
    let lock = |at: usize, mode| {
        let cell = Resource::Key(DBS[at], RowsetId(1), 1);
        world
            .locks
            .lock(owner, &cell, mode, LockDuration::Normal, None)
            .is_ok()
    };
    let first = dice.below(2) as usize;
    let tx = Transaction::new(
        owner,
        TxnKind::Autocommit,
        "UPDATE",
        IsolationLevel::ReadCommitted,
    );
    let (reads, writes): (&[usize], &[usize]) = match dice.below(6) {
        0 | 1 => (&[], &[first]),
        2 => (&[], &[0, 1]),
        3 => (&[1 - first], &[first]),
        _ => (&[first], &[]),
    };
    for &at in reads {
        if !lock(at, LockMode::S) {
            return;
        }
        tx.note_read(&world.dbs[at]);
        deps.note_read(&world.dbs[at].commits);
        if let Some((xdes, Durability::Full)) = world.cells.lock()[at] {
            reported.push((DBS[at], xdes));
        }
    }
    let mut done = Ok(());
    for &at in writes {
        if !lock(at, LockMode::X) {
            abort(&tx);
            return;
        }
        let mut row = RecordBuilder::new(Lop::MODIFY_ROW, Lcx::HEAP).finish(&[b"before", b"after"]);
        done = done.and(world.dbs[at].append(&tx, &mut row, 120).map(|_| ()));
    }
    let parts = tx.parts();
    if let [a, b] = &parts[..] {
        let pair = ((a.db, a.xdes), (b.db, b.xdes));
        world.pairs.lock().push(pair);
    }
    let option = dice.one_in(3).then_some(true);
    match done.and_then(|()| commit(&tx, option)) {
        Ok(lsns) => {
            for (part, (db, lsn)) in parts.iter().zip(&lsns.parts) {
                assert_eq!(part.db, *db);
                let at = DBS.iter().position(|d| d == db).expect("known");
                world.cells.lock()[at] = Some((part.xdes, lsns.durability));
                if lsns.durability == Durability::Full {
                    deps.note_commit(*db, *lsn);
                    reported.push((*db, part.xdes));
                }
            }
        }
        Err(error) => {
            assert_eq!(error.number, 9001, "{error}");
            abort(&tx);
        }
    }
}

/// What a restart finds committed.
fn committed(env: &Env) -> BTreeSet<Reported> {
    let mut found = BTreeSet::new();
    let mut in_doubt = Vec::new();
    for db in DBS {
        let (log, _) = Log::open(env, config(db), &[spec(db)], Lsn::NULL).expect("the log opens");
        for record in log.read(Lsn::NULL) {
            let bytes = record.expect("readable").bytes;
            let view = RecordView::parse(&bytes).expect("a record");
            match view.op() {
                Lop::COMMIT_XACT => {
                    found.insert((db, view.xdes()));
                }
                Lop::PREP_XACT => {
                    let payload = view.element(0);
                    let decision = payload.and_then(Decision::from_bytes).expect("a decision");
                    in_doubt.push(((db, view.xdes()), decision));
                }
                _ => {}
            }
        }
        log.abandon();
    }
    for (reported, decision) in in_doubt {
        let decided = found.contains(&(decision.coordinator, decision.xdes));
        assert!(
            decided || !found.contains(&reported),
            "committed without a decision"
        );
        if decided {
            found.insert(reported);
        }
    }
    found
}

/// All of a cross-database transaction, or nothing.
fn check_pairs(world: &World, found: &BTreeSet<Reported>, seed: u64) {
    for (a, b) in world.pairs.lock().iter() {
        assert_eq!(
            found.contains(a),
            found.contains(b),
            "seed {seed}: half of {a:?} and {b:?} is lost"
        );
    }
}

#[test]
pub(crate) fn what_was_sent_is_true_after_a_power_loss() {
    let mut sent_in_all = 0;
    for seed in seeds(1, 60) {
        sent_in_all += Simulation::new(seed).run(|sim| {
            let env = sim.disk().env();
            let world = start(&env);
            for number in 0..4 {
                let world = Arc::clone(&world);
                thread::spawn("session", move || session(&world, number, seed));
            }
            thread::sleep(Duration::from_micros(500 + Rng::new(seed).below(20_000)));
            let sent = world.sent.lock().clone();
            let after = sim.disk().crash(seed).env();
            let found = committed(&after);
            for reported in &sent {
                assert!(
                    found.contains(reported),
                    "seed {seed}: {reported:?} was told and is lost"
                );
            }
            check_pairs(&world, &found, seed);
            sent.len()
        });
    }
    assert!(sent_in_all > 500, "only {sent_in_all} facts were sent");
}

#[test]
fn a_failed_log_write_ends_connections_and_sends_nothing_false() {
    use duramen_os::sim::DiskOp;
    let mut ended = 0;
    for seed in seeds(1, 30) {
        ended += Simulation::new(seed).run(|sim| {
            let disk = sim.disk();
            let world = start(&disk.env());
            for number in 0..3 {
                let world = Arc::clone(&world);
                thread::spawn("session", move || session(&world, number, seed));
            }
            let nth = 5 + Rng::new(seed).below(40);
            disk.fail_nth(DiskOp::Write, nth, duramen_os::IoError::NoSpace);
            thread::sleep(Duration::from_millis(30));
            let sent = world.sent.lock().clone();
            let found = committed(&disk.crash(seed).env());
            for reported in &sent {
                assert!(
                    found.contains(reported),
                    "seed {seed}: {reported:?} was told and is lost"
                );
            }
            check_pairs(&world, &found, seed);
            usize::from(!world.ended.lock().is_empty())
        });
    }
    assert!(ended > 0, "no connection depended on a failed log");
}

#[test]
fn a_closed_database_ends_who_waits_for_it_and_its_successor_starts_anew() {
    Simulation::new(1).run(|sim| {
        let world = start(&sim.disk().env());
        let never = || {
            let mut deps = Dependencies::none();
            deps.add(DBS[0], Lsn::new(9000, 16, 1), 0);
            deps
        };
        assert!(matches!(
            world.hub.submit(7, never(), packet(&[])),
            Submit::Held(_)
        ));
        world.hub.detach(DBS[0]);
        assert_eq!(*world.ended.lock(), BTreeSet::from([7]));
        assert_eq!(world.hub.held(), 0);
        // A late report of the old log does not satisfy anybody.
        let tx = Transaction::new(
            &world.locks.owner(SessionId(51)),
            TxnKind::Autocommit,
            "INSERT",
            IsolationLevel::ReadCommitted,
        );
        let (_, lsn) = world.dbs[0].begin_if_needed(&tx).expect("begin");
        let mut deps = Dependencies::none();
        deps.add(DBS[0], lsn, 1);
        assert!(matches!(
            world.hub.submit(8, deps, packet(&[])),
            Submit::Held(_)
        ));
        world.dbs[0].log.flush(lsn).expect("flush");
        thread::sleep(Duration::from_millis(20));
        assert!(world.hub.is_holding(8));
    });
}
