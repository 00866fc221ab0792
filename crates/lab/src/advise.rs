//! `duramen lab advise`: looks at a server and says what to change about its logs, why, and how.
//!
//! [`Facts`] are read through T-SQL; [`rules`] are pure functions of them. Every piece of advice names the experiment
//! that supports it, and quotes what a run of it found when it is given one.

mod facts;
mod rules;

use crate::record::Run;
use crate::target::Target;

/// One thing to change.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What it is about: a database or the server.
    pub about: String,
    /// What to do, in a sentence.
    pub what: String,
    /// The numbers that speak for it.
    pub why: String,
    /// How it is done.
    pub tsql: String,
    /// The experiment that shows the effect.
    pub experiment: &'static str,
}

/// Reads the server's state and gives what follows, as text for a terminal.
pub fn advise(target: &Target, evidence: Option<&Run>) -> Result<String, String> {
    let facts = facts::read(target)?;
    Ok(render(&rules::all(&facts), evidence))
}

fn render(advice: &[Advice], evidence: Option<&Run>) -> String {
    if advice.is_empty() {
        return "nothing to change: growths, VLFs, waits and latencies are as they should be\n"
            .to_owned();
    }
    let mut out = String::new();
    for (n, one) in advice.iter().enumerate() {
        out.push_str(&format!(
            "{}. {}: {}\n   {}\n",
            n + 1,
            one.about,
            one.what,
            one.why
        ));
        for line in one.tsql.lines() {
            out.push_str(&format!("       {line}\n"));
        }
        out.push_str(&format!(
            "   shown by: duramen lab run {}\n",
            one.experiment
        ));
        let outcomes = evidence.map_or(&[][..], |run| &run.experiments);
        let found = outcomes.iter().filter(|o| o.name == one.experiment);
        for finding in found.flat_map(|o| o.findings.iter().take(2)) {
            out.push_str(&format!("   measured: {finding}\n"));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests;
