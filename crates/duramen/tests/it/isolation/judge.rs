//! Rounds before the judge: what the asked level forbids and was seen, and what it allows and how often that was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adya::{Anomaly, History, Opts, check, model};

use super::history::{ROWS, View, history, workload};
use super::levels::Level;
use super::round::{Kind, Outcome, Round};

/// Transactions of the part of a round in which cycles are counted: of every knot of transactions, one of a kind.
const PART: usize = 64;

/// Anomalies that no model of the crate names, but that are looked for.
const UNMODELLED: [&str; 8] = [
    "lost-update",
    "internal",
    "future-read",
    "dirty-update",
    "incompatible-order",
    "duplicate-elements",
    "cyclic-versions",
    "G1",
];

#[derive(Default)]
pub struct Verdict {
    /// Anomalies that the level forbids, with the judge's reasons.
    pub forbidden: Vec<(String, String)>,
    /// What was seen, by name.
    pub seen: BTreeMap<String, u64>,
}

pub fn judge(level: &Level, round: &Round) -> Verdict {
    let mut verdict = Verdict::default();
    let all: Vec<usize> = (0..round.tried.len()).collect();
    let view = match level.predicates {
        true => View::Whole,
        false => View::ItemsOnly,
    };
    let mut forbidden = model::prohibited_by(level.models);
    forbidden.extend(model::implying(level.forbids));
    let whole = history(round, view, &all, true);
    let found = found(level, round.kind, &whole, "strict-serializable");
    refuse(&mut verdict, &found, &forbidden);
    for (kind, anomalies) in &found {
        // Cycles are counted in parts.
        if !kind.starts_with("G-") && !kind.starts_with("G2") && !is_cycle(kind) {
            *verdict.seen.entry(kind.clone()).or_default() += anomalies.len() as u64;
        }
    }
    if level.statement_snapshots && round.kind == Kind::Lists {
        let statements = history(round, View::Statements, &all, true);
        let found = self::found(level, round.kind, &statements, "snapshot-isolation");
        let torn = model::prohibited_by(&["snapshot-isolation"]);
        refuse(&mut verdict, &found, &torn);
    }
    count(level, round, &mut verdict.seen);
    verdict
}

fn is_cycle(kind: &str) -> bool {
    kind == "G0" || kind == "G1c" || kind.ends_with("-cycle-exists") || kind.ends_with("-realtime")
}

fn refuse(
    verdict: &mut Verdict,
    found: &BTreeMap<String, Vec<Anomaly>>,
    forbidden: &BTreeSet<String>,
) {
    for (kind, anomalies) in found {
        if forbidden.contains(kind) {
            let reasons = anomalies
                .iter()
                .map(|a| (kind.clone(), a.explanation.clone()));
            verdict.forbidden.extend(reasons);
        }
    }
}

/// Everything the crate finds in a history.
fn found(
    level: &Level,
    kind: Kind,
    history: &History,
    model: &str,
) -> BTreeMap<String, Vec<Anomaly>> {
    let dirty = level.name == "read-uncommitted";
    let opts = Opts {
        models: vec![model.to_owned()],
        anomalies: UNMODELLED.map(str::to_owned).to_vec(),
        timeout: Duration::from_secs(1),
        wfr_keys: !dirty,
        // Who reads what is rolled back later sees versions come and go.
        linearizable_keys: !dirty,
        ..Opts::default()
    };
    check(history, workload(kind), &opts).anomalies
}

/// Counts cycles of committed transactions in parts of the round, by time.
fn count(level: &Level, round: &Round, seen: &mut BTreeMap<String, u64>) {
    let mut order: Vec<usize> = (0..round.tried.len())
        .filter(|i| round.tried[*i].outcome == Outcome::Committed)
        .collect();
    order.sort_by_key(|i| round.tried[*i].began);
    for part in order.chunks(PART) {
        let history = history(round, View::Whole, part, false);
        for (kind, anomalies) in found(level, round.kind, &history, "serializable") {
            if !kind.starts_with('G') || kind == "G1a" || kind == "G1b" {
                continue;
            }
            for anomaly in anomalies {
                let name = match by_predicate(&anomaly) {
                    true => kind.replace("-item", ""),
                    false => kind.clone(),
                };
                *seen.entry(name).or_default() += 1;
            }
        }
    }
}

/// One of the cycle's edges is a predicate that did not find a row inserted later: a phantom.
fn by_predicate(anomaly: &Anomaly) -> bool {
    let steps = anomaly.detail["steps"].as_array();
    steps.into_iter().flatten().any(|step| {
        let why = step["why"].as_str().unwrap_or_default();
        let key = why.split("observed the initial (empty) state of ").nth(1);
        let key = key.and_then(|rest| rest.split(',').next()?.parse::<i64>().ok());
        key.is_some_and(|key| key >= ROWS)
    })
}
