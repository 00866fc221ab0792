//! How often an error is written: a loop of failing statements must not fill the disk, nor push out of the logs what was
//! there before.
//!
//! The same error with the same words is written a few times a minute, one number with whatever words more often; the rest
//! is counted, and the count is written when the minute is over.

use std::time::Duration;

use duramen_os::time::Instant;

/// Times a minute that the same words are written.
const SAME_WORDS: u32 = 20;
/// The same of one number.
const SAME_NUMBER: u32 = 600;
const WINDOW: Duration = Duration::from_secs(60);
/// Windows that are remembered; the oldest goes.
const MOST: usize = 64;
/// Characters of the words that a count repeats.
const SHOWN: usize = 200;

#[derive(Debug)]
struct Window {
    number: i64,
    /// `None`: whatever the words.
    words: Option<String>,
    began: Instant,
    count: u32,
    left_out: u64,
}

impl Window {
    fn summary(&self) -> Option<String> {
        let number = self.number;
        let times = self.left_out;
        let words = self.words.as_deref().map(|w| format!(": {w}"));
        let words = words.unwrap_or_else(|| ", with other words each time.".to_owned());
        (times > 0).then(|| format!("Error {number} came {times} more times in a minute{words}"))
    }
}

/// The errors of the last minute.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// By number and words.
    words: Vec<Window>,
    /// By number, of those that were written.
    numbers: Vec<Window>,
}

impl Repeats {
    /// Whether an error is to be written that has come `now`. What is to be written before it goes to `say`.
    pub fn admit(&mut self, number: i64, words: &str, now: Instant, say: &mut Vec<String>) -> bool {
        self.expire(now, say);
        let words: String = words.chars().take(SHOWN).collect();
        count(
            &mut self.words,
            (number, Some(words)),
            (SAME_WORDS, now),
            say,
        ) && count(&mut self.numbers, (number, None), (SAME_NUMBER, now), say)
    }

    /// Counts of minutes that are over.
    pub fn expire(&mut self, now: Instant, say: &mut Vec<String>) {
        for windows in [&mut self.words, &mut self.numbers] {
            windows.retain(|w| {
                let stays = now.since(w.began) < WINDOW;
                if !stays {
                    say.extend(w.summary());
                }
                stays
            });
        }
    }
}

/// One more: whether it is among the first.
fn count(
    windows: &mut Vec<Window>,
    (number, words): (i64, Option<String>),
    (most, now): (u32, Instant),
    say: &mut Vec<String>,
) -> bool {
    let its = |w: &&mut Window| w.number == number && w.words == words;
    if let Some(found) = windows.iter_mut().find(its) {
        found.count += 1;
        let fits = found.count <= most;
        found.left_out += u64::from(!fits);
        return fits;
    }
    if windows.len() >= MOST {
        say.extend(windows.remove(0).summary());
    }
    windows.push(Window {
        number,
        words,
        began: now,
        count: 1,
        left_out: 0,
    });
    true
}

#[cfg(test)]
mod tests {
    use duramen_os::sim::Simulation;
    use duramen_os::time;

    use super::*;

    #[test]
    fn what_repeats_is_counted_and_told_when_the_minute_is_over() {
        Simulation::new(3).run(|_| {
            let mut repeats = Repeats::default();
            let mut said = Vec::new();
            let written = (0..100_000)
                .filter(|_| repeats.admit(1105, "full", time::now(), &mut said))
                .count();
            assert_eq!((written, said.len()), (20, 0));
            assert!(repeats.admit(1105, "full elsewhere", time::now(), &mut said));
            assert!(repeats.admit(9002, "full", time::now(), &mut said));
            let other = (0..20_000)
                .filter(|n| repeats.admit(18456, &format!("user {n}"), time::now(), &mut said))
                .count();
            assert!(other <= 620, "{other}");
            assert!(repeats.words.len() <= MOST);
            time_passes();
            repeats.expire(time::now(), &mut said);
            assert!(repeats.words.is_empty() && repeats.numbers.is_empty());
            let counted = "Error 1105 came 99980 more times in a minute: full";
            assert!(said.iter().any(|s| s == counted), "{said:?}");
            assert!(repeats.admit(1105, "full", time::now(), &mut said));
        });
    }

    fn time_passes() {
        duramen_os::thread::sleep(WINDOW);
    }
}
