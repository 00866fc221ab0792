//! The report: one HTML file that needs nothing else, made from a record alone.

mod compare;
pub(crate) mod page;
mod trial;

use duramen_plot::{Bar, Bars, Lines, Series};

use crate::record::{Outcome, Run, Trial};
use crate::spread::Spread;
use page::{Page, cell, head, number, row};

pub use compare::compare;

/// The whole page.
pub fn html(run: &Run) -> String {
    let mut page = Page::new(&format!("Duramen lab: {}", run.began));
    introduction(&mut page, run);
    for outcome in &run.experiments {
        experiment(&mut page, outcome);
    }
    page.end()
}

fn introduction(page: &mut Page, run: &Run) {
    page.tag("h1", "The lab");
    page.text(&format!(
        "{} UTC, {:.0} s, duramen {}: {}",
        run.began, run.seconds, run.program, run.command
    ));
    let whose = match (run.server.embedded, run.server.ours) {
        (true, _) => "a server of the lab's own, fresh for every trial",
        (false, true) => "a running Duramen",
        (false, false) => "a running SQL Server",
    };
    let mut facts = vec![
        ("server", format!("{} ({whose})", run.server.version)),
        (
            "machine",
            format!(
                "{}, {} processors, {} MB, {}",
                run.machine.processor,
                run.machine.processors,
                run.machine.memory_mb,
                run.machine.system
            ),
        ),
    ];
    if run.disk.durable_writes_per_s > 0.0 {
        facts.push((
            "disk",
            format!(
                "a durable 4 KB write {:.0} us into written space, {:.0} us into allocated, {:.0} us growing ({:.0} a second, one at a time); {:.0} MB/s written, {:.0} MB/s read; {:.0} GB free",
                run.disk.durable_write_us,
                run.disk.allocated_write_us,
                run.disk.growing_write_us,
                run.disk.durable_writes_per_s,
                run.disk.write_mb_s,
                run.disk.read_mb_s,
                run.disk.free_gb
            ),
        ));
    }
    page.facts(&facts);
    claims(page, run);
    page.tag("h2", "What was found");
    page.text(
        "Trials are repeated round by round. A ratio is the middle one of the rounds, with the interval that holds it with at least 90 %; \"no difference seen\" says how large one could have hidden.",
    );
    for outcome in &run.experiments {
        if outcome.findings.is_empty() {
            continue;
        }
        page.raw(&format!(
            "<h3><a href=\"#{}\">{}</a></h3>",
            duramen_plot::escape(&outcome.name),
            duramen_plot::escape(&outcome.title)
        ));
        page.list(&outcome.findings);
    }
}

/// What others have published, and whether it is so here.
fn claims(page: &mut Page, run: &Run) {
    if run.experiments.iter().all(|o| o.claims.is_empty()) {
        return;
    }
    page.tag("h2", "Published claims");
    let names = ["claim", "published", "here", "", "scale"];
    let mut text = head(&names.map(str::to_owned));
    for outcome in &run.experiments {
        for claim in &outcome.claims {
            text.push_str(&row(&[
                cell(&claim.claim),
                cell(&claim.published),
                cell(&claim.ours),
                cell(&claim.verdict),
                number(outcome.scale),
            ]));
        }
    }
    page.table(&text);
}

fn experiment(page: &mut Page, outcome: &Outcome) {
    page.section(&outcome.name, &outcome.title);
    page.text(&outcome.question);
    page.text(&format!(
        "Scale {} of: {}. It took {:.0} s.{}",
        number(outcome.scale),
        outcome.full,
        outcome.seconds,
        match outcome.source.as_str() {
            "" => String::new(),
            source => format!(" Published: {source}."),
        }
    ));
    page.raw(&elapsed_bars(outcome).svg());
    if let Some(curve) = curve(outcome) {
        page.raw(&curve.svg());
    }
    table(page, outcome);
    if !outcome.skipped.is_empty() {
        let line = |s: &crate::record::Skipped| format!("{}: {}", s.name, s.why);
        page.tag("h3", "Skipped");
        page.list(&outcome.skipped.iter().map(line).collect::<Vec<_>>());
    }
    for trial in &outcome.trials {
        trial::details(page, &outcome.name, trial);
    }
}

/// Elapsed times, the published ones scaled so that the first trial that has one agrees.
fn elapsed_bars(outcome: &Outcome) -> Bars {
    let first = outcome
        .trials
        .iter()
        .find_map(|t| Some((t.elapsed_s, t.published_s?)));
    let factor = first.map(|(ours, theirs)| ours / theirs);
    let families = families(outcome);
    let bar = |t: &Trial| Bar {
        name: t.name.clone(),
        value: t.elapsed_s,
        group: families.iter().position(|f| *f == t.family).unwrap_or(0),
        reference: t.published_s.zip(factor).map(|(s, f)| s * f),
    };
    Bars {
        title: "Elapsed time".to_owned(),
        unit: "s".to_owned(),
        bars: outcome.trials.iter().map(bar).collect(),
        reference: "published, scaled so that the first one agrees".to_owned(),
    }
}

fn families(outcome: &Outcome) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for trial in &outcome.trials {
        if !out.contains(&trial.family) {
            out.push(trial.family.clone());
        }
    }
    out
}

/// Where trials differ by a number (connections, VLFs), the curve over it.
fn curve(outcome: &Outcome) -> Option<Lines> {
    let (x_name, setting) = match outcome.name.as_str() {
        "populate" => ("connections, a row a transaction", "connections"),
        "vlf-count" => ("VLFs", "VLFs"),
        _ => return None,
    };
    let plain = |t: &&Trial| {
        let off = ["log apart", "manual checkpoints", "log sized before"];
        off.iter().all(|s| matches!(t.setting(s), "" | "false"))
            && matches!(t.setting("batch"), "" | "1")
            && matches!(t.setting("data files"), "" | "1")
    };
    let chosen: Vec<&Trial> = outcome.trials.iter().filter(plain).collect();
    let points = |family: &str, of: &dyn Fn(&Trial) -> Option<f64>| -> Vec<(f64, f64)> {
        let mine = chosen.iter().filter(|t| t.family == family);
        let point = |t: &&&Trial| Some((t.setting(setting).parse().ok()?, of(t)?));
        mine.filter_map(|t| point(&t)).collect()
    };
    let mut series = Vec::new();
    if outcome.name == "populate" {
        for family in families(outcome) {
            series.push(Series {
                points: points(&family, &|t| t.figure("rate")),
                name: family,
            });
        }
    } else {
        for name in [
            "start after a crash",
            "full backup",
            "log backup",
            "restore",
        ] {
            series.push(Series {
                name: name.to_owned(),
                points: points("2012", &|t| t.figure(name)),
            });
        }
    }
    let unit = match outcome.name.as_str() {
        "populate" => "rows/s",
        _ => "s",
    };
    Some(Lines {
        title: format!("By {setting}"),
        x_name: x_name.to_owned(),
        unit: unit.to_owned(),
        series,
        log_x: true,
        dots: true,
        ..Lines::default()
    })
}

fn table(page: &mut Page, outcome: &Outcome) {
    let mut figures: Vec<(String, String)> = Vec::new();
    for figure in outcome.trials.iter().flat_map(|t| &t.figures) {
        let column = (figure.name.clone(), figure.unit.clone());
        if !figures.contains(&column) {
            figures.push(column);
        }
    }
    let mut names = ["trial", "elapsed s", "from", "to", "repeats"]
        .map(str::to_owned)
        .to_vec();
    let published = outcome.trials.iter().any(|t| t.published_s.is_some());
    if published {
        names.push("published s".to_owned());
    }
    names.extend(figures.iter().map(|(name, unit)| format!("{name} {unit}")));
    let fixed = [
        "VLFs",
        "log MB",
        "growths",
        "log written MB",
        "data written MB",
        "top wait",
    ];
    let logs = outcome.trials.iter().any(|t| t.log.vlfs > 0.0);
    if logs {
        names.extend(fixed.map(str::to_owned));
    }
    let mut text = head(&names);
    for trial in &outcome.trials {
        let times = trial.times();
        let of = |value: fn(&Spread) -> f64| {
            times
                .as_ref()
                .map_or_else(String::new, |t| number(value(t)))
        };
        let mut cells = vec![
            cell(&trial.name),
            number(trial.elapsed_s),
            of(|t| t.low),
            of(|t| t.high),
            of(|t| t.repeats as f64),
        ];
        if published {
            cells.push(trial.published_s.map_or_else(String::new, number));
        }
        for (name, _) in &figures {
            cells.push(trial.figure(name).map_or_else(String::new, number));
        }
        if logs {
            let top = trial.waits.first();
            cells.extend([
                number(trial.log.vlfs),
                number(trial.log.size_mb),
                number(trial.log.growths),
                number(trial.files.log.written_mb),
                number(trial.files.data.written_mb),
                top.map_or_else(String::new, |w| {
                    format!("{} {:.2} s", cell(&w.kind), w.ms / 1000.0)
                }),
            ]);
        }
        text.push_str(&row(&cells));
    }
    page.table(&text);
}
