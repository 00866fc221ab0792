//! What repeats of one measurement say, and what they do not.
//!
//! Repeats of an experiment's trials are interleaved, so that what the machine does meanwhile happens to all of them; two
//! trials are compared round by round. The middle of the rounds' ratios is told with an interval that needs no assumption
//! about how times are spread: order statistics of a median (the sign test), at least 90 % sure. Where it holds 1 in it,
//! no difference was seen, and it is told how large one could have hidden.

use std::fmt;

use crate::record::{Repeat, Trial};

/// So often every trial is run, at least: the fewest whose least and greatest hold the median with 90 %.
pub const REPEATS: u32 = 5;
/// How sure an interval is to hold the median.
const SURE: f64 = 0.9;

/// A median and where it may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub repeats: usize,
}

impl Spread {
    /// Of all values; `None` of none.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let middle = (*values.get(n / 2)? + *values.get((n - 1) / 2)?) / 2.0;
        let cut = outside(n);
        Some(Spread {
            median: middle,
            low: values[cut],
            high: values[n - 1 - cut],
            repeats: n,
        })
    }

    pub fn is_sure(&self) -> bool {
        self.repeats >= REPEATS as usize
    }
}

/// How many of n values in order may be left out at either end.
fn outside(n: usize) -> usize {
    let mut cut = 0;
    // The chance that the median lies at or below value number `cut`, both ends.
    let (mut term, mut below) = (0.5_f64.powi(n as i32), 0.0);
    for k in 0..n / 2 {
        below += term;
        term *= (n - k) as f64 / (k + 1) as f64;
        if 1.0 - 2.0 * below < SURE {
            break;
        }
        cut = k;
    }
    cut
}

/// One trial's measurement by another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub Spread);

impl Ratio {
    /// Of times, round by round.
    pub fn of_times(a: &Trial, b: &Trial) -> Option<Ratio> {
        Ratio::of(a, b, |r| Some(r.elapsed_s))
    }

    /// Of a figure, round by round.
    pub fn of_figures(a: &Trial, b: &Trial, name: &str) -> Option<Ratio> {
        Ratio::of(a, b, |r| r.figure(name))
    }

    fn of(a: &Trial, b: &Trial, value: impl Fn(&Repeat) -> Option<f64>) -> Option<Ratio> {
        let pair = |r: &Repeat| {
            let other = b.repeats.iter().find(|o| o.round == r.round)?;
            let (up, down) = (value(r)?, value(other)?);
            (down > 0.0).then_some(up / down)
        };
        Spread::of(a.repeats.iter().filter_map(pair).collect()).map(Ratio)
    }

    /// Of one trial in two runs, whose rounds have nothing to do with each other: the ends of their intervals.
    pub fn of_runs(a: Spread, b: Spread) -> Option<Ratio> {
        let all_above = [a.median, a.low, a.high].iter().all(|v| *v > 0.0);
        all_above.then(|| {
            Ratio(Spread {
                median: b.median / a.median,
                low: b.low / a.high,
                high: b.high / a.low,
                repeats: a.repeats.min(b.repeats),
            })
        })
    }

    /// The other way round.
    #[cfg(test)]
    pub fn inverse(self) -> Ratio {
        let Spread {
            median,
            low,
            high,
            repeats,
        } = self.0;
        Ratio(Spread {
            median: 1.0 / median,
            low: 1.0 / high,
            high: 1.0 / low,
            repeats,
        })
    }

    /// More than the rounds differ by themselves.
    pub fn differs(&self) -> bool {
        self.0.is_sure() && (self.0.low > 1.0 || self.0.high < 1.0)
    }

    /// In percent: a difference as large as this could have hidden.
    fn hidden(&self) -> f64 {
        // A ratio of 1.1 is not a hair above.
        100.0 * (self.0.high - 1.0).max(1.0 - self.0.low) - 1e-9
    }

    /// `1.39 (1.31 to 1.47) times the time`, or that nothing was seen.
    pub fn times_the_time(&self) -> String {
        self.describe("times the time")
    }

    /// `13.1 (12.0 to 14.2) times as fast`.
    pub fn times_as_fast(&self) -> String {
        self.describe("times as fast")
    }

    pub fn describe(&self, unit: &str) -> String {
        match (self.0.is_sure(), self.differs()) {
            (true, true) => format!("{self} {unit}"),
            (true, false) => format!(
                "no difference seen (under {:.0} %)",
                self.hidden().ceil().abs()
            ),
            (false, _) => format!(
                "{} repeats of {REPEATS}: nothing can be said",
                self.0.repeats
            ),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread {
            median, low, high, ..
        } = self.0;
        let digits = if median.abs() < 10.0 { 2 } else { 1 };
        write!(f, "{median:.digits$} ({low:.digits$} to {high:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        // Tables of the sign test: from so many values on, so many may be left out at either end (two-sided 90 %).
        for (n, cut) in [(1, 0), (5, 0), (7, 0), (8, 1), (10, 1), (11, 2), (13, 3)] {
            assert_eq!(outside(n), cut, "{n}");
        }
    }

    #[test]
    fn a_median_lies_between_its_ends() {
        let all = vec![5.0, 1.0, 3.0, 2.0, 4.0];
        let spread = Spread::of(all).unwrap();
        assert_eq!((spread.median, spread.low, spread.high), (3.0, 1.0, 5.0));
        assert_eq!(Spread::of(vec![1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    fn trial(seconds: &[f64]) -> Trial {
        let repeat = |(n, s): (usize, &f64)| Repeat {
            round: n as u32,
            elapsed_s: *s,
            ..Repeat::default()
        };
        Trial {
            repeats: seconds.iter().enumerate().map(repeat).collect(),
            ..Trial::default()
        }
    }

    #[test]
    fn what_all_rounds_share_is_no_noise() {
        // The machine became slower and slower; one trial took twice the other's time all along.
        let (a, b) = (
            trial(&[2.0, 4.0, 6.0, 8.0, 10.0]),
            trial(&[1.0, 2.0, 3.0, 4.0, 5.0]),
        );
        let ratio = Ratio::of_times(&a, &b).unwrap();
        assert!(ratio.differs());
        assert_eq!(ratio.times_the_time(), "2.00 (2.00 to 2.00) times the time");
        assert_eq!(ratio.inverse().0.median, 0.5);
    }

    #[test]
    fn noise_is_called_noise() {
        let (a, b) = (trial(&[1.0, 1.1, 0.9, 1.05, 0.97]), trial(&[1.0; 5]));
        let ratio = Ratio::of_times(&a, &b).unwrap();
        assert!(!ratio.differs());
        assert_eq!(ratio.times_the_time(), "no difference seen (under 10 %)");
        let few = Ratio::of_times(&trial(&[2.0, 2.0]), &trial(&[1.0, 1.0])).unwrap();
        assert!(!few.differs());
        assert_eq!(few.times_as_fast(), "2 repeats of 5: nothing can be said");
        assert_eq!(Ratio::of_times(&trial(&[]), &trial(&[1.0])), None);
    }

    #[test]
    fn two_runs_differ_where_their_intervals_do_not_meet() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).unwrap();
        let (a, near, far) = (
            spread(&[1.0, 1.1, 0.9, 1.0, 1.0]),
            spread(&[1.05, 1.15, 1.0, 1.1, 1.1]),
            spread(&[1.5, 1.6, 1.4, 1.5, 1.5]),
        );
        assert!(!Ratio::of_runs(a, near).unwrap().differs());
        assert!(Ratio::of_runs(a, far).unwrap().differs());
    }
}
