//! Two runs over each other: what both have, side by side.

use duramen_plot::{Bar, Bars};

use super::page::{Page, cell, head, number, row};
use crate::record::{Outcome, Run, Trial};
use crate::spread::{Ratio, Spread};

/// A page that overlays two runs; experiments and trials that only one has are named.
pub fn compare(a: &Run, b: &Run) -> String {
    let mut page = Page::new("Duramen lab: two runs");
    page.tag("h1", "Two runs");
    let whose = |run: &Run| format!("{} UTC, {}: {}", run.began, run.server.version, run.command);
    page.facts(&[("first", whose(a)), ("second", whose(b))]);
    for first in &a.experiments {
        match b.experiments.iter().find(|o| o.name == first.name) {
            Some(second) => both(&mut page, first, second),
            None => page.text(&format!("{}: only the first run has it.", first.title)),
        }
    }
    for second in &b.experiments {
        if a.experiments.iter().all(|o| o.name != second.name) {
            page.text(&format!("{}: only the second run has it.", second.title));
        }
    }
    page.end()
}

/// A change, or what each run's own repeats differ by.
fn change(first: &Trial, second: &Trial, factor: f64) -> String {
    let spread = |trial: &Trial, by: f64| {
        Spread::of(trial.repeats.iter().map(|r| r.elapsed_s * by).collect())
    };
    let ratio = spread(first, 1.0)
        .zip(spread(second, factor))
        .and_then(|(a, b)| Ratio::of_runs(a, b));
    ratio.map_or_else(
        || "no repeats: nothing can be said".to_owned(),
        |r| match (r.differs(), r.0.median > 1.0) {
            (true, true) => format!("slower: {}", r.times_the_time()),
            (true, false) => format!("faster: {}", r.times_the_time()),
            (false, _) => r.times_the_time(),
        },
    )
}

fn both(page: &mut Page, a: &Outcome, b: &Outcome) {
    page.section(&a.name, &a.title);
    page.text(&format!(
        "Scale {} and {}. Times of different scales are compared by the work that was done.",
        number(a.scale),
        number(b.scale)
    ));
    // Per unit of work, so that scales do not matter.
    let per = |seconds: f64, scale: f64| seconds / scale.max(1e-12);
    let factor = a.scale;
    let names = ["trial", "first s", "second s", "second / first", ""];
    let mut text = head(&names.map(str::to_owned));
    let mut bars = Vec::new();
    for first in &a.trials {
        let Some(second) = b.trials.iter().find(|t| t.name == first.name) else {
            continue;
        };
        let other = per(second.elapsed_s, b.scale) * factor;
        text.push_str(&row(&[
            cell(&first.name),
            number(first.elapsed_s),
            number(other),
            format!("{:.2}", other / first.elapsed_s.max(1e-12)),
            change(first, second, factor / b.scale.max(1e-12)),
        ]));
        bars.push(Bar {
            name: first.name.clone(),
            value: first.elapsed_s,
            group: 0,
            reference: Some(other),
        });
    }
    let picture = Bars {
        title: "Elapsed time of the first run".to_owned(),
        unit: "s".to_owned(),
        bars,
        reference: "the second run".to_owned(),
    };
    page.raw(&picture.svg());
    page.table(&text);
}
