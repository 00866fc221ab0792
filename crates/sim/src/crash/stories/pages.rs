//! RESTORE of single pages, or of the whole file that they are in.
//!
//! Database a is backed up and changed on; while it is closed, pages of it rot. They, or the file, are restored from the full
//! backup and brought up, log after log, to the tail, with power failing on the way; after each start the restore begins again or goes
//! on. What a run asserts: the rows are those from before the damage, indexes agree with tables, and the files are sound.

use std::collections::BTreeMap;
use std::path::Path;

use duramen_os::sim::SimDisk;
use duramen_session::Session;

use super::{End, LIVES, Life, Report, World, audit};

type Rows = BTreeMap<i64, i64>;
const ROWS: i64 = 120;
const LOOK: &str = "SELECT id, v FROM a.dbo.story WHERE pad LIKE 'row-%'";

/// What is restored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Pages,
    File,
}

impl Part {
    /// The file that the table is in.
    fn path(self) -> &'static Path {
        Path::new(match self {
            Part::Pages => "/data/a.mdf",
            Part::File => "/data/a2.ndf",
        })
    }
}

pub(super) fn run(seed: u64, part: Part) -> Result<Report, String> {
    let mut world = World::new(seed, 0x0bad_9a6e);
    let made = world.life(None, |life| prepare(life, part))?;
    let made = made.ok_or("no power")?;
    let (rows, mut logs) = made;
    let mut pages = Vec::new();
    for _ in 0..1 + world.rng.below(3) {
        let row = 1 + world.rng.below(ROWS as u64);
        pages.extend(damage(&world.disk, part.path(), &format!("row-{row}-")));
    }
    pages.sort_unstable();
    pages.dedup();
    if pages.is_empty() {
        return Err("no page has the rows".to_owned());
    }
    let mut whole = false;
    for n in 0..=LIVES {
        let cut = match n {
            LIVES => None,
            _ => world.cut(500),
        };
        let tail = format!("/data/tail{n}");
        let damaged = (part, &pages[..]);
        let done = world.life(cut, |life| mend(life, damaged, &rows, &mut logs, &tail))?;
        whole = done == Some(true);
        if whole {
            break;
        }
    }
    match whole {
        true => world.close(),
        false => Err("the pages have not come back".to_owned()),
    }
}

/// Backups and changes, then a clean shutdown: the rows, and the log backups.
fn prepare(life: &mut Life<'_>, part: Part) -> Result<(Rows, Vec<String>), String> {
    let mut session = life.login()?.ok_or("no power")?;
    let run = |life: &Life<'_>, session: &mut Session, sql: &str| match life.run(session, sql) {
        End::Good(_) => Ok(()),
        End::Refused(_, e) => Err(e),
        End::Off => Err("no power".to_owned()),
    };
    let on = match part {
        Part::Pages => "",
        Part::File => {
            let add = "ALTER DATABASE a ADD FILEGROUP other; ALTER DATABASE a ADD FILE (NAME = a2, FILENAME = '/data/a2.ndf', SIZE = 512KB, FILEGROWTH = 64KB) TO FILEGROUP other";
            run(life, &mut session, add)?;
            " ON other"
        }
    };
    for sql in [
        "ALTER DATABASE a SET RECOVERY FULL",
        &format!(
            "CREATE TABLE a.dbo.story (id int NOT NULL CONSTRAINT pk_story PRIMARY KEY, v int NOT NULL, pad char(300) NOT NULL){on}"
        ),
        &format!("CREATE INDEX story_v ON a.dbo.story (v){on}"),
        &format!(
            "INSERT a.dbo.story SELECT value, 0, CONCAT('row-', value, '-') FROM GENERATE_SERIES(1, {ROWS})"
        ),
        "BACKUP DATABASE a TO DISK = '/data/story'",
    ] {
        run(life, &mut session, sql)?;
    }
    let mut rows: Rows = (1..=ROWS).map(|id| (id, 0)).collect();
    let mut logs = Vec::new();
    for n in 0..life.rng.below(4) {
        for _ in 0..life.rng.below(4) {
            let low = 1 + life.rng.below(ROWS as u64) as i64;
            let high = low + life.rng.below(40) as i64;
            for (_, v) in rows.range_mut(low..=high) {
                *v += 1;
            }
            let sql = format!("UPDATE a.dbo.story SET v = v + 1 WHERE id BETWEEN {low} AND {high}");
            run(life, &mut session, &sql)?;
            if part == Part::File && life.rng.one_in(3) {
                // The file grows, and its pages come and go.
                let goes = life.rng.one_in(2);
                let sql = format!(
                    "DROP TABLE IF EXISTS a.dbo.more{n}; CREATE TABLE a.dbo.more{n} (pad char(900)) ON other; INSERT a.dbo.more{n} SELECT CONCAT('more', id) FROM a.dbo.story; {}",
                    match goes {
                        true => format!("DROP TABLE a.dbo.more{n}"),
                        false => String::new(),
                    }
                );
                run(life, &mut session, &sql)?;
            }
            if life.rng.one_in(4) {
                run(life, &mut session, "USE a; CHECKPOINT")?;
            }
        }
        if !life.rng.one_in(4) {
            let path = format!("/data/storylog{n}");
            run(
                life,
                &mut session,
                &format!("BACKUP LOG a TO DISK = '{path}'"),
            )?;
            logs.push(path);
        }
    }
    drop(session);
    let closed = life.instance.shutdown();
    closed.map_err(|e| format!("the shutdown fails: {e}"))?;
    Ok((rows, logs))
}

/// A bit turns on the page that has the text: its number.
fn damage(disk: &SimDisk, path: &Path, text: &str) -> Option<u32> {
    let bytes = disk.durable_bytes(path)?;
    let text = text.as_bytes();
    let has = |p: &[u8]| p.windows(text.len()).any(|w| w == text);
    let page = bytes.chunks(8192).position(has)?;
    let at = page * 8192 + 4000;
    // Twice the same page would put it right again.
    disk.damage(path, at as u64, &[bytes[at] | 0x80]).ok()?;
    Some(page as u32)
}

/// One attempt; whether the database is whole again.
fn mend(
    life: &mut Life<'_>,
    (part, pages): (Part, &[u32]),
    rows: &Rows,
    logs: &mut Vec<String>,
    tail: &str,
) -> Result<bool, String> {
    let Some(mut session) = life.login()? else {
        return Ok(false);
    };
    let Some(state) = life.state(&mut session, "a")? else {
        return Ok(false);
    };
    match state.as_str() {
        "ONLINE" => match life.run(&mut session, LOOK) {
            End::Off => return Ok(false),
            // Restored, or the bit that turned was one already.
            End::Good(_) => return look(life, &mut session, rows),
            End::Refused(824, _) => {}
            End::Refused(_, e) => return Err(e),
        },
        "RESTORING" => {}
        other => return Err(format!("the database is {other}")),
    }
    // Whoever met the page may be cut off, and nobody else may be in the database.
    drop(session);
    let Some(mut session) = life.login()? else {
        return Ok(false);
    };
    if !life.must(&mut session, "USE master")? {
        return Ok(false);
    }
    let first = state == "ONLINE" && life.rng.one_in(2);
    if first {
        logs.push(tail.to_owned());
        let sql = format!("BACKUP LOG a TO DISK = '{tail}' WITH NORECOVERY");
        if !life.must(&mut session, &sql)? {
            return Ok(false);
        }
    }
    let list: Vec<String> = pages.iter().map(|p| format!("1:{p}")).collect();
    let what = match part {
        Part::Pages => format!("PAGE = '{}'", list.join(", ")),
        Part::File => ["FILE = 'a2'", "FILEGROUP = 'other'"][life.rng.below(2) as usize].to_owned(),
    };
    let sql = format!("RESTORE DATABASE a {what} FROM DISK = '/data/story' WITH NORECOVERY");
    if !life.must(&mut session, &sql)? {
        return Ok(false);
    }
    let mut all = logs.clone();
    if !first {
        all.push(tail.to_owned());
    }
    for path in &all {
        if !first && path == tail {
            logs.push(tail.to_owned());
            if !life.must(&mut session, &format!("BACKUP LOG a TO DISK = '{tail}'"))? {
                return Ok(false);
            }
        }
        let sql = format!("RESTORE LOG a FROM DISK = '{path}' WITH NORECOVERY");
        match life.run(&mut session, &sql) {
            End::Good(_) => life.report.done += 1,
            End::Off => {
                life.report.cut += 1;
                return Ok(false);
            }
            // A backup that power has cut short.
            End::Refused(3013 | 3201 | 3203 | 3241, _) if path.contains("tail") && path != tail => {
            }
            End::Refused(_, e) => return Err(e),
        }
    }
    if !life.must(&mut session, "RESTORE DATABASE a WITH RECOVERY")? {
        return Ok(false);
    }
    look(life, &mut session, rows)
}

fn look(life: &mut Life<'_>, session: &mut Session, rows: &Rows) -> Result<bool, String> {
    let Some(found) = life.table(session, LOOK)? else {
        return Ok(false);
    };
    if found != *rows {
        let differ = found.iter().filter(|(id, v)| rows.get(id) != Some(v));
        return Err(format!(
            "{} rows instead of {}; different: {:?}",
            found.len(),
            rows.len(),
            differ.take(8).collect::<Vec<_>>()
        ));
    }
    let open = life.instance.databases.find("a").ok_or("a is not there")?;
    match audit::structures(&open) {
        Err(_) if life.disk.is_off() => Ok(false),
        Err(e) => Err(e),
        Ok(()) => Ok(true),
    }
}
