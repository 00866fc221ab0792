//! What is known of a column's values: how many are different, how often each comes, where they lie.
//!
//! A histogram has at most [`MOST_STEPS`] steps. A step ends at a value that rows have; it tells how many rows have that
//! value, and how many rows, of how many different values, lie between it and the step before. Numbers taken from a sample
//! are scaled to the table.

use std::cmp::Ordering;

use duramen_base::{SqlResult, given_up};
use duramen_types::{CollationId, Value};

use crate::steps::ordered_while;

/// As many steps as SQL Server's histograms have.
pub const MOST_STEPS: usize = 200;

/// One step of a histogram; its columns are those of DBCC SHOW_STATISTICS.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// RANGE_HI_KEY
    pub high: Value,
    /// RANGE_ROWS
    pub range_rows: f64,
    /// EQ_ROWS
    pub equal_rows: f64,
    /// DISTINCT_RANGE_ROWS
    pub distinct_range_rows: f64,
}

/// The statistics of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStatistics {
    /// Rows of the table when they were made, and rows that were looked at.
    pub rows: f64,
    pub sampled: f64,
    /// Rows with NULL.
    pub nulls: f64,
    /// Different values, NULL counted as one.
    pub distinct: f64,
    /// Bytes of a value.
    pub average_length: f64,
    pub steps: Vec<Step>,
    collation: CollationId,
}

fn number(v: &Value) -> Option<f64> {
    match v {
        Value::Float(f) => Some(*f),
        Value::Real(f) => Some(f64::from(*f)),
        Value::Decimal(d) => Some(d.to_f64()),
        Value::Money(m) => Some(*m as f64 / 10_000.0),
        Value::SmallMoney(m) => Some(f64::from(*m) / 10_000.0),
        v => v.as_i64().map(|n| n as f64),
    }
}

fn length(v: &Value) -> f64 {
    match v {
        Value::VarChar(b) | Value::Binary(b) => b.len() as f64,
        Value::NVarChar(u) => u.len() as f64 * 2.0,
        Value::Null => 0.0,
        Value::TinyInt(_) | Value::Bit(_) => 1.0,
        Value::SmallInt(_) => 2.0,
        Value::Int(_) | Value::Real(_) | Value::SmallMoney(_) | Value::SmallDateTime(_) => 4.0,
        Value::Guid(_) => 16.0,
        _ => 8.0,
    }
}

impl ColumnStatistics {
    /// Bytes that they take, about.
    pub fn bytes(&self) -> usize {
        let values = self.steps.iter().map(|s| s.high.heap_bytes());
        size_of::<Self>() + self.steps.capacity() * size_of::<Step>() + values.sum::<usize>()
    }

    /// The statistics of a column from some of its values; `rows` is how many the table has. The error: nobody wants them
    /// any more.
    pub fn new(
        mut values: Vec<Value>,
        rows: u64,
        collation: CollationId,
    ) -> SqlResult<ColumnStatistics> {
        let sampled = values.len() as f64;
        let rows = (rows as f64).max(sampled);
        let scale = if sampled > 0.0 { rows / sampled } else { 0.0 };
        let bytes: f64 = values.iter().map(length).sum();
        values.retain(|v| !v.is_null());
        let nulls = (sampled - values.len() as f64) * scale;
        let compare =
            |a: usize, b: usize| duramen_types::compare(&values[a], &values[b], collation);
        let order = ordered_while(&given_up::check, values.len(), compare)?;
        let mut runs: Vec<(Value, f64)> = Vec::new();
        for (n, at) in order.into_iter().enumerate() {
            given_up::after_step(n)?;
            let v = std::mem::replace(&mut values[at as usize], Value::Null);
            match runs.last_mut() {
                Some((last, n)) if duramen_types::compare(last, &v, collation).is_eq() => *n += 1.0,
                _ => runs.push((v, 1.0)),
            }
        }
        // Values met once stand for others that were not met.
        let once = runs.iter().filter(|(_, n)| *n == 1.0).count() as f64;
        let met = runs.len() as f64;
        let distinct = match scale > 1.0 {
            true => (once * scale.sqrt() + met - once).min(rows - nulls),
            false => met,
        };
        let spread = if met > 0.0 { distinct / met } else { 1.0 };
        Ok(ColumnStatistics {
            rows,
            sampled,
            nulls,
            distinct: distinct + f64::from(u8::from(nulls > 0.0)),
            average_length: if sampled > 0.0 { bytes / sampled } else { 0.0 },
            steps: steps(runs, scale, spread),
            collation,
        })
    }

    /// The part of all rows that a row with one value stands for on average.
    pub fn density(&self) -> f64 {
        1.0 / self.distinct.max(1.0)
    }

    /// Whether a value is of the kind that the column has.
    pub fn knows(&self, v: &Value) -> bool {
        let like = |s: &Step| std::mem::discriminant(&s.high) == std::mem::discriminant(v);
        self.steps.first().is_some_and(like)
    }

    fn compare(&self, a: &Value, b: &Value) -> Ordering {
        duramen_types::compare(a, b, self.collation)
    }

    /// The share of rows that have this value.
    pub fn equal_share(&self, v: &Value) -> f64 {
        if self.rows < 1.0 || v.is_null() {
            return 0.0;
        }
        let at = self
            .steps
            .partition_point(|s| self.compare(v, &s.high).is_gt());
        let rows = match self.steps.get(at) {
            // Beyond what was seen: rows that came since.
            None => 1.0,
            Some(s) if self.compare(v, &s.high).is_eq() => s.equal_rows,
            Some(s) => match s.distinct_range_rows >= 1.0 {
                true => s.range_rows / s.distinct_range_rows,
                false => 1.0,
            },
        };
        (rows.max(1.0) / self.rows).min(1.0)
    }

    /// The share of rows below a value, or up to it.
    pub fn below_share(&self, v: &Value, inclusive: bool) -> f64 {
        if self.rows < 1.0 || v.is_null() {
            return 0.0;
        }
        let mut rows = 0.0;
        let mut low: Option<&Value> = None;
        for s in &self.steps {
            match self.compare(v, &s.high) {
                Ordering::Greater => rows += s.range_rows + s.equal_rows,
                Ordering::Equal => {
                    rows += s.range_rows + if inclusive { s.equal_rows } else { 0.0 };
                    break;
                }
                Ordering::Less => {
                    let part = match (low.and_then(number), number(v), number(&s.high)) {
                        (Some(a), Some(x), Some(b)) if b > a => ((x - a) / (b - a)).clamp(0.0, 1.0),
                        (None, ..) if low.is_none() => 0.0,
                        _ => 0.5,
                    };
                    rows += s.range_rows * part;
                    break;
                }
            }
            low = Some(&s.high);
        }
        (rows / self.rows).clamp(0.0, 1.0)
    }
}

/// Puts runs of equal values into steps: the smallest value is the first, frequent values end steps of their own, and the
/// others share the rest evenly.
fn steps(runs: Vec<(Value, f64)>, scale: f64, spread: f64) -> Vec<Step> {
    let total: f64 = runs.iter().map(|(_, n)| n).sum();
    let all = runs.len();
    let target = total / (MOST_STEPS - 2) as f64;
    let mut out: Vec<Step> = Vec::new();
    let (mut between, mut kinds) = (0.0, 0.0);
    for (i, (value, n)) in runs.into_iter().enumerate() {
        let last = i + 1 == all;
        let room = MOST_STEPS - out.len() > all - i;
        let full = i == 0 || last || room || between + n >= target && out.len() < MOST_STEPS - 1;
        if !full {
            between += n;
            kinds += 1.0;
            continue;
        }
        out.push(Step {
            high: value,
            range_rows: between * scale,
            equal_rows: n * scale,
            distinct_range_rows: kinds * spread,
        });
        (between, kinds) = (0.0, 0.0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = i32>, rows: u64) -> ColumnStatistics {
        let values = values.map(Value::Int).collect();
        ColumnStatistics::new(values, rows, CollationId::DEFAULT).expect("it is wanted")
    }

    #[test]
    fn few_values_are_known_each() {
        let s = of((0..1000).map(|i| i % 10), 1000);
        assert_eq!((s.steps.len(), s.distinct), (10, 10.0));
        assert_eq!(s.equal_share(&Value::Int(3)), 0.1);
        assert_eq!(s.equal_share(&Value::Int(99)), 0.001);
        assert_eq!(s.below_share(&Value::Int(5), false), 0.5);
        assert_eq!(s.below_share(&Value::Int(5), true), 0.6);
    }

    #[test]
    fn many_values_share_steps_and_frequent_ones_stand_out() {
        let values = (0..50_000).map(|i| if i % 2 == 0 { 7 } else { i });
        let s = of(values, 50_000);
        assert!(s.steps.len() <= MOST_STEPS, "{}", s.steps.len());
        assert!((s.equal_share(&Value::Int(7)) - 0.5).abs() < 0.01);
        assert!(s.equal_share(&Value::Int(20_001)) < 0.000_1);
        let half = s.below_share(&Value::Int(25_000), false);
        assert!((half - 0.75).abs() < 0.01, "{half}");
        let rows: f64 = s.steps.iter().map(|s| s.range_rows + s.equal_rows).sum();
        assert_eq!(rows, 50_000.0);
    }

    #[test]
    fn a_sample_is_scaled() {
        let s = of((0..1000).map(|i| i * 10), 100_000);
        assert!(s.distinct > 5_000.0 && s.distinct <= 100_000.0);
        assert!((s.below_share(&Value::Int(5_000), false) - 0.5).abs() < 0.02);
        let nulls = vec![Value::Null, Value::Int(1), Value::Null, Value::Int(2)];
        let s = ColumnStatistics::new(nulls, 40, CollationId::DEFAULT).expect("it is wanted");
        assert_eq!((s.nulls, s.distinct.round()), (20.0, 7.0));
    }

    #[test]
    fn nothing_is_known_of_nothing() {
        let s = of(std::iter::empty(), 0);
        assert_eq!(s.equal_share(&Value::Int(1)), 0.0);
        assert_eq!(s.below_share(&Value::Int(1), true), 0.0);
    }
}
