//! One trial's details: waits, what happened over time, the map of its log, its latencies.

use duramen_plot::{Columns, Lines, Series, escape};

use super::page::{Page, cell, head, number, row};
use crate::record::Trial;
use crate::runner::file_name;

/// A fold with everything that was measured.
pub fn details(page: &mut Page, experiment: &str, trial: &Trial) {
    page.raw(&format!(
        "<details><summary>{}: {} s</summary>",
        escape(&trial.name),
        number(trial.elapsed_s)
    ));
    let settings: Vec<(&str, String)> = trial
        .settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    page.facts(&settings);
    if !trial.waits.is_empty() {
        waits(page, trial);
    }
    for picture in timelines(trial) {
        page.raw(&picture.svg());
    }
    if !trial.log.map.is_empty() {
        page.log_map(
            "The log file".to_owned(),
            format!(
                "{:.0} VLFs, {:.0} MB; dark: active",
                trial.log.vlfs, trial.log.size_mb
            ),
            trial.log.map.iter().map(|(mb, status)| (*mb, *status == 2)),
        );
    }
    if !trial.latencies.is_empty() {
        let latencies = Columns {
            title: "Latency of a commit".to_owned(),
            x_name: "ms".to_owned(),
            unit: "commits".to_owned(),
            buckets: trial.latencies.clone(),
        };
        page.raw(&latencies.svg());
    }
    if !trial.samples.rows.is_empty() {
        let file = format!("samples/{experiment}-{}.csv", file_name(&trial.name));
        page.raw(&format!(
            "<p>{} samples: <a href=\"{}\">{}</a></p>",
            trial.samples.rows.len(),
            escape(&file),
            escape(&file)
        ));
    }
    page.raw("</details>");
}

/// The waits as the first article lists them: percent and running percent, to 99 %.
fn waits(page: &mut Page, trial: &Trial) {
    let total: f64 = trial.waits.iter().map(|w| w.ms).sum();
    let names = [
        "wait type",
        "tasks",
        "seconds",
        "percent",
        "running",
        "published percent",
    ];
    let mut text = head(&names.map(str::to_owned));
    let mut running = 0.0;
    for wait in &trial.waits {
        if running > 99.0 || wait.ms <= 0.0 {
            break;
        }
        let percent = 100.0 * wait.ms / total.max(1e-9);
        running += percent;
        let published = trial.published_waits.iter().find(|p| p.0 == wait.kind);
        text.push_str(&row(&[
            cell(&wait.kind),
            number(wait.tasks),
            number(wait.ms / 1000.0),
            format!("{percent:.2}"),
            format!("{running:.2}"),
            published.map_or_else(String::new, |p| format!("{:.2}", p.1)),
        ]));
    }
    for (kind, percent) in &trial.published_waits {
        if trial.waits.iter().all(|w| w.kind != *kind) {
            let none = String::new;
            text.push_str(&row(&[
                cell(kind),
                "0".to_owned(),
                none(),
                none(),
                none(),
                format!("{percent:.2}"),
            ]));
        }
    }
    page.table(&text);
}

/// A line before it has a colour: its name and points.
type Line = (&'static str, Vec<(f64, f64)>);

/// Pictures below each other over the same seconds, in the manner of a performance monitor.
fn timelines(trial: &Trial) -> Vec<Lines> {
    let samples = &trial.samples;
    let Some(end) = samples.rows.last().and_then(|r| r.first()).copied() else {
        return Vec::new();
    };
    let scaled = |points: Vec<(f64, f64)>, by: f64| -> Vec<(f64, f64)> {
        points.into_iter().map(|(x, y)| (x, y * by)).collect()
    };
    let rate = |column: &str, by: f64| scaled(samples.rate(column), by);
    let panels: [(&str, &str, Vec<Line>); 6] = [
        (
            "Written",
            "MB/s",
            vec![
                ("log", rate("log_bytes_flushed", 1e-6)),
                ("log and data", rate("bytes_written", 1e-6)),
            ],
        ),
        (
            "Pages",
            "pages/s",
            vec![
                ("checkpoint", rate("checkpoint_pages", 1.0)),
                ("background writer", rate("background_writer_pages", 1.0)),
                ("lazy writes", rate("lazy_writes", 1.0)),
                ("allocated", rate("pages_allocated", 1.0)),
            ],
        ),
        (
            "Write latency",
            "ms a write",
            vec![("", samples.ratio("write_stall_ms", Some("writes")))],
        ),
        (
            "Write queue",
            "writes in flight",
            vec![("", rate("write_stall_ms", 1e-3))],
        ),
        (
            "Log flushes",
            "flushes/s",
            vec![("", rate("log_flushes", 1.0))],
        ),
        (
            "Log growths",
            "growths/s",
            vec![("", rate("log_growths", 1.0))],
        ),
    ];
    let mut out = Vec::new();
    for (title, unit, series) in panels {
        // A line that never leaves 0 says as much by its absence.
        let moved = |s: &Line| s.1.iter().any(|p| p.1 > 0.0);
        let series: Vec<Series> = series
            .into_iter()
            .filter(moved)
            .map(|(name, points)| Series {
                name: name.to_owned(),
                points,
            })
            .collect();
        if series.is_empty() {
            continue;
        }
        out.push(Lines {
            title: title.to_owned(),
            x_name: "s".to_owned(),
            unit: unit.to_owned(),
            series,
            range: Some((0.0, end)),
            height: 90.0,
            ..Lines::default()
        });
    }
    out
}
