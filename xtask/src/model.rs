//! `cargo xtask model` and `cargo xtask miri`: the lock-free and the unsafe parts under tools that look for what tests
//! meet by chance only (`docs/decisions/0009-models.md`).

use std::process::{Command, ExitCode, Stdio};

use crate::root;
use crate::test::Tally;

/// `cargo xtask model`: every interleaving with at most four preemptions.
pub fn run() -> ExitCode {
    let head = head("4");
    let pool = pool("4");
    exit(intents("4") && pool && head)
}

/// The slice of the test command: three preemptions.
pub fn in_test(tally: &mut Tally) {
    tally.step("the log's write head under loom", head("3"));
    tally.step("the buffer pool's protocol under loom", pool("3"));
    tally.step("private intent locks under loom", intents("3"));
}

/// The write head under loom; each ordering weakened in turn must be found.
fn head(preemptions: &str) -> bool {
    under_loom("duramen-wal", "head::model", preemptions)
}

/// Pins, latches, writing down and eviction of the buffer pool; each rule left out in turn must be found.
fn pool(preemptions: &str) -> bool {
    under_loom("duramen-pool", "frames::model", preemptions)
}

/// Intent locks that no table knows, and who asks for strong ones; each rule left out in turn must be found.
fn intents(preemptions: &str) -> bool {
    under_loom("duramen-txn", "lock::intents::model", preemptions)
}

fn under_loom(package: &str, tests: &str, preemptions: &str) -> bool {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--quiet", "-p", package, "--features", "model"]);
    command.args(["--lib", tests, "--", "--nocapture"]);
    command.env("LOOM_MAX_PREEMPTIONS", preemptions);
    // The panics of what must be found are no news.
    command.env("RUST_BACKTRACE", "0").current_dir(root());
    command.status().is_ok_and(|s| s.success())
}

/// `cargo xtask miri`: tests that reach the write head's `unsafe`; skips by name where the nightly toolchain has no Miri.
pub fn miri() -> ExitCode {
    let nightly = |args: &[&str]| {
        let mut command = Command::new("cargo");
        // Of the toolchain that runs this, which would win over `+nightly`.
        for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(inherited);
        }
        command.arg("+nightly").arg("miri").args(args);
        command.env("MIRIFLAGS", "-Zmiri-disable-isolation");
        command.current_dir(root());
        command
    };
    let version = nightly(&["--version"]).stderr(Stdio::null()).status();
    if !version.is_ok_and(|s| s.success()) {
        println!("skipped: miri (rustup component add miri rust-src --toolchain nightly)");
        return ExitCode::SUCCESS;
    }
    // The page arena is not among them: Miri does not know the flags of its `mmap`.
    let tests = ["test", "-p", "duramen-wal", "--lib", "head::tests::re"];
    exit(nightly(&tests).status().is_ok_and(|s| s.success()))
}

fn exit(ok: bool) -> ExitCode {
    match ok {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
