//! What runs have shown, as a table, and as figures for `docs/reference/reliability.md`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::levels::Level;
use super::round::{Outcome, Round};
use super::run::{Durability, Mode, Settings};
use super::settle::Finding;

pub struct Results {
    level: &'static Level,
    mode: Mode,
    durability: Durability,
    pub transactions: u64,
    committed: u64,
    aborted: u64,
    in_doubt: u64,
    pub kills: u64,
    met: u64,
    /// Acknowledged and lost, where that is allowed.
    pub lost: u64,
    pub seconds: Duration,
    /// What was seen, by name; all of it is allowed.
    seen: BTreeMap<String, u64>,
    /// What the level forbids and was seen: name and reason.
    forbidden: Vec<(String, String)>,
}

/// Transactions from which on a level must have shown what it allows.
const ENOUGH: u64 = 8000;
/// Of a hundred transactions so many must have met another.
const MEETINGS: u64 = 30;

impl Results {
    pub fn new(level: &'static Level, mode: Mode, durability: Durability) -> Results {
        Results {
            level,
            mode,
            durability,
            transactions: 0,
            committed: 0,
            aborted: 0,
            in_doubt: 0,
            kills: 0,
            met: 0,
            lost: 0,
            seconds: Duration::ZERO,
            seen: BTreeMap::new(),
            forbidden: Vec::new(),
        }
    }

    /// Counts a round before its transactions in doubt are settled.
    pub fn count(&mut self, round: &Round, kill: bool) {
        self.transactions += round.tried.len() as u64;
        for one in &round.tried {
            match one.outcome {
                Outcome::Committed => self.committed += 1,
                Outcome::Failed(_) => self.aborted += 1,
                Outcome::Unknown => self.in_doubt += 1,
            }
        }
        self.kills += u64::from(kill);
        self.met += round.meetings() as u64;
    }

    pub fn find(&mut self, findings: Vec<Finding>) {
        let named = findings
            .into_iter()
            .map(|(name, how)| (name.to_owned(), how));
        self.forbidden.extend(named);
    }

    /// What the judge says of all rounds.
    pub fn take(&mut self, seen: BTreeMap<String, u64>, forbidden: Vec<(String, String)>) {
        self.seen = seen;
        self.forbidden.extend(forbidden);
    }

    fn title(&self) -> String {
        let delayed = match self.durability {
            Durability::Full => "",
            Durability::Delayed => ", delayed durability",
        };
        format!("{}, {}{delayed}", self.level.title, self.mode.name())
    }

    fn meetings(&self) -> u64 {
        self.met * 100 / self.transactions.max(1)
    }

    fn anomalies(&self) -> String {
        let named: Vec<String> = self
            .seen
            .iter()
            .map(|(name, times)| format!("{name} {times}"))
            .collect();
        match named.is_empty() {
            true => "none".to_owned(),
            false => named.join(", "),
        }
    }

    pub fn line(&self) -> String {
        format!(
            "isolation, {}: {} transactions in {:.0} s ({} committed, {} aborted, {} in doubt), {} kills, {} acknowledged and \
             lost, {} % met another; seen: {}; forbidden: {}",
            self.title(),
            self.transactions,
            self.seconds.as_secs_f64(),
            self.committed,
            self.aborted,
            self.in_doubt,
            self.kills,
            self.lost,
            self.meetings(),
            self.anomalies(),
            self.forbidden.len(),
        )
    }

    /// Fails where the run has shown what it must not, or not what it must.
    pub fn demand(&self) {
        let title = self.title();
        if let Some((name, _)) = self.forbidden.first() {
            let mut reasons = String::new();
            for (name, reason) in self.forbidden.iter().take(5) {
                let reason: String = reason.chars().take(4000).collect();
                let _ = writeln!(reasons, "{name}: {reason}");
            }
            panic!(
                "{title}: {name} and {} more:\n{reasons}",
                self.forbidden.len() - 1
            );
        }
        assert!(self.committed > 0, "{title}: nothing was committed");
        assert!(
            self.meetings() >= MEETINGS,
            "{title}: only {} % met another",
            self.meetings()
        );
        if self.transactions >= ENOUGH {
            for name in self.level.shows {
                let times = self.seen.get(*name).copied().unwrap_or(0);
                assert!(times > 0, "{title}: {name} was not seen, which it allows");
            }
        }
    }
}

/// All runs, for people.
pub fn table(results: &[Results]) -> String {
    let mut text = String::from(
        "| level, COMMIT_WAIT | transactions | aborted | in doubt | kills | met another | allowed anomalies seen | forbidden |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for one in results {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} % | {} | {} |",
            one.title(),
            one.transactions,
            one.aborted,
            one.in_doubt,
            one.kills,
            one.meetings(),
            one.anomalies(),
            one.forbidden.len(),
        );
    }
    text
}

/// Tells the runs' figures for the page of figures (`cargo xtask isolation --record on`), each with the command that gives
/// it alone. `profile`: what the program was built for, unless for release.
pub fn print_figures(results: &[Results], settings: &Settings, profile: Option<&str>) {
    for one in results {
        let (durability, lost) = match one.durability {
            Durability::Full => ("", String::new()),
            Durability::Delayed => (
                " --durability delayed",
                format!("{} lost from the end, ", one.lost),
            ),
        };
        let bounded = match settings.seconds {
            u64::MAX => String::new(),
            seconds => format!(" --seconds {seconds}"),
        };
        let profile = profile.map_or_else(String::new, |name| format!(" --profile {name}"));
        let command = format!(
            "cargo xtask isolation --level {} --mode {} --transactions {} --kills {}{durability}{bounded} --seed {}{profile}",
            one.level.name,
            one.mode.name(),
            settings.transactions,
            settings.kills,
            settings.seed
        );
        println!(
            "figure\tisolation: {}\t{} transactions, {} aborted, {} in doubt, {} kills survived, {lost}{} % met another; \
             allowed and seen: {}; forbidden: {}\t{command}",
            one.title(),
            one.transactions,
            one.aborted,
            one.in_doubt,
            one.kills,
            one.meetings(),
            one.anomalies(),
            one.forbidden.len()
        );
    }
}
