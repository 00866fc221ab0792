//! The lab: experiments with a transaction log, run over TDS against a server of our own or anybody's SQL Server,
//! measured, drawn, and set beside published figures.
//!
//! An [`experiment`] is a list of trials: what varies, the work, what is measured. `runner` runs them: for every trial
//! a fresh server (when it is ours), the work under a [`sampler`] that reads DMVs, and the differences of waits, files
//! and counters ([`measure`]). What comes out is a [`record`], kept as JSON; [`report`] makes a page of it.
//!
//! Invariants:
//! 1. Everything a report shows was read through T-SQL, so that it means the same on every server; what a server lacks
//!    is skipped by name. [test: what_fits_an_old_version_is_other_advice]
//! 2. `--scale` shrinks the work, never what varies. Every figure of a scaled run stands beside its factor.
//!    [test: a_scale_fits_its_budget]
//! 3. Every finding rests on at least [`spread::REPEATS`] interleaved repeats, and says when it saw no difference.
//!    [test: noise_is_called_noise]
//! 4. Nothing is left behind: servers are killed, databases dropped, directories removed, also after a failure.
//!    [test: every_measurement_has_a_number_and_no_file_is_left]
//!
//! | module | owns |
//! |---|---|
//! | `args` | from words to runs |
//! | `experiment`, `experiments`, `spread` | what an experiment is, each of them, and what its repeats say |
//! | `runner`, `progress` | trials round after round, and what a person sees meanwhile |
//! | `embedded`, `target`, `sql` | the server under test, and a connection that asks it |
//! | `measure`, `sampler`, `latency` | what a server has counted, what it does ten times a second, times of requests |
//! | `machine`, `calibrate` | the machine that ran the trials, and what its disk can do for a log |
//! | `record`, `report` | what a run leaves, and the HTML file made from it |
//! | `advise` | what to change about a server's logs |
//! | `dashboard` | the live page of a server |
//! | `sample` | the sample database |

#![forbid(unsafe_code)]
// A program at the edge: its clock, threads, children and files are the user's, outside any simulated world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod advise;
mod args;
pub mod calibrate;
pub mod dashboard;
mod embedded;
mod experiment;
mod experiments;
mod latency;
mod machine;
mod measure;
mod progress;
mod record;
mod report;
mod runner;
pub mod sample;
mod sampler;
mod spread;
mod sql;
mod target;
#[cfg(test)]
mod tests;

pub use args::run;
