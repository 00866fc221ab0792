//! `duramen sql`: the command-line client, with the flags, the scripts and the output people know from sqlcmd.
//!
//! A script goes line by line through [`script::Script`], which cuts batches at GO, fills in `$(variables)` and finds
//! the colon commands; [`run::Runner`] sends batches and obeys commands; [`format`] makes text of what comes back.
//! `args`, `script` and `format` know no connection and no file, so they are tested as text. A person at a terminal
//! has [`interactive`]: a prompt, a history, and Ctrl-C for the running query.
//!
//! What differs from sqlcmd, on purpose: lines are wrapped only where `-w` asks for it; the certificate of a server on
//! another machine must be vouched for (`-C` or `-J FILE`).

// A program at the edge: its scripts, outputs and time-outs are the user's, outside any simulated world.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod args;
mod commands;
mod connection;
mod format;
mod input;
mod interactive;
mod output;
mod run;
mod script;
mod settings;
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
