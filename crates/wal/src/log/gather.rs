//! Sessions that commit again as soon as they are served, gathered into one write.
//!
//! When a write ends, those it served ask again a moment later: too late for the write that others begin at once. Two
//! groups then take turns for ever, each commit waits for two writes, and a write carries half of what it could. So the
//! log watches how long the served take to come back ([`Gather::back`]). When that is shorter than the write it saves,
//! the next write is held until they are all there, and the last to come does it.
//!
//! It is never held for anybody who was not just served, nor for longer than a write takes: sessions that think between
//! their commits, or a single one, wait for nothing.

use std::time::Duration;

use duramen_os::time::Instant;

/// Part of the difference by which a smoothed figure follows a new one.
const SMOOTHING: i64 = 8;

#[derive(Debug, Default)]
pub(super) struct Gather {
    /// Smoothed nanoseconds: from the end of a write until all it served were back; what a write takes.
    returns: i64,
    write: i64,
    round: Option<Round>,
}

/// Since a write ended.
#[derive(Debug)]
struct Round {
    began: Instant,
    served: u32,
    back: u32,
    holds: bool,
    /// Somebody sleeps with the deadline.
    is_watched: bool,
}

impl Gather {
    /// A write has ended that took so long and served so many who waited for it.
    pub fn begin(&mut self, now: Instant, took: Duration, served: usize) {
        self.end(now);
        follow(&mut self.write, took.as_nanos() as i64);
        self.round = Some(Round {
            began: now,
            served: served as u32,
            back: 0,
            holds: self.returns < self.write / 2,
            is_watched: false,
        });
    }

    /// Somebody asks for durability and will wait for it.
    pub fn back(&mut self, now: Instant) {
        let Some(round) = &mut self.round else {
            return;
        };
        round.back += 1;
        if round.back == round.served {
            round.holds = false;
            let took = now - round.began;
            follow(&mut self.returns, took.as_nanos() as i64);
        }
    }

    /// Whether the next write waits for more.
    pub fn holds(&self) -> bool {
        self.round
            .as_ref()
            .is_some_and(|r| r.holds && r.back < r.served)
    }

    /// Until when the caller has to watch over what is held; `None` when nothing is, or somebody else watches. Who watches
    /// says so when that is over ([`Gather::watched`]).
    pub fn watch(&mut self) -> Option<Instant> {
        let limit = Duration::from_nanos(self.write as u64);
        let is_held = self.holds();
        let round = self.round.as_mut()?;
        let is_mine = is_held && !std::mem::replace(&mut round.is_watched, true);
        is_mine.then(|| round.began + limit)
    }

    /// Nobody watches any more; what was held for too long is not held now.
    pub fn watched(&mut self, now: Instant) {
        let limit = Duration::from_nanos(self.write as u64);
        if let Some(round) = &mut self.round {
            round.is_watched = false;
            round.holds &= now - round.began < limit;
        }
    }

    /// Those who did not come back until now took at least as long.
    fn end(&mut self, now: Instant) {
        if let Some(round) = self.round.take()
            && round.back < round.served
        {
            let took = (now - round.began).as_nanos() as i64;
            follow(&mut self.returns, took.min(4 * self.write));
        }
    }
}

fn follow(smoothed: &mut i64, new: i64) {
    *smoothed += (new - *smoothed) / SMOOTHING;
}
