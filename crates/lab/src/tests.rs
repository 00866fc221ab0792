//! What a run must keep: arguments, budgets, records and pages.

use std::time::Duration;

use crate::args::{budget, parse, target};
use crate::experiments::ALL;
use crate::latency::Latencies;
use crate::record::{Claim, Figure, Outcome, Repeat, Run, Samples, Trial, Wait};
use crate::report;
use crate::runner::{Estimate, Extent, disk_bytes, file_name, scale_for_bytes};

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

#[test]
fn arguments_are_read_or_refused() {
    let options = parse(&words(&["vlf", "growth", "--scale", "0.1", "--out", "x"])).unwrap();
    assert_eq!(options.names, ["vlf", "growth"]);
    assert_eq!(options.extent, Some(Extent::Scale(0.1)));
    for wrong in [
        &["--scale", "0.1"][..],
        &["all", "--scale", "2"],
        &["all", "--scale", "0.1", "--budget", "1m,1GB"],
        &["all", "--colour", "red"],
        &["all", "--repeats", "4"],
        &["all", "--out"],
    ] {
        assert!(parse(&words(wrong)).is_err(), "{wrong:?}");
    }
    for help in [
        &["run", "--help"][..],
        &["advise", "-h"],
        &["compare", "--help"],
    ] {
        assert_eq!(crate::run(&words(help)), 0, "{help:?}");
    }
    assert_eq!(crate::sample::run(&words(&["credit", "--help"])), 0);
    assert_eq!(crate::calibrate::run(&words(&["--help"])), 0);
    assert_eq!(
        budget("25m,20GB"),
        Ok(Extent::Budget {
            time: Duration::from_secs(1500),
            bytes: 20e9
        })
    );
    for wrong in [
        "25m",
        "25,20GB",
        "m,GB",
        "-1m,20GB",
        "25m,0GB",
        "99999999h,1GB",
    ] {
        assert!(budget(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_target_is_taken_apart() {
    let address = target("mssql://sa:p@ss:word@db.example:1444").unwrap();
    assert_eq!(address.user, "sa");
    assert_eq!(address.password, "p@ss:word");
    assert_eq!((address.host.as_str(), address.port), ("db.example", 1444));
    assert_eq!(target("mssql://sa:p@db").unwrap().port, 1433);
    for wrong in [
        "db",
        "mssql://db",
        "mssql://sa@db",
        "mssql://sa:p@db:x",
        "mssql://:p@db",
    ] {
        assert!(target(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn experiments_have_names_trials_and_pilots_of_their_own() {
    for (n, e) in ALL.iter().enumerate() {
        assert!(ALL[..n].iter().all(|o| o.name != e.name), "{}", e.name);
        for scale in [e.pilot, 1.0] {
            let trials = (e.trials)(scale);
            assert!(!trials.is_empty(), "{}", e.name);
            let mut files: Vec<String> = trials.iter().map(|t| file_name(&t.name())).collect();
            files.sort();
            files.dedup();
            assert_eq!(
                files.len(),
                trials.len(),
                "two trials of {} share a name",
                e.name
            );
        }
        assert!(disk_bytes(e, e.pilot) < 6e9, "{}'s pilot is large", e.name);
    }
}

#[test]
fn a_scale_fits_its_budget() {
    let estimate = Estimate {
        fixed_s: 10.0,
        full_s: 1_000.0,
    };
    assert_eq!(estimate.scale_for(110.0), 0.1);
    assert_eq!(estimate.scale_for(1e9), 1.0);
    assert!(estimate.scale_for(5.0) < 0.0);
    // Preparations that grow with the work are in what two runs tell.
    let two = Estimate::between((0.01, 8.0), (0.11, 38.0)).unwrap();
    assert_eq!((two.fixed_s.round(), two.full_s.round()), (5.0, 300.0));
    assert!(Estimate::between((0.01, 8.0), (0.02, 7.0)).is_none());
    let vlf = ALL.iter().find(|e| e.name == "vlf").unwrap();
    let scale = scale_for_bytes(vlf, 20e9);
    assert!(scale < 1.0 && disk_bytes(vlf, scale) <= 20e9);
    // And not much less than would fit.
    assert!(disk_bytes(vlf, scale * 1.3) > 20e9);
}

#[test]
fn latencies_keep_their_quantiles() {
    let mut all = Latencies::default();
    for ms in 1..=100 {
        all.note(Duration::from_millis(ms));
    }
    let mut more = Latencies::default();
    more.note(Duration::from_secs(3600));
    all.add(&more);
    assert_eq!(all.count(), 101);
    let p50 = all.quantile_ms(0.5);
    assert!((51.0..=62.0).contains(&p50), "{p50}");
    let counted: f64 = all.buckets().iter().map(|b| b.2).sum();
    assert_eq!(counted, 101.0);
    assert_eq!(Latencies::default().quantile_ms(0.99), 0.0);
}

#[test]
fn samples_become_rates() {
    let samples = Samples {
        columns: words(&["seconds", "bytes", "writes"]),
        rows: vec![
            vec![0.0, 0.0, 0.0],
            vec![0.5, 100.0, 2.0],
            vec![1.0, 100.0, 2.0],
        ],
    };
    assert_eq!(samples.rate("bytes"), vec![(0.5, 200.0), (1.0, 0.0)]);
    assert_eq!(
        samples.ratio("bytes", Some("writes")),
        vec![(0.5, 50.0), (1.0, 0.0)]
    );
    assert!(samples.rate("nothing").is_empty());
}

fn a_run() -> Run {
    let trial = |name: &str, seconds: f64| Trial {
        name: name.to_owned(),
        family: "2014".to_owned(),
        elapsed_s: seconds,
        repeats: (0..5)
            .map(|round| Repeat {
                round,
                elapsed_s: seconds,
                ..Repeat::default()
            })
            .collect(),
        published_s: Some(seconds * 10.0),
        settings: vec![("commit".to_owned(), "<b>".to_owned())],
        figures: vec![Figure::new("rows", 1000.0, "rows")],
        waits: vec![Wait {
            kind: "WRITELOG".to_owned(),
            tasks: 5.0,
            ms: 1500.0,
        }],
        published_waits: vec![("CXPACKET".to_owned(), 72.22)],
        log: crate::record::LogShape {
            vlfs: 3.0,
            size_mb: 3.0,
            growths: 1.0,
            map: vec![(1.0, 0), (1.0, 2), (1.0, 0)],
        },
        samples: Samples {
            columns: words(&["seconds", "log_bytes_flushed"]),
            rows: vec![vec![0.0, 0.0], vec![0.1, 1e6]],
        },
        ..Trial::default()
    };
    Run {
        began: "2026-01-31 12:00:00".to_owned(),
        experiments: vec![Outcome {
            name: "durability".to_owned(),
            title: "Durability".to_owned(),
            scale: 0.1,
            trials: vec![
                trial("2014, classic wait, a row a transaction", 8.0),
                trial("2014, delayed, a row a transaction", 0.5),
            ],
            findings: vec!["a <script>".to_owned()],
            claims: vec![Claim {
                claim: "a claim".to_owned(),
                verdict: "reproduced".to_owned(),
                ..Claim::default()
            }],
            ..Outcome::default()
        }],
        ..Run::default()
    }
}

#[test]
fn a_record_survives_its_file_and_an_older_reader() {
    let run = a_run();
    let text = serde_json::to_string(&run).unwrap();
    let back: Run = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    // A record that knows less, and one that knows more.
    let odd: Run = serde_json::from_str("{\"began\":\"x\",\"unheard\":[1]}").unwrap();
    assert_eq!(odd.began, "x");
}

#[test]
fn a_report_shows_what_was_measured_and_believes_nothing() {
    let page = report::html(&a_run());
    for part in [
        "Published claims",
        "reproduced",
        "WRITELOG",
        "CXPACKET",
        "72.22",
        "VLF 2: 1.00 MB",
        "samples/durability-2014-delayed-a-row-a-transaction.csv",
        "published, scaled",
        "MB/s",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("<script>") && !page.contains("<b>"));
    assert!(
        !page.contains("http://")
            || page.matches("http://www.w3.org/2000/svg").count()
                == page.matches("http://").count()
    );
    let both = report::compare(&a_run(), &a_run());
    assert!(both.contains("second / first") && both.contains("1.00"));
    assert!(both.contains("no difference seen (under 0 %)"));
    let mut slower = a_run();
    for repeat in &mut slower.experiments[0].trials[0].repeats {
        repeat.elapsed_s *= 1.5;
    }
    let both = report::compare(&a_run(), &slower);
    assert!(both.contains("slower: 1.50 (1.50 to 1.50) times the time"));
}
