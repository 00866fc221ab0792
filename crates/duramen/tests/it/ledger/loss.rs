//! What kills took of commits with delayed durability: no more than is documented, and the log's end, never its middle.

use std::time::{Duration, Instant};

use super::Durability;
use super::model::Kind;
use super::session::Settled;

/// What was answered this long before the kill must be there. The server begins to harden a record at most 10 ms after it
/// was appended (twice `harden_after`); the rest is the write, which behind other people's syncs has taken 0.4 s, and a
/// machine on which threads wait for a processor.
const WINDOW: Duration = Duration::from_secs(2);

/// Sums over all kills.
#[derive(Default)]
pub struct Losses {
    pub commits: u64,
    /// Kills that took any.
    pub kills: u64,
    /// How long before its kill the oldest lost commit was answered.
    pub oldest: Duration,
}

impl Losses {
    /// Judges what one kill at that time took from all sessions.
    pub fn judge(&mut self, durability: Durability, killed: Instant, sessions: &[Settled]) {
        let lost = || sessions.iter().flat_map(|s| &s.lost);
        let Some(first) = lost().map(|c| c.answered).min() else {
            return;
        };
        assert!(
            durability == Durability::Delayed,
            "acknowledged and lost: {:?}",
            lost().collect::<Vec<_>>()
        );
        for c in lost() {
            assert!(
                c.change.kind == Kind::One,
                "a transaction over two databases is never delayed: {c:?} is lost"
            );
        }
        // Whoever began to commit after an answer is behind that answer's commit in the log.
        let later = sessions.iter().flat_map(|s| &s.kept).map(|c| c.sent).max();
        assert!(
            later.is_none_or(|sent| sent <= first),
            "a commit is lost, and one that came {:?} after its answer is there",
            later.map(|sent| sent - first)
        );
        let age = killed.saturating_duration_since(first);
        assert!(
            age <= WINDOW,
            "a commit is lost that was answered {age:?} before the kill"
        );
        self.commits += lost().count() as u64;
        self.kills += 1;
        self.oldest = self.oldest.max(age);
    }
}
