//! How long log writes take when nobody disturbs them, and what pauses follow from that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use duramen_os::sync::Mutex;
use duramen_wal::WritePulse;

/// The part of their speed that commits may lose.
const BUDGET: f64 = 0.06;
/// Log writes that tell how long one takes.
const LEAST_WRITES: u64 = 4;
/// Pauses are at least and at most so many times as long as the writes before them.
const PAUSES: (f64, f64) = (2.0, 40.0);

/// How long log writes take while no pages are written.
#[derive(Debug, Default)]
pub(crate) struct Calm {
    pub seen: Mutex<WritePulse>,
    /// Nanoseconds of one; 0 until known.
    nanos: AtomicU64,
}

impl Calm {
    /// Looks at what has been written since the last look.
    pub fn look(&self, now: WritePulse) {
        let before = std::mem::replace(&mut *self.seen.lock(), now);
        self.learn(now.since(before));
    }

    /// What was written meanwhile has not been disturbed.
    pub fn learn(&self, part: WritePulse) {
        if let Some(nanos) = part.mean(LEAST_WRITES) {
            let known = self.nanos.load(Ordering::Relaxed);
            let new = match known {
                0 => nanos,
                known => (known * 3 + nanos) / 4,
            };
            self.nanos.store(new.max(1), Ordering::Relaxed);
        }
    }

    /// How long to pause after a batch that took `took`, beside which log writes took `nanos` each.
    pub fn pause(&self, took: Duration, nanos: Option<u64>) -> Duration {
        let calm = self.nanos.load(Ordering::Relaxed);
        let slower = match (calm, nanos) {
            (0, _) | (_, None) => 1.0,
            (calm, Some(nanos)) => nanos as f64 / calm as f64 - 1.0,
        };
        took.mul_f64((slower / BUDGET).clamp(PAUSES.0, PAUSES.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(writes: u64, nanos: u64) -> WritePulse {
        WritePulse { writes, nanos }
    }

    #[test]
    fn pauses_grow_with_what_log_writes_suffer() {
        let calm = Calm::default();
        calm.look(pulse(100, 10_000_000));
        let ms = Duration::from_millis(1);
        // As quick as ever: the shortest pause. Half as slow again: eight times the batch.
        assert_eq!(calm.pause(ms, Some(100_000)), 2 * ms);
        let half = calm.pause(ms, Some(150_000));
        assert!(half > 8 * ms && half < 9 * ms, "{half:?}");
        assert_eq!(calm.pause(ms, Some(10_000_000)), 40 * ms);
    }

    #[test]
    fn what_is_calm_is_learnt_slowly_and_from_enough_writes() {
        let calm = Calm::default();
        calm.look(pulse(10, 1_000_000));
        assert_eq!(calm.nanos.load(Ordering::Relaxed), 100_000);
        calm.look(pulse(12, 9_000_000));
        assert_eq!(calm.nanos.load(Ordering::Relaxed), 100_000);
        calm.look(pulse(22, 14_000_000));
        assert_eq!(calm.nanos.load(Ordering::Relaxed), 200_000);
    }
}
