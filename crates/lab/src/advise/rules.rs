//! The rules: from facts to advice. Thresholds stand here, each with its reason.

use super::Advice;
use super::facts::{Database, Facts, File};

/// Below this, growths are many and each makes everybody wait.
const SMALL_GROWTH_MB: f64 = 64.0;
/// From 2022 a growth of a log up to this is not zeroed.
const INSTANT_LOG_MB: f64 = 64.0;
/// More VLFs than this make recovery, backup and restore slower; a thousand is the usual alarm.
const MANY_VLFS: f64 = 1_000.0;
/// A log this full that nobody empties will grow.
const FULL_PERCENT: f64 = 50.0;
/// A log write that takes longer than this is slow for any disk of this decade.
const SLOW_WRITE_MS: f64 = 5.0;
/// Fewer writes say nothing about a disk.
const ENOUGH_WRITES: f64 = 1_000.0;
/// A wait type that takes this share of all is worth a change.
const GREAT_SHARE: f64 = 0.3;
/// Less waiting than this in total is not worth anything.
const ENOUGH_WAITING_S: f64 = 10.0;
/// A log that grew this often since the start was too small.
const MANY_GROWTHS: f64 = 10.0;

pub fn all(facts: &Facts) -> Vec<Advice> {
    let mut out = Vec::new();
    for database in &facts.databases {
        for file in &database.files {
            out.extend(growth_setting(facts, database, file));
            out.extend(slow_log(database, file));
        }
        out.extend(many_vlfs(database));
        out.extend(many_growths(database));
        out.extend(log_reuse(database));
        out.extend(checkpoint(facts, database));
    }
    out.extend(instant_file_init(facts));
    out.extend(commit_waits(facts));
    out
}

fn growth_setting(facts: &Facts, database: &Database, file: &File) -> Option<Advice> {
    let (what, experiment) = match (file.percent, file.growth) {
        (_, 0.0) => return None,
        (true, _) => (format!("{:.0} %", file.growth), "percent-growth"),
        (false, mb) if mb < SMALL_GROWTH_MB => (format!("{mb:.0} MB"), "vlf"),
        _ => return None,
    };
    let instant_log = facts.ours || facts.major >= 16;
    let (mb, reason) = match (file.is_log, instant_log) {
        (true, true) => (
            INSTANT_LOG_MB,
            "growths of a log up to 64 MB are not zeroed in this version",
        ),
        (true, false) => (
            1024.0,
            "every growth of a log is zeroed while all writers wait",
        ),
        (false, _) => (256.0, "every growth stops whoever needs the space"),
    };
    let kind = if file.is_log { "log" } else { "data" };
    Some(Advice {
        about: database.name.clone(),
        what: format!(
            "let the {kind} file {} grow by {mb:.0} MB, not by {what}",
            file.name
        ),
        why: format!(
            "it has {:.0} MB and grows by {what}; {reason}.",
            file.size_mb
        ),
        tsql: format!(
            "ALTER DATABASE {} MODIFY FILE (NAME = {}, FILEGROWTH = {mb:.0}MB);",
            bracketed(&database.name),
            bracketed(&file.name)
        ),
        experiment,
    })
}

fn slow_log(database: &Database, file: &File) -> Option<Advice> {
    let ms = file.write_stall_ms / file.writes.max(1.0);
    if !file.is_log || file.writes < ENOUGH_WRITES || ms < SLOW_WRITE_MS {
        return None;
    }
    Some(Advice {
        about: database.name.clone(),
        what: "put the log on a faster disk, or where no data files are".to_owned(),
        why: format!(
            "{:.0} writes of {} took {ms:.1} ms on average; every commit waits for one.",
            file.writes, file.name
        ),
        tsql: format!(
            "ALTER DATABASE {} MODIFY FILE (NAME = {}, FILENAME = N'<a path on the other disk>');\n-- then OFFLINE, move the file, ONLINE",
            bracketed(&database.name),
            bracketed(&file.name)
        ),
        experiment: "populate",
    })
}

fn many_vlfs(database: &Database) -> Option<Advice> {
    if database.vlfs < MANY_VLFS {
        return None;
    }
    let log = database.files.iter().find(|f| f.is_log)?;
    let (name, file) = (bracketed(&database.name), bracketed(&log.name));
    // What is shrunk comes back in steps of 4,000 MB at most: 16 VLFs each.
    let size = log.size_mb.max(64.0).round();
    let mut steps = String::new();
    let mut at = 0.0;
    while at < size {
        at = (at + 4000.0).min(size);
        steps.push_str(&format!(
            "\nALTER DATABASE {name} MODIFY FILE (NAME = {file}, SIZE = {at:.0}MB);"
        ));
    }
    let backup = match database.recovery_model.as_str() {
        "SIMPLE" => "CHECKPOINT;".to_owned(),
        _ => format!("BACKUP LOG {name} TO DISK = N'<file>';"),
    };
    Some(Advice {
        about: database.name.clone(),
        what: format!(
            "make the log again with fewer VLFs than its {:.0}",
            database.vlfs
        ),
        why: format!(
            "{:.0} MB of log are cut into {:.0} parts of {:.2} MB; recovery, backup and restore look at each.",
            log.size_mb,
            database.vlfs,
            log.size_mb / database.vlfs
        ),
        tsql: format!("USE {name};\n{backup}\nDBCC SHRINKFILE ({file}, 1);{steps}"),
        experiment: "vlf-count",
    })
}

fn many_growths(database: &Database) -> Option<Advice> {
    if database.log_growths < MANY_GROWTHS {
        return None;
    }
    let log = database.files.iter().find(|f| f.is_log)?;
    Some(Advice {
        about: database.name.clone(),
        what: "give the log the size it needs before it needs it".to_owned(),
        why: format!(
            "it has grown {:.0} times since the server started, to {:.0} MB; writers waited each time.",
            database.log_growths, log.size_mb
        ),
        tsql: format!(
            "ALTER DATABASE {} MODIFY FILE (NAME = {}, SIZE = {:.0}MB); -- now, and whenever the database is made again",
            bracketed(&database.name),
            bracketed(&log.name),
            (log.size_mb * 1.25).round()
        ),
        experiment: "growth",
    })
}

fn log_reuse(database: &Database) -> Option<Advice> {
    if database.log_used_percent < FULL_PERCENT {
        return None;
    }
    let name = bracketed(&database.name);
    let (what, tsql) = match database.log_reuse_wait.as_str() {
        "LOG_BACKUP" => (
            "back the log up, or take the SIMPLE recovery model",
            format!(
                "BACKUP LOG {name} TO DISK = N'<file>';\n-- or, where the last backup is enough: ALTER DATABASE {name} SET RECOVERY SIMPLE;"
            ),
        ),
        "ACTIVE_TRANSACTION" => (
            "end the transaction that holds the log",
            format!("USE {name};\nDBCC OPENTRAN;"),
        ),
        _ => return None,
    };
    Some(Advice {
        about: database.name.clone(),
        what: what.to_owned(),
        why: format!(
            "{:.0} % of the log is in use and cannot be used again ({}): it will grow.",
            database.log_used_percent, database.log_reuse_wait
        ),
        tsql,
        experiment: "percent-growth",
    })
}

fn checkpoint(facts: &Facts, database: &Database) -> Option<Advice> {
    if database.target_recovery_s > 0.0 || (facts.major < 13 && !facts.ours) {
        return None;
    }
    Some(Advice {
        about: database.name.clone(),
        what: "let indirect checkpoints write all along".to_owned(),
        why: "TARGET_RECOVERY_TIME is 0: automatic checkpoints write everything at once, and commits wait behind them.".to_owned(),
        tsql: format!("ALTER DATABASE {} SET TARGET_RECOVERY_TIME = 60 SECONDS;", bracketed(&database.name)),
        experiment: "checkpoint",
    })
}

fn instant_file_init(facts: &Facts) -> Option<Advice> {
    if facts.instant_file_init != Some(false) {
        return None;
    }
    let how = match facts.ours {
        true => "-- start the server with --instant-file-init on",
        false => {
            "-- give the service account the right to perform volume maintenance tasks, then restart"
        }
    };
    Some(Advice {
        about: "server".to_owned(),
        what: "turn instant file initialization on".to_owned(),
        why: format!(
            "every growth of a data file is zeroed first; sessions have waited {:.1} s in PREEMPTIVE_OS_WRITEFILEGATHER.",
            facts.wait_s("PREEMPTIVE_OS_WRITEFILEGATHER")
        ),
        tsql: how.to_owned(),
        experiment: "vlf",
    })
}

fn commit_waits(facts: &Facts) -> Option<Advice> {
    let share = facts.wait_share("WRITELOG");
    if share < GREAT_SHARE || facts.wait_s("WRITELOG") < ENOUGH_WAITING_S {
        return None;
    }
    let tsql = match facts.ours {
        true => "-- in the database: replies wait for the log, statements do not\nALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = PACKET;".to_owned(),
        false => "-- more rows a transaction; or, where losing the last moments in a crash is allowed:\nALTER DATABASE <name> SET DELAYED_DURABILITY = ALLOWED;".to_owned(),
    };
    Some(Advice {
        about: "server".to_owned(),
        what: "commit less often, or wait less for it".to_owned(),
        why: format!(
            "{:.0} % of all waiting ({:.0} s) is WRITELOG.",
            share * 100.0,
            facts.wait_s("WRITELOG")
        ),
        tsql,
        experiment: "durability",
    })
}

/// `[name]`, with its brackets doubled.
fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}
