//! `fuzz --target NAME --seconds N --seed S`: one target (or `all`, one after the other), until the time is up.
//!
//! A panic ends the program; the input is printed as hex, with the seed that makes it again.

#![forbid(unsafe_code)]

use std::time::Duration;

use duramen_os::time;
use duramen_sim::fuzz::{Run, TARGETS, Target, run, target};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match parse(&args) {
        Ok((targets, plan)) => {
            for target in targets {
                let began = time::now();
                let done = run(target, plan);
                let hours = began.elapsed().as_secs_f64() / 3600.0;
                println!(
                    "{}: seed {}, {} inputs, {} accepted",
                    target.name, plan.seed, done.inputs, done.accepted
                );
                // For the page of figures (`cargo xtask fuzz --record on`).
                println!(
                    "figure\thours fuzzed: {}\t{hours:.2} hours, {} inputs, {} accepted",
                    target.name, done.inputs, done.accepted
                );
            }
        }
        Err(message) => {
            let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
            eprintln!("{message}\nusage: fuzz [--target NAME|all] [--seconds N] [--seed S]");
            eprintln!("targets: {}", names.join(" "));
            std::process::exit(2);
        }
    }
}

fn parse(args: &[String]) -> Result<(Vec<&'static Target>, Run), String> {
    let mut targets: Vec<&Target> = TARGETS.iter().collect();
    let mut plan = Run {
        seed: 1,
        time: Duration::from_secs(10),
        inputs: u64::MAX,
    };
    for pair in args.chunks(2) {
        let [flag, value] = pair else {
            return Err(format!("{} needs a value", pair[0]));
        };
        let number = || value.parse().map_err(|_| format!("'{value}' is no number"));
        match flag.as_str() {
            "--target" if value == "all" => {}
            "--target" => {
                targets = vec![target(value).ok_or_else(|| format!("no target '{value}'"))?];
            }
            "--seconds" => plan.time = Duration::from_secs(number()?),
            "--seed" => plan.seed = number()?,
            _ => return Err(format!("unknown option '{flag}'")),
        }
    }
    Ok((targets, plan))
}
