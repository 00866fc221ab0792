//! `duramen sql`: the command-line client, with the flags, the scripts and the output people know from sqlcmd.
//!
//! A script goes line by line through [`script::Script`], which cuts batches at GO, fills in `$(variables)` and finds
//! the colon commands; [`run::Runner`] sends batches and obeys commands; [`format`] makes text of what comes back.
//! The first two know no connection and no file, so they are tested as text.
//!
//! What differs from sqlcmd, on purpose: lines are never wrapped; the certificate of a server on another machine must
//! be vouched for (`-C` or `-J FILE`).

// A program at the edge: its scripts and outputs are files of the user, outside any simulated world.
#![allow(clippy::disallowed_methods)]

mod args;
mod format;
mod run;
mod script;
#[cfg(test)]
mod tests;

/// Runs the client; the result is the process's exit code.
pub fn run(args: &[String]) -> i32 {
    let options = match args::parse(args) {
        Ok(args::Parsed::Run(options)) => options,
        Ok(args::Parsed::Help) => {
            println!("{}", args::USAGE);
            return 0;
        }
        Err(error) => {
            eprintln!("Sqlcmd: {error}\n{}", args::USAGE);
            return 1;
        }
    };
    match run::Runner::connect(*options) {
        Ok(runner) => runner.run(),
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}
