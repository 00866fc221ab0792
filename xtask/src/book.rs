//! `cargo xtask book`: the book as HTML below the target folder. mdBook makes it, which is installed there when asked for.
//!
//! Its examples are run by the tests of the binary, and its links are followed there.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::test::Tally;
use crate::{root, target_dir};

const VERSION: &str = "0.5.4";

/// Where `--install` puts mdBook.
fn own() -> PathBuf {
    target_dir().join("tools")
}

fn works(program: &PathBuf) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|o| o.status.success())
}

/// mdBook: the one that was installed for us, or the one on the path.
fn mdbook(install: bool) -> Option<PathBuf> {
    let places = [own().join("bin/mdbook"), PathBuf::from("mdbook")];
    let found = || places.iter().find(|p| works(p)).cloned();
    if let Some(found) = found() {
        return Some(found);
    }
    if !install {
        return None;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let installed = Command::new(cargo)
        // It makes one book: what it is built for is to be there soon.
        .args([
            "install",
            "mdbook",
            "--debug",
            "--locked",
            "--no-default-features",
        ])
        .args(["--version", VERSION, "--root"])
        .arg(own())
        .status();
    installed.ok().filter(|s| s.success())?;
    found()
}

/// Makes the book; where it is.
fn make(install: bool) -> Result<PathBuf, String> {
    let mdbook = mdbook(install).ok_or("mdBook is not installed (--install fetches it)")?;
    let to = target_dir().join("book");
    let made = Command::new(mdbook)
        .arg("build")
        .arg(root().join("docs/book"))
        .arg("--dest-dir")
        .arg(&to)
        .status();
    match made.is_ok_and(|s| s.success()) {
        true => Ok(to.join("index.html")),
        false => Err("mdBook has failed".to_owned()),
    }
}

pub fn run(options: &[&str]) -> ExitCode {
    let install = match options {
        [] => false,
        ["--install"] => true,
        _ => {
            eprintln!("usage: cargo xtask book [--install]");
            return ExitCode::from(2);
        }
    };
    match make(install) {
        Ok(page) => {
            println!("{}", page.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

pub fn in_test(install: bool, tally: &mut Tally) {
    match mdbook(install) {
        Some(_) => tally.step("the book", make(false).is_ok()),
        None if install => tally.step("mdBook is installed", false),
        None => tally
            .skipped
            .push("the book (mdBook is not installed)".to_owned()),
    }
}
