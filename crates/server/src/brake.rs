//! A brake on wrong passwords: whoever has given some for a login waits before the next is looked at, longer each time.
//!
//! The wait is of one client address and one login: others log in as quickly as ever. No worker waits; attempts that come at
//! once get one turn behind the other, and those whose turn would be too far off are refused without a look.
//!
//! Invariants
//! 1. No more than [`MOST`] pairs are remembered; the one that failed longest ago goes first. [test: memory_is_bounded]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use duramen_os::sync::Mutex;
use duramen_os::time::{self, Instant};

/// Pairs of an address and a login that are remembered.
const MOST: usize = 4096;
/// So many may fail before anybody waits: people mistype.
const FREE: u32 = 3;
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// A turn further off than this is none.
const PATIENCE: Duration = Duration::from_secs(20);
/// After so long without a failure it is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);

#[derive(Default)]
pub struct Brake {
    failed: Mutex<BTreeMap<(IpAddr, String), Failed>>,
}

struct Failed {
    times: u32,
    last: Instant,
    /// When the next attempt has its turn.
    next: Instant,
}

/// When an attempt may be looked at.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn {
    Now,
    In(Duration),
    /// Too many are waiting.
    Never,
}

fn key(address: IpAddr, login: &str) -> (IpAddr, String) {
    (
        address,
        login.chars().take(128).collect::<String>().to_lowercase(),
    )
}

/// How long after the last of so many failures the next attempt has its turn.
fn delay(times: u32) -> Duration {
    match times.checked_sub(FREE) {
        None => Duration::ZERO,
        Some(more) => FIRST.saturating_mul(1 << more.min(10)).min(LONGEST),
    }
}

impl Brake {
    /// The turn of an attempt that comes now.
    pub fn turn(&self, address: IpAddr, login: &str) -> Turn {
        self.turn_at(address, login, time::now())
    }

    fn turn_at(&self, address: IpAddr, login: &str, now: Instant) -> Turn {
        let mut all = self.failed.lock();
        let key = key(address, login);
        let Some(failed) = all.get_mut(&key) else {
            return Turn::Now;
        };
        if now.since(failed.last) > FORGOTTEN {
            all.remove(&key);
            return Turn::Now;
        }
        let wait = failed.next.since(now);
        if wait > PATIENCE {
            return Turn::Never;
        }
        // Who comes next waits behind this one.
        failed.next = failed.next.max(now) + delay(failed.times);
        match wait.is_zero() {
            true => Turn::Now,
            false => Turn::In(wait),
        }
    }

    /// An attempt had the wrong password, or none was right.
    pub fn failed(&self, address: IpAddr, login: &str) {
        self.failed_at(address, login, time::now());
    }

    fn failed_at(&self, address: IpAddr, login: &str, now: Instant) {
        let mut all = self.failed.lock();
        let key = key(address, login);
        if !all.contains_key(&key) && all.len() >= MOST {
            let oldest = all
                .iter()
                .min_by_key(|(_, f)| f.last)
                .map(|(k, _)| k.clone());
            oldest.map(|k| all.remove(&k));
        }
        let failed = all.entry(key).or_insert(Failed {
            times: 0,
            last: now,
            next: now,
        });
        failed.times = failed.times.saturating_add(1);
        failed.last = now;
        failed.next = failed.next.max(now + delay(failed.times));
    }

    /// An attempt had the right password.
    pub fn succeeded(&self, address: IpAddr, login: &str) {
        let mut all = self.failed.lock();
        if !all.is_empty() {
            all.remove(&key(address, login));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn who_fails_waits_longer_each_time_and_others_do_not() {
        let brake = Brake::default();
        let start = time::now();
        for _ in 0..2 {
            brake.failed_at(HERE, "sa", start);
            assert_eq!(brake.turn_at(HERE, "sa", start), Turn::Now);
        }
        let mut now = start;
        let mut last = Duration::ZERO;
        for n in 0..10 {
            brake.failed_at(HERE, "SA", now);
            match brake.turn_at(HERE, "sa", now) {
                Turn::In(wait) => {
                    assert!(wait >= last && wait <= LONGEST, "{n}: {wait:?}");
                    last = wait;
                    now += wait;
                }
                other => panic!("{n}: {other:?}"),
            }
        }
        assert_eq!(last, LONGEST);
        assert_eq!(brake.turn_at(HERE, "other", now), Turn::Now);
        let elsewhere = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(brake.turn_at(elsewhere, "sa", now), Turn::Now);
        brake.succeeded(HERE, "sa");
        assert_eq!(brake.turn_at(HERE, "sa", now), Turn::Now);
    }

    #[test]
    fn attempts_at_once_have_their_turns_one_behind_the_other() {
        let brake = Brake::default();
        let now = time::now();
        (0..12).for_each(|_| brake.failed_at(HERE, "sa", now));
        let turns: Vec<Turn> = (0..8).map(|_| brake.turn_at(HERE, "sa", now)).collect();
        let expected = [5, 10, 15, 20].map(|s| Turn::In(Duration::from_secs(s)));
        assert_eq!(turns[..4], expected);
        assert!(turns[4..].iter().all(|t| *t == Turn::Never));
        assert_eq!(brake.turn_at(HERE, "sa", now + FORGOTTEN * 2), Turn::Now);
    }

    #[test]
    fn memory_is_bounded() {
        let brake = Brake::default();
        let now = time::now();
        (0..MOST * 2).for_each(|n| brake.failed_at(HERE, &format!("l{n}"), now));
        assert_eq!(brake.failed.lock().len(), MOST);
    }
}
