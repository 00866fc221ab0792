//! A fuzzer on stable Rust: inputs are built from a small corpus by changes that keep most of their structure.
//!
//! Every input follows from the target, the seed and its number, so a crash is repeated by its seed. Nothing catches a
//! panic: the process is meant to die of it. [`Trace`] lives on the stack of the run, and its drop, which the unwinding
//! reaches, prints the input as hex.
//!
//! What a target must fulfil: no panic and an answer in reasonable time, whatever the input (law: bytes from outside
//! are never trusted).

mod container;
mod corpus;
mod files;
mod mutate;
mod targets;

use std::time::Duration;

use duramen_os::random::Rng;
use duramen_os::time;

pub use mutate::mutate;
pub use targets::{TARGETS, Target, target};

/// Longest input that mutations may make.
pub const MAX_INPUT_BYTES: usize = 1 << 16;
/// An input that keeps its reader busy for longer is a finding: nothing here is longer than 64 KB.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Inputs kept besides the built-in ones: those that a target accepted.
const MAX_POOL: usize = 256;

/// Where and how long.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub seed: u64,
    pub time: Duration,
    /// Stop after so many inputs, if earlier.
    pub inputs: u64,
}

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    pub inputs: u64,
    /// Inputs that the target took as valid: a run without any tests only the first check.
    pub accepted: u64,
}

/// Feeds a target until the time or the inputs are used up.
pub fn run(target: &Target, run: Run) -> Outcome {
    let mut rng = Rng::new(run.seed);
    let built_in = (target.corpus)();
    let mut pool = built_in.clone();
    let end = time::now() + run.time;
    let mut outcome = Outcome::default();
    let mut trace = Trace {
        target: target.name,
        seed: run.seed,
        number: 0,
        input: Vec::new(),
    };
    while outcome.inputs < run.inputs {
        if outcome.inputs.is_multiple_of(64) && time::now() >= end {
            break;
        }
        trace.number = outcome.inputs;
        trace.input = match built_in.get(outcome.inputs as usize) {
            Some(seed) => seed.clone(),
            None => mutate(&mut rng, &pool, target.fix),
        };
        let before = time::now();
        let accepted = (target.feed)(&trace.input);
        let took = before.elapsed();
        assert!(took < MAX_TIME, "an input took {took:?}");
        outcome.inputs += 1;
        outcome.accepted += u64::from(accepted);
        // Accepted inputs breed; the built-in ones stay.
        if accepted && outcome.inputs > built_in.len() as u64 && rng.one_in(8) {
            if pool.len() < built_in.len() + MAX_POOL {
                pool.push(trace.input.clone());
            } else {
                let at = built_in.len() as u64 + rng.below(MAX_POOL as u64);
                pool[at as usize] = trace.input.clone();
            }
        }
    }
    outcome
}

/// The input under test.
struct Trace {
    target: &'static str,
    seed: u64,
    number: u64,
    input: Vec<u8>,
}

impl Drop for Trace {
    fn drop(&mut self) {
        // Only a dying process gets here with a panic under way.
        if unwinding() {
            let hex: String = self.input.iter().map(|b| format!("{b:02x}")).collect();
            eprintln!(
                "fuzz: target {} seed {} input {} ({} bytes): {hex}",
                self.target,
                self.seed,
                self.number,
                self.input.len()
            );
        }
    }
}

#[allow(clippy::disallowed_methods)]
fn unwinding() -> bool {
    std::thread::panicking()
}
