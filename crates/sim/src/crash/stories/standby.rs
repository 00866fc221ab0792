//! RESTORE WITH STANDBY, looked at, and the next log over it.
//!
//! Database a is backed up, full and log after log, while a transaction of another session is open over some of the
//! backups. Then the chain is restored beside it, step by step, with power failing on the way. What a run asserts: a standby
//! has the rows that were committed when its last backup ended and takes no changes; a step that was acknowledged is not
//! lost; at the end the copy is whole and takes changes.

use std::collections::BTreeMap;

use duramen_session::Session;

use super::{End, LIVES, Life, Report, World, audit};

type Rows = BTreeMap<i64, i64>;

/// How far the copy has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Sets of the chain that were acknowledged.
    acknowledged: usize,
    /// Sets that were tried.
    tried: usize,
    recovered: bool,
}

const TABLE: &str = "CREATE TABLE a.dbo.story (id int NOT NULL CONSTRAINT pk_story PRIMARY KEY, v int NOT NULL, pad varchar(2000) NOT NULL)";

pub(super) fn run(seed: u64) -> Result<Report, String> {
    let mut world = World::new(seed, 0x57a2_dbe1);
    let states = world.life(None, back_up)?.ok_or("no power")?;
    let mut progress = Progress::default();
    for n in 0..=LIVES {
        let cut = match n {
            LIVES => None,
            _ => world.cut(700),
        };
        world.life(cut, |life| restore(life, &states, &mut progress))?;
        if progress.recovered {
            break;
        }
    }
    if !progress.recovered {
        return Err("the copy has not come to its end".to_owned());
    }
    world.close()
}

/// The chain, and what the table had at the end of each of its sets.
fn back_up(life: &mut Life<'_>) -> Result<Vec<Rows>, String> {
    let mut session = life.login()?.ok_or("no power")?;
    let mut other = life.login()?.ok_or("no power")?;
    let model = ["FULL", "FULL", "BULK_LOGGED"][life.rng.below(3) as usize];
    let run = |life: &Life<'_>, session: &mut Session, sql: &str| match life.run(session, sql) {
        End::Good(_) => Ok(()),
        End::Refused(_, e) => Err(e),
        End::Off => Err("no power".to_owned()),
    };
    run(
        life,
        &mut session,
        &format!("ALTER DATABASE a SET RECOVERY {model}"),
    )?;
    run(life, &mut session, TABLE)?;
    let mut rows = Rows::new();
    let mut states = Vec::new();
    // Of the other session: rows that are not committed.
    let mut open: Option<Rows> = None;
    let logs = 2 + life.rng.below(4);
    for set in 0..=logs {
        for _ in 0..life.rng.below(4) {
            let low = life.rng.below(80) as i64;
            let sql = match life.rng.below(4) {
                0 => {
                    for (_, v) in rows.range_mut(low..low + 10) {
                        *v += 1;
                    }
                    format!(
                        "UPDATE a.dbo.story SET v = v + 1 WHERE id >= {low} AND id < {}",
                        low + 10
                    )
                }
                1 => {
                    rows.retain(|id, _| *id >= 1000 || *id < low || *id >= low + 5);
                    format!("DELETE a.dbo.story WHERE id >= {low} AND id < {}", low + 5)
                }
                _ => {
                    let new: Vec<i64> = (low..low + 8).filter(|i| !rows.contains_key(i)).collect();
                    if new.is_empty() {
                        continue;
                    }
                    let pad = life.rng.below(1900);
                    let values: Vec<String> = new
                        .iter()
                        .map(|id| format!("({id}, 1, REPLICATE('s', {pad}))"))
                        .collect();
                    rows.extend(new.iter().map(|id| (*id, 1)));
                    format!("INSERT a.dbo.story VALUES {}", values.join(", "))
                }
            };
            run(life, &mut session, &sql)?;
        }
        match &open {
            Some(_) if life.rng.one_in(2) => {
                let commits = !life.rng.one_in(3);
                run(
                    life,
                    &mut other,
                    if commits { "COMMIT" } else { "ROLLBACK" },
                )?;
                if let Some(added) = open.take().filter(|_| commits) {
                    rows.extend(added);
                }
            }
            None if life.rng.one_in(2) => {
                let first = 1000 + 100 * set as i64;
                let sql = format!(
                    "BEGIN TRAN; INSERT a.dbo.story SELECT value, 2, REPLICATE('o', 700) FROM GENERATE_SERIES({first}, {})",
                    first + 20
                );
                run(life, &mut other, &sql)?;
                open = Some((first..=first + 20).map(|id| (id, 2)).collect());
            }
            _ => {}
        }
        let sql = match set {
            0 => "BACKUP DATABASE a TO DISK = '/data/story0'".to_owned(),
            n => format!("BACKUP LOG a TO DISK = '/data/story{n}'"),
        };
        run(life, &mut session, &sql)?;
        states.push(rows.clone());
    }
    Ok(states)
}

fn restore(life: &mut Life<'_>, states: &[Rows], progress: &mut Progress) -> Result<(), String> {
    let Some(mut session) = life.login()? else {
        return Ok(());
    };
    let Some(state) = life.state(&mut session, "r")? else {
        return Ok(());
    };
    // How many sets the copy has; where nobody can look, at least those that were acknowledged.
    let mut have = match state.as_str() {
        "" => {
            // Only the entry in master can be lost: nobody has made it durable.
            progress.acknowledged = 0;
            0
        }
        "RESTORING" => progress.acknowledged,
        "ONLINE STANDBY" => {
            let Some(found) = look(life, &mut session)? else {
                return Ok(());
            };
            let low = progress.acknowledged.max(1);
            let at = (low..=progress.tried).find(|n| states[n - 1] == found);
            at.ok_or_else(|| {
                format!(
                    "the standby is at none of {low} to {}: {found:?}",
                    progress.tried
                )
            })?
        }
        "ONLINE" if progress.tried == states.len() => {
            return end(life, &mut session, states, progress);
        }
        other => return Err(format!("the copy is {other}")),
    };
    while have < states.len() {
        let standby = !life.rng.one_in(3);
        let with = match standby {
            true => "STANDBY = '/data/r.undo'",
            false => "NORECOVERY",
        };
        let sql = match have {
            0 => format!(
                "RESTORE DATABASE r FROM DISK = '/data/story0' WITH REPLACE, MOVE 'a' TO '/data/r.mdf', MOVE 'a_log' TO '/data/r.ldf', {with}"
            ),
            n => format!("RESTORE LOG r FROM DISK = '/data/story{n}' WITH {with}"),
        };
        progress.tried = progress.tried.max(have + 1);
        match life.run(&mut session, &sql) {
            End::Good(_) => life.report.done += 1,
            End::Off => {
                life.report.cut += 1;
                return Ok(());
            }
            // Power failed when it was done, and nobody was told.
            End::Refused(4326, _) if state == "RESTORING" && have == progress.acknowledged => {
                have += 1;
                continue;
            }
            End::Refused(_, e) => return Err(e),
        }
        have += 1;
        progress.acknowledged = have;
        if standby {
            let Some(found) = look(life, &mut session)? else {
                return Ok(());
            };
            if found != states[have - 1] {
                return Err(format!(
                    "the standby of {have} sets has {found:?} and should have {:?}",
                    states[have - 1]
                ));
            }
        }
    }
    if !life.must(&mut session, "RESTORE DATABASE r WITH RECOVERY")? {
        return Ok(());
    }
    end(life, &mut session, states, progress)
}

fn look(life: &mut Life<'_>, session: &mut Session) -> Result<Option<Rows>, String> {
    let found = life.table(session, "SELECT id, v FROM r.dbo.story")?;
    match life.run(session, "INSERT r.dbo.story VALUES (-1, 0, '')") {
        End::Refused(3906, _) => Ok(found),
        End::Off => Ok(None),
        End::Good(_) => Err("a standby takes changes".to_owned()),
        End::Refused(_, e) => Err(e),
    }
}

/// The copy is a database like any other.
fn end(
    life: &mut Life<'_>,
    session: &mut Session,
    states: &[Rows],
    progress: &mut Progress,
) -> Result<(), String> {
    let Some(found) = life.table(session, "SELECT id, v FROM r.dbo.story")? else {
        return Ok(());
    };
    if states.last() != Some(&found) {
        return Err(format!(
            "the copy has {found:?} and should have {:?}",
            states.last()
        ));
    }
    let open = life.instance.databases.find("r").ok_or("r is not there")?;
    match audit::structures(&open) {
        Err(_) if life.disk.is_off() => return Ok(()),
        Err(e) => return Err(format!("the copy: {e}")),
        Ok(()) => {}
    }
    drop(open);
    progress.recovered = true;
    Ok(())
}
