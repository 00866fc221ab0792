//! Every rule speaks when it should, keeps quiet when it should, and names an experiment that exists.

use super::facts::{Database, Facts, File};
use super::{Advice, render, rules};
use crate::experiments::ALL;
use crate::record::{Outcome, Run};

fn file(is_log: bool, growth: f64, percent: bool) -> File {
    File {
        name: if is_log { "shop_log" } else { "shop" }.to_owned(),
        is_log,
        size_mb: 5_000.0,
        growth,
        percent,
        writes: 50_000.0,
        write_stall_ms: 20_000.0,
    }
}

/// A server that has nothing to be told.
fn healthy() -> Facts {
    Facts {
        major: 16,
        instant_file_init: Some(true),
        databases: vec![Database {
            name: "shop]".to_owned(),
            recovery_model: "FULL".to_owned(),
            log_reuse_wait: "NOTHING".to_owned(),
            target_recovery_s: 60.0,
            vlfs: 80.0,
            log_used_percent: 10.0,
            log_growths: 1.0,
            files: vec![file(false, 256.0, false), file(true, 64.0, false)],
        }],
        waits: vec![
            ("WRITELOG".to_owned(), 5_000.0),
            ("LCK_M_X".to_owned(), 20_000.0),
        ],
        ..Facts::default()
    }
}

fn changed(change: impl Fn(&mut Facts)) -> Vec<Advice> {
    let mut facts = healthy();
    change(&mut facts);
    rules::all(&facts)
}

#[test]
fn a_healthy_server_is_left_alone() {
    assert_eq!(rules::all(&healthy()), Vec::new());
    assert!(render(&[], None).starts_with("nothing to change"));
}

#[test]
fn every_rule_speaks_by_itself() {
    type Change = fn(&mut Facts);
    let cases: [(Change, &str, &str); 11] = [
        (
            |f| f.databases[0].files[1] = file(true, 10.0, true),
            "percent-growth",
            "FILEGROWTH = 64MB",
        ),
        (
            |f| f.databases[0].files[1] = file(true, 1.0, false),
            "vlf",
            "FILEGROWTH = 64MB",
        ),
        (
            |f| f.databases[0].files[0] = file(false, 1.0, false),
            "vlf",
            "FILEGROWTH = 256MB",
        ),
        (
            |f| f.databases[0].files[1].write_stall_ms = 5e5,
            "populate",
            "MODIFY FILE",
        ),
        (|f| f.databases[0].vlfs = 4_000.0, "vlf-count", "SHRINKFILE"),
        (
            |f| f.databases[0].log_growths = 30.0,
            "growth",
            "SIZE = 6250MB",
        ),
        (
            |f| {
                f.databases[0].log_used_percent = 90.0;
                f.databases[0].log_reuse_wait = "LOG_BACKUP".to_owned();
            },
            "percent-growth",
            "BACKUP LOG",
        ),
        (
            |f| {
                f.databases[0].log_used_percent = 90.0;
                f.databases[0].log_reuse_wait = "ACTIVE_TRANSACTION".to_owned();
            },
            "percent-growth",
            "DBCC OPENTRAN",
        ),
        (
            |f| f.databases[0].target_recovery_s = 0.0,
            "checkpoint",
            "= 60 SECONDS",
        ),
        (
            |f| f.instant_file_init = Some(false),
            "vlf",
            "volume maintenance",
        ),
        (
            |f| f.waits[0].1 = 90_000.0,
            "durability",
            "DELAYED_DURABILITY",
        ),
    ];
    for (change, experiment, part) in cases {
        let advice = changed(change);
        assert_eq!(advice.len(), 1, "{part}: {advice:?}");
        assert_eq!(advice[0].experiment, experiment);
        assert!(advice[0].tsql.contains(part), "{}", advice[0].tsql);
        assert!(ALL.iter().any(|e| e.name == experiment));
    }
}

#[test]
fn what_fits_an_old_version_is_other_advice() {
    let advice = changed(|f| {
        f.major = 15;
        f.databases[0].files[1] = file(true, 1.0, false);
    });
    assert!(
        advice[0].tsql.contains("FILEGROWTH = 1024MB"),
        "{}",
        advice[0].tsql
    );
    // Names are safe in what the reader will paste.
    assert!(advice[0].tsql.contains("[shop]]]"));
}

#[test]
fn a_run_is_quoted() {
    let advice = changed(|f| f.databases[0].vlfs = 4_000.0);
    let run = Run {
        experiments: vec![Outcome {
            name: "vlf-count".to_owned(),
            findings: vec!["start after a crash: 0.1 s with 10 VLFs".to_owned()],
            ..Outcome::default()
        }],
        ..Run::default()
    };
    let text = render(&advice, Some(&run));
    assert!(text.contains("measured: start after a crash"), "{text}");
    assert!(text.contains("duramen lab run vlf-count"));
}
