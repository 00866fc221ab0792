//! Putting together what several threads have made of one group: counts are added, sums too, of extremes the better stays.

use duramen_base::SqlResult;
use duramen_types::{POW10, Value};

use super::accumulator::Accumulator;
use crate::aggregate::{State, decimal_sum, overflow_of_sum};
use crate::plan::{Aggregate, AggregateKind};

impl Accumulator {
    /// Adds another thread's groups: its `i`th is our group `numbers[i]`, of `groups`. Sums have to fit their type now.
    #[expect(clippy::too_many_lines, reason = "the steps of one join over groups")]
    pub(super) fn join(
        &mut self,
        mut other: Accumulator,
        aggregate: &Aggregate,
        (numbers, groups): (&[u32], usize),
    ) -> SqlResult<()> {
        if matches!(self, Accumulator::Empty) && !matches!(other, Accumulator::Empty) {
            *self = other.like();
            self.grow(groups);
        }
        match (&mut *self, &mut other) {
            (_, Accumulator::Empty) => return Ok(()),
            (Accumulator::Count(counts), Accumulator::Count(more)) => {
                for (g, n) in numbers.iter().zip(more) {
                    counts[*g as usize] += *n;
                }
                return Ok(());
            }
            (
                Accumulator::Ints { kind, sums, counts },
                Accumulator::Ints {
                    kind: k,
                    sums: more,
                    counts: n,
                },
            ) if kind == k => {
                let (low, high) = kind.range();
                for (i, g) in numbers.iter().enumerate() {
                    let g = *g as usize;
                    match sums[g].checked_add(more[i]) {
                        Some(sum) if low <= sum && sum <= high => sums[g] = sum,
                        _ => {
                            let up = i128::from(sums[g]) + i128::from(more[i]) > 0;
                            let end = kind.value(if up { high } else { low });
                            let more = kind.value(if up { 1 } else { -1 });
                            return Err(overflow_of_sum(&end, &more, &aggregate.ty));
                        }
                    }
                    counts[g] += n[i];
                }
                return Ok(());
            }
            (
                Accumulator::Floats { sums, counts },
                Accumulator::Floats {
                    sums: more,
                    counts: n,
                },
            ) => {
                for (i, g) in numbers.iter().enumerate() {
                    let g = *g as usize;
                    let sum = match (counts[g], n[i]) {
                        (_, 0) => continue,
                        (0, _) => more[i],
                        _ => sums[g] + more[i],
                    };
                    if !sum.is_finite() {
                        let (sum, more) = (Value::Float(sums[g]), Value::Float(more[i]));
                        return Err(overflow_of_sum(&sum, &more, &aggregate.ty));
                    }
                    sums[g] = sum;
                    counts[g] += n[i];
                }
                return Ok(());
            }
            (
                Accumulator::Decimals {
                    precision,
                    scale,
                    sums,
                    counts,
                },
                Accumulator::Decimals {
                    precision: p,
                    scale: s,
                    sums: more,
                    counts: n,
                },
            ) if precision == p && scale == s => {
                for (i, g) in numbers.iter().enumerate() {
                    let g = *g as usize;
                    match sums[g].checked_add(more[i]) {
                        Some(sum) if -POW10[38] < sum && sum < POW10[38] => sums[g] = sum,
                        _ => {
                            let value = |m| decimal_sum(m, 38, *scale);
                            let (sum, more) = (value(sums[g]), value(more[i]));
                            return Err(overflow_of_sum(&sum, &more, &aggregate.ty));
                        }
                    }
                    counts[g] += n[i];
                }
                return Ok(());
            }
            (
                Accumulator::Best { kind, best, counts },
                Accumulator::Best {
                    kind: k,
                    best: more,
                    counts: n,
                },
            ) if kind == k => {
                let least = aggregate.kind == AggregateKind::Min;
                for (i, g) in numbers.iter().enumerate() {
                    let g = *g as usize;
                    let better = match least {
                        true => more[i] < best[g],
                        false => more[i] > best[g],
                    };
                    if n[i] > 0 && (counts[g] == 0 || better) {
                        best[g] = more[i];
                    }
                    counts[g] += n[i];
                }
                return Ok(());
            }
            _ => {}
        }
        // Of different forms, or of one that has no numbers.
        self.check_range(aggregate)?;
        other.check_range(aggregate)?;
        if !matches!(self, Accumulator::Any(_)) {
            self.loosen();
            self.grow(groups);
        }
        if let Accumulator::Any(states) = self {
            for (g, state) in numbers.iter().zip(other.states()) {
                states[*g as usize].join(state, aggregate)?;
            }
        }
        Ok(())
    }

    /// The sums that were let out of their type's range have to be in it now.
    pub(super) fn check_range(&self, aggregate: &Aggregate) -> SqlResult<()> {
        let Accumulator::Ints { kind, sums, .. } = self else {
            return Ok(());
        };
        let (low, high) = kind.range();
        match sums.iter().find(|sum| **sum < low || **sum > high) {
            None => Ok(()),
            Some(sum) => {
                let end = kind.value(if *sum < low { low } else { high });
                let more = kind.value(if *sum < low { -1 } else { 1 });
                Err(overflow_of_sum(&end, &more, &aggregate.ty))
            }
        }
    }

    /// One of the same form without groups.
    fn like(&self) -> Accumulator {
        match self {
            Accumulator::Ints { kind, .. } => Accumulator::Ints {
                kind: *kind,
                sums: Vec::new(),
                counts: Vec::new(),
            },
            Accumulator::Decimals {
                precision, scale, ..
            } => Accumulator::Decimals {
                precision: *precision,
                scale: *scale,
                sums: Vec::new(),
                counts: Vec::new(),
            },
            Accumulator::Best { kind, .. } => Accumulator::Best {
                kind: *kind,
                best: Vec::new(),
                counts: Vec::new(),
            },
            Accumulator::Count(_) => Accumulator::Count(Vec::new()),
            Accumulator::Floats { .. } => Accumulator::Floats {
                sums: Vec::new(),
                counts: Vec::new(),
            },
            _ => Accumulator::Any(Vec::new()),
        }
    }
}

impl State {
    /// Adds what another thread has made of the group. Not for DISTINCT and lists.
    fn join(&mut self, other: State, aggregate: &Aggregate) -> SqlResult<()> {
        if matches!(
            aggregate.kind,
            AggregateKind::StDev | AggregateKind::StDevP | AggregateKind::Var | AggregateKind::VarP
        ) {
            self.join_spread(&other);
            return Ok(());
        }
        let (count, value) = other.into_parts();
        if count == 0 {
            return Ok(());
        }
        match aggregate.kind {
            AggregateKind::CountStar | AggregateKind::Count => self.add_count(count),
            _ if value.is_null() => self.add_count(count),
            _ => {
                let ty = aggregate.input.as_ref().map_or(aggregate.ty, |e| e.ty);
                self.add(aggregate, value, &ty)?;
                // One of them has been counted.
                self.add_count(count - 1);
            }
        }
        Ok(())
    }
}
