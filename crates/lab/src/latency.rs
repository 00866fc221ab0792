//! Times of single requests in buckets of equal ratio, four a doubling, from 1 us to 100 s.

use std::time::Duration;

const PER_DOUBLING: f64 = 4.0;
const BUCKETS: usize = 108;

/// Counts by bucket. Bounds are exact to a quarter of a doubling (19 %).
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: Vec<u64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            counts: vec![0; BUCKETS],
        }
    }
}

impl Latencies {
    pub fn note(&mut self, time: Duration) {
        let us = (time.as_nanos() as f64 / 1000.0).max(1.0);
        let bucket = (us.log2() * PER_DOUBLING) as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
    }

    pub fn add(&mut self, other: &Latencies) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The upper bound in ms of the bucket that holds this share of all; 0 when there is none.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (n, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && *count > 0 {
                return bound_ms(n + 1);
            }
        }
        0.0
    }

    /// (from ms, to ms, count) of every bucket with something in it.
    pub fn buckets(&self) -> Vec<(f64, f64, f64)> {
        let all = self.counts.iter().enumerate().filter(|(_, c)| **c > 0);
        all.map(|(n, c)| (bound_ms(n), bound_ms(n + 1), *c as f64))
            .collect()
    }
}

fn bound_ms(bucket: usize) -> f64 {
    2_f64.powf(bucket as f64 / PER_DOUBLING) / 1000.0
}
