//! What a person sees while trials run: a bar with the time left, and the figures of the moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::record::Samples;

/// The bar of a whole run. Cheap to clone; silent when nobody looks (stderr is no terminal).
#[derive(Clone)]
pub struct Live {
    bar: ProgressBar,
    trial: Arc<Mutex<Trial>>,
}

struct Trial {
    name: String,
    shown: Instant,
}

impl Live {
    /// A bar over so many trials.
    pub fn new(trials: u64) -> Live {
        let bar = ProgressBar::new(trials);
        let style =
            ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} eta {eta} {wide_msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Live {
            bar,
            trial: Arc::new(Mutex::new(Trial {
                name: String::new(),
                shown: Instant::now(),
            })),
        }
    }

    /// The trials of another experiment have become known.
    pub fn more(&self, trials: u64) {
        self.bar.inc_length(trials);
    }

    pub fn begin(&self, name: &str) {
        self.trial
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .name = name.to_owned();
        self.bar.set_message(name.to_owned());
        self.bar.tick();
    }

    pub fn done(&self) {
        self.bar.inc(1);
    }

    /// A line above the bar.
    pub fn say(&self, line: &str) {
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A new sample: four times a second its rates are shown.
    pub fn sampled(&self, samples: &Samples, row: &[f64]) {
        let mut trial = self.trial.lock().unwrap_or_else(PoisonError::into_inner);
        if trial.shown.elapsed() < Duration::from_millis(250) {
            return;
        }
        let Some(before) = samples.rows.last() else {
            return;
        };
        let rate = |column: &str| {
            let at = samples.columns.iter().position(|c| c == column);
            let grown = at.map_or(0.0, |n| row[n] - before[n]);
            grown / (row[0] - before[0]).max(1e-6)
        };
        let message = format!(
            "{}  {:.0} tx/s  log {:.1} MB/s  written {:.1} MB/s",
            trial.name,
            rate("transactions"),
            rate("log_bytes_flushed") / 1e6,
            rate("bytes_written") / 1e6
        );
        self.bar.set_message(message);
        trial.shown = Instant::now();
    }
}
