//! In which order what sessions have told and answered is judged.
//!
//! A batch of several statements tells after each how far it came. What it told is done, whatever becomes of the rest: others
//! may have seen it since. Of what several sessions have told and answered the order is known only in part:
//!
//! 1. What was told comes first, the oldest first. Then answers: those of what was done before those of what was refused, for
//!    that may be why; then those of whoever has ended a transaction; then the oldest.
//! 2. Whoever was done with a table whose definition another's transaction had changed has waited for that one's end,
//!    however late the other came to tell.

use std::collections::VecDeque;

use super::fault::Fault;
use super::judge;
use super::life::Life;
use super::model::{At, Op};
use super::seat::{Answer, Seat};

/// An answer to be judged: it was refused, it ends no transaction, its number.
type Order = (bool, bool, u64);

/// Answers by session that have not been judged.
type Answers = Vec<Option<(Order, Answer)>>;

impl Life<'_> {
    /// Follows what running requests have told.
    pub fn hear(&mut self) -> Result<(), Fault> {
        let none: Answers = self.who.iter().map(|_| None).collect();
        self.attend(none, false)
    }

    /// Judges what was told, and every answer that is there.
    pub fn judge_all(&mut self) -> Result<(), Fault> {
        let answers = self.who.iter().map(|w| {
            w.busy.as_ref()?;
            let answer = w.seat.as_ref().and_then(Seat::take)?;
            let order = (answer.is_refused(), !judge::ends(w), answer.number);
            Some((order, answer))
        });
        let answers = answers.collect();
        self.attend(answers, true)
    }

    /// With `all` nothing is put off.
    fn attend(&mut self, mut answers: Answers, all: bool) -> Result<(), Fault> {
        loop {
            self.gather();
            match self.first(&answers, all) {
                Some((who, Some(came))) => judge::told(self, who, came)?,
                Some((who, None)) => {
                    if let Some((_, answer)) = answers[who].take() {
                        judge::answer(self, who, answer)?;
                    }
                }
                None => return Ok(()),
            }
        }
    }

    fn gather(&mut self) {
        for w in &mut self.who {
            if let (Some(busy), Some(seat)) = (&mut w.busy, &w.seat) {
                busy.heard.extend(seat.told());
            }
        }
    }

    /// Whose turn it is, and how far that one has told it came, or `None`: it is the answer's turn.
    fn first(&mut self, answers: &Answers, all: bool) -> Option<(usize, Option<usize>)> {
        let told = |n: usize| self.who[n].busy.as_ref()?.heard.front();
        let has = |n: usize| told(n).is_some() || answers[n].is_some();
        let mut turns: Vec<(bool, Order, usize)> = (0..self.who.len())
            .filter(|n| has(*n))
            .map(|n| match (told(n), &answers[n]) {
                (None, Some((order, _))) => (true, *order, n),
                (told, _) => (false, (false, false, told.map_or(0, |t| t.when)), n),
            })
            .collect();
        turns.sort_unstable();
        let who = turns
            .iter()
            .find_map(|(_, _, n)| self.behind(*n, &has, all));
        let who = who?;
        let busy = self.who[who].busy.as_mut();
        let came = busy.and_then(|b| b.heard.pop_front()).map(|t| t.came);
        Some((who, came))
    }

    /// The session that comes before this one, or itself; `None` if that has told nothing yet, and this one can wait.
    fn behind(&self, who: usize, has: &impl Fn(usize) -> bool, all: bool) -> Option<usize> {
        let mut path = vec![who];
        loop {
            let at = path[path.len() - 1];
            let holders = self.holders(at);
            if let Some(next) = holders.iter().find(|h| has(**h) && !path.contains(*h)) {
                path.push(*next);
                continue;
            }
            let waits = holders.iter().any(|h| !has(*h));
            return (all || !waits).then_some(at);
        }
    }

    /// Sessions at work whose transactions hold what this one's next statements are about.
    fn holders(&self, who: usize) -> Vec<usize> {
        let Some(busy) = &self.who[who].busy else {
            return Vec::new();
        };
        let left = busy.left();
        let came = busy
            .heard
            .front()
            .map_or(left.len(), |t| t.came - busy.told.min(t.came));
        let about: Vec<(At, bool)> = left.iter().take(came).flat_map(|s| s.touches()).collect();
        let meets = |(at, defines): (At, bool)| {
            about
                .iter()
                .any(|(mine, d)| (*d || defines) && mine.meets(&at))
        };
        let holds = |n: &usize| {
            let other = &self.who[*n];
            let ops = other.txn.iter().flat_map(|t| &t.ops);
            *n != who && other.busy.is_some() && ops.flat_map(Op::touches).any(meets)
        };
        (0..self.who.len()).filter(holds).collect()
    }
}

/// What a request has told and nobody has followed.
pub type Heard = VecDeque<super::seat::Told>;
