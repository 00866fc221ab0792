//! Backups while sessions work and power fails, and what they are restored to.
//!
//! Sessions work as in every story; one more takes backups of database a, full, differential and of the log, under any of
//! the recovery models, until power fails. After the next start a chain of backups whose end was acknowledged is restored beside the others, sometimes with
//! another loss of power in the middle. What a run asserts:
//! 1. The copy has each session's rows as they were after one of its commits: not before the last that had ended when the
//!    chain's last backup began, not after the last that had been tried when it ended.
//! 2. Its accounts agree with their history, its indexes with their tables, its files with the offline check.
//! 3. The databases that were backed up are what they would have been without (`audit`).
//! 4. A restore that is cut short leaves no database, or one that is RESTORING, or the whole one; and it can be repeated.

use std::sync::Arc;
use std::time::Duration;

use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::{Sim, SimDisk, Simulation};
use duramen_os::sync::Mutex;
use duramen_os::{thread, time};
use duramen_session::Session;

use super::actor::Actor;
use super::audit;
use super::image;
use super::model::{Ledger, Part};
use super::plan::{Focus, Plan, Stop};
use super::wire::{Wire, execute};

const MAX_STEPS: u64 = 40_000_000;
const COPY: &str = "r";

/// What a seed did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Backups whose end was acknowledged.
    pub backups: u64,
    /// Statements that restored.
    pub restores: u64,
    /// Restores that power failed in.
    pub cut: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Full,
    Differential,
    Log,
}

#[derive(Clone, Debug)]
struct Taken {
    kind: Kind,
    path: String,
    /// By session: the states that the copy may have.
    allowed: Vec<Vec<Part>>,
}

struct Left {
    disk: Arc<SimDisk>,
    ledger: Ledger,
    taken: Vec<Taken>,
    elapsed: Duration,
}

/// Runs one seed. The error says what was found; the same seed finds it again.
pub fn run_seed(seed: u64) -> Result<Report, String> {
    let mut plan = Plan::new(seed, Focus::Any);
    plan.sessions = plan.sessions.max(2);
    let mut rng = Rng::new(seed ^ 0x0bac_c0b5);
    let named = |e: String| format!("seed {seed}: {e}");
    let disk = image::prepared().of(plan.sector, seed);
    let model = ["SIMPLE", "FULL", "BULK_LOGGED", "BULK_LOGGED"][rng.below(4) as usize];
    let simulation = |disk: &Arc<SimDisk>, n: u64, elapsed: Duration| {
        Simulation::new(seed.wrapping_mul(77).wrapping_add(n))
            .on_disk(disk.clone())
            .starting_at(elapsed)
            .max_steps(MAX_STEPS)
    };
    let left = simulation(&disk, 1, Duration::ZERO).run(|sim| work(sim, &plan, model));
    let mut left = left.map_err(named)?;
    let mut report = Report {
        backups: left.taken.len() as u64,
        ..Report::default()
    };
    let Some(chain) = chain(&left.taken, &mut rng) else {
        return Ok(report);
    };
    let cut = rng.one_in(3).then(|| rng.below(400));
    for life in 2..4 {
        left.disk = left.disk.crash(seed.wrapping_add(life));
        let cut = cut.filter(|_| life == 2);
        let (disk, ledger) = (left.disk.clone(), std::mem::take(&mut left.ledger));
        let run = simulation(&disk, life, left.elapsed);
        let done = run.run(|sim| restore(sim, &plan, &chain, ledger, cut, life > 2));
        let done = done.map_err(named)?;
        report.restores += done.restores;
        report.cut += u64::from(done.cut);
        if !done.cut {
            return Ok(report);
        }
        (left.disk, left.ledger, left.elapsed) = (done.disk, done.ledger, done.elapsed);
    }
    Err(named("the restore was cut twice".to_owned()))
}

/// A full backup, maybe a differential one, and the log backups that follow, up to one of them.
fn chain(taken: &[Taken], rng: &mut Rng) -> Option<Vec<Taken>> {
    let of = |kind: Kind| move |t: &Taken| t.kind == kind;
    let fulls: Vec<usize> = (0..taken.len())
        .filter(|i| of(Kind::Full)(&taken[*i]))
        .collect();
    let full = *rng.choose(&fulls)?;
    let mut at = full;
    let mut chain = vec![taken[full].clone()];
    let next = taken[full + 1..].iter().position(of(Kind::Full));
    let end = next.map_or(taken.len(), |n| full + 1 + n);
    let diffs: Vec<usize> = (full + 1..end)
        .filter(|i| of(Kind::Differential)(&taken[*i]))
        .collect();
    if let Some(diff) = rng.choose(&diffs)
        && !rng.one_in(4)
    {
        at = *diff;
        chain.push(taken[at].clone());
    }
    let logs: Vec<&Taken> = taken[at + 1..]
        .iter()
        .filter(|t| of(Kind::Log)(t))
        .collect();
    let count = rng.below(logs.len() as u64 + 1) as usize;
    chain.extend(logs.into_iter().take(count).cloned());
    Some(chain)
}

fn start(sim: &Sim, plan: &Plan) -> Result<Arc<Instance>, String> {
    duramen_session::start(&sim.env(), image::config(plan.memory, plan.sector))
        .map_err(|e| format!("the instance does not start: {e}"))
}

/// The first life: sessions, and one that takes backups.
fn work(sim: &Sim, plan: &Plan, model: &str) -> Result<Left, String> {
    let disk = sim.disk();
    let instance = start(sim, plan)?;
    let mut session = image::login(&instance)?;
    let reply = execute(
        &mut session,
        &format!("ALTER DATABASE a SET RECOVERY {model}"),
    );
    if let Some(e) = reply.errors.first() {
        return Err(e.to_string());
    }
    let round = &plan.rounds[0];
    let wire = Wire::new(&instance, disk.clone(), Ledger::new(plan.sessions), None);
    if let Some(Stop::Changes(n)) = round.stop {
        disk.power_off_after(n * 4);
    }
    let mut threads = Vec::new();
    for n in 0..plan.sessions {
        let actor = Actor::new(&instance, &wire, plan, round, n, false);
        let disk = disk.clone();
        threads.push(thread::spawn("session", move || actor.run(&disk)));
    }
    let taken = Arc::new(Mutex::new(Vec::new()));
    let taker = Taker {
        rng: Rng::new(plan.seed ^ 0x7a4e),
        wire: wire.clone(),
        disk: disk.clone(),
        sessions: plan.sessions,
        keeps_log: model != "SIMPLE",
        taken: taken.clone(),
    };
    threads.push(thread::spawn("backup", move || taker.run(&mut session)));
    let end = time::now() + Duration::from_secs(600);
    loop {
        thread::sleep(Duration::from_micros(200));
        let over = threads.iter().all(|t| t.is_finished());
        if over || disk.is_off() || wire.has_violation() {
            break;
        }
        if time::now() >= end {
            return Err("sessions are still at work after ten minutes".to_owned());
        }
    }
    if let Some(violation) = wire.violation() {
        return Err(violation);
    }
    let taken = taken.lock().clone();
    Ok(Left {
        disk,
        ledger: wire.ledger(),
        taken,
        elapsed: sim.elapsed(),
    })
}

/// Takes backups of database a.
struct Taker {
    rng: Rng,
    wire: Arc<Wire>,
    disk: Arc<SimDisk>,
    sessions: usize,
    keeps_log: bool,
    taken: Arc<Mutex<Vec<Taken>>>,
}

impl Taker {
    fn run(mut self, session: &mut Session) {
        for n in 0..4 + self.rng.below(6) {
            thread::sleep(Duration::from_micros(self.rng.below(4_000)));
            let first = self.taken.lock().is_empty();
            let kind = match self.rng.below(6) {
                _ if first => Kind::Full,
                0 => Kind::Full,
                1 | 2 => Kind::Differential,
                _ if self.keeps_log => Kind::Log,
                _ => Kind::Differential,
            };
            if !self.take(session, kind, n) {
                return;
            }
        }
    }

    fn take(&mut self, session: &mut Session, kind: Kind, n: u64) -> bool {
        let path = format!("/data/backup{n}");
        let what = match kind {
            Kind::Log => "LOG",
            _ => "DATABASE",
        };
        let with = match (kind, self.rng.below(4)) {
            (Kind::Differential, 0 | 1) => " WITH DIFFERENTIAL",
            (Kind::Differential, _) => " WITH DIFFERENTIAL, COMPRESSION",
            (_, 0) => " WITH CHECKSUM, INIT",
            (_, 1) => " WITH COMPRESSION",
            (_, 2) => " WITH COMPRESSION, CHECKSUM",
            _ => "",
        };
        let visible = |wire: &Wire, s| wire.with(|l| l.visible(s, 0));
        let low: Vec<usize> = (0..self.sessions).map(|s| visible(&self.wire, s)).collect();
        let sql = format!("BACKUP {what} a TO DISK = '{path}'{with}");
        let reply = execute(session, &sql);
        if self.disk.is_off() {
            return false;
        }
        if let Some(e) = reply.errors.first() {
            self.wire.violate(format!("{sql}: {e}"));
            return false;
        }
        let states = |s: usize, from| self.wire.with(|l| l.states_from(s, 0, from));
        let allowed = low.into_iter().enumerate().map(|(s, from)| states(s, from));
        let allowed = allowed.collect();
        self.taken.lock().push(Taken {
            kind,
            path,
            allowed,
        });
        true
    }
}

struct Done {
    disk: Arc<SimDisk>,
    ledger: Ledger,
    restores: u64,
    cut: bool,
    elapsed: Duration,
}

/// A later life: what was there is looked at, then the chain is restored.
fn restore(
    sim: &Sim,
    plan: &Plan,
    chain: &[Taken],
    mut ledger: Ledger,
    cut: Option<u64>,
    again: bool,
) -> Result<Done, String> {
    let disk = sim.disk();
    let instance = start(sim, plan)?;
    audit::after_recovery(&instance, &mut ledger)?;
    let mut session = image::login(&instance)?;
    let done = |restores, cut, ledger| Done {
        disk: sim.disk(),
        ledger,
        restores,
        cut,
        elapsed: sim.elapsed(),
    };
    if again {
        left_by_a_cut(&instance, &mut session, chain)?;
    }
    if let Some(n) = cut {
        disk.power_off_after(n);
    }
    let mut restores = 0;
    let separate = plan.seed.is_multiple_of(2);
    for (n, backup) in chain.iter().enumerate() {
        let what = match backup.kind {
            Kind::Log => "LOG",
            _ => "DATABASE",
        };
        let last = n + 1 == chain.len() && !separate;
        let moves = match n {
            0 => ", MOVE 'a' TO '/data/r.mdf', MOVE 'a_log' TO '/data/r.ldf'",
            _ => "",
        };
        let end = if last { "RECOVERY" } else { "NORECOVERY" };
        let path = &backup.path;
        let sql = format!("RESTORE {what} {COPY} FROM DISK = '{path}' WITH {end}{moves}");
        let reply = execute(&mut session, &sql);
        if disk.is_off() {
            return Ok(done(restores, true, ledger));
        }
        if let Some(e) = reply.errors.first() {
            return Err(format!("{sql}: {e}"));
        }
        restores += 1;
    }
    if separate {
        let sql = format!("RESTORE DATABASE {COPY} WITH RECOVERY");
        let reply = execute(&mut session, &sql);
        if disk.is_off() {
            return Ok(done(restores, true, ledger));
        }
        if let Some(e) = reply.errors.first() {
            return Err(format!("{sql}: {e}"));
        }
    }
    let looked = look(&instance, &mut session, chain);
    if disk.is_off() {
        return Ok(done(restores, true, ledger));
    }
    looked?;
    // The copy takes work, and its files are sound. (A copy whose power may fail is looked at again, as it is.)
    let work = [
        "DELETE r.dbo.hist",
        "INSERT r.dbo.l VALUES (1, REPLICATE('x', 900))",
    ];
    for sql in work.iter().filter(|_| cut.is_none()) {
        if let Some(e) = execute(&mut session, sql).errors.first() {
            return Err(format!("{sql}: {e}"));
        }
    }
    drop(session);
    let closed = instance.shutdown();
    if disk.is_off() {
        return Ok(done(restores, true, ledger));
    }
    closed.map_err(|e| format!("the last shutdown fails: {e}"))?;
    audit::files(&disk, true)?;
    Ok(done(restores, false, ledger))
}

/// The copy against what it may be.
fn look(instance: &Arc<Instance>, session: &mut Session, chain: &[Taken]) -> Result<(), String> {
    let Some(last) = chain.last() else {
        return Ok(());
    };
    let found = audit::database(instance, session, COPY, last.allowed.len())?;
    for (s, (part, allowed)) in found.iter().zip(&last.allowed).enumerate() {
        if !allowed.contains(part) {
            let kinds: Vec<Kind> = chain.iter().map(|t| t.kind).collect();
            let near = allowed
                .last()
                .map(|a| part.difference(a))
                .unwrap_or_default();
            return Err(format!(
                "the copy restored from {kinds:?} has rows of session {} that are not those after any of {} commits: {near}",
                s + 1,
                allowed.len()
            ));
        }
    }
    let open = instance.databases.find(COPY);
    let open = open.ok_or_else(|| "the copy is not there".to_owned())?;
    audit::structures(&open).map_err(|e| format!("the copy: {e}"))
}

/// What a restore that was cut short may leave. It is dropped.
fn left_by_a_cut(
    instance: &Arc<Instance>,
    session: &mut Session,
    chain: &[Taken],
) -> Result<(), String> {
    let sql = "SELECT name, state_desc FROM sys.databases WHERE database_id > 4 AND name NOT IN ('a', 'b')";
    let reply = execute(session, sql);
    if let Some(e) = reply.errors.first() {
        return Err(format!("{sql}: {e}"));
    }
    let text = |v: &duramen_types::Value| v.as_text().unwrap_or_default();
    let found: Vec<(String, String)> = reply
        .rows
        .iter()
        .map(|r| (text(&r[0]), text(&r[1])))
        .collect();
    match found.as_slice() {
        [] => return Ok(()),
        [(name, state)] if name == COPY && state == "RESTORING" => {}
        [(name, state)] if name == COPY && state == "ONLINE" => look(instance, session, chain)?,
        other => return Err(format!("a restore that was cut short has left {other:?}")),
    }
    let sql = format!("DROP DATABASE {COPY}");
    match execute(session, &sql).errors.first() {
        None => Ok(()),
        Some(e) => Err(format!("{sql}: {e}")),
    }
}
