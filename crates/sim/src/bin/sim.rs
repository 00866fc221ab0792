//! `sim [--seeds N | --seconds N | --hours N] [--first S] [--seed S] [--backups on]`: crash and recovery of the whole
//! engine, seed after seed; with backups taken meanwhile and restored; or one of the stories (`--story NAME`): `sql` is that of whole sessions, whose failures are
//! shortened to a script (`--shrink RUNS`, 400). From ten minutes on each of its stories favours the cell of the matrix where
//! the run has come the seldomest; `--aim CELL` says which, as a failure does.
//!
//! A failure prints its seed; `--seed S` runs it again. Exit code 1 when any seed failed.

#![forbid(unsafe_code)]

use std::time::Duration;

use duramen_os::time;
use duramen_sim::crash::stories::{self, Story};
use duramen_sim::crash::{Focus, Report, backups, run_seed_of, sql};

/// From here on a run is a long one.
const LONG: Duration = Duration::from_secs(3600);
/// From here on it is steered to the endings that kinds of statements have not had.
const STEERED: Duration = Duration::from_secs(600);
/// So many statements hold every kind; how long they take is the machine's affair.
const EVERY_KIND: u64 = 200_000;
/// Times that a long run has to come to each cell of the matrix, by all processes that share its seeds (`--step`) together.
const LEAST: u64 = 100;

struct Options {
    first: u64,
    step: u64,
    seeds: u64,
    time: Option<Duration>,
    /// Say every failure instead of stopping at the first.
    keep_going: bool,
    focus: Focus,
    /// Stories with backups (`--backups on`).
    backups: bool,
    story: Option<Story>,
    /// The story of whole sessions (`--story sql`).
    sql: bool,
    /// Runs to shorten a failure of that story with.
    shrink: u32,
    /// The cell of the matrix that its stories favour (`--aim 'DROP VIEW/kill'`); long runs choose the poorest each time.
    aim: Option<sql::Cell>,
}

/// Tells a figure for the page of figures (`cargo xtask sim --record on`), but not that of a run that a failure has ended.
fn print_figure(o: &Options, what: &str, failures: u64, figure: &str) {
    if failures == 0 || o.keep_going {
        println!("figure\t{what}\t{figure}, {failures} failed");
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&args) {
        Ok(options) => options,
        Err(message) => {
            eprintln!(
                "{message}\nusage: sim [--seeds N | --seconds N | --hours N] [--first S] [--step N] [--keep-going on] [--backups on | --story sql|partitions|standby|pages|files|full|room] [--shrink RUNS] [--aim KIND/ENDING] | --seed S"
            );
            std::process::exit(2);
        }
    };
    let failures = if options.sql {
        run_sql(&options)
    } else {
        run(&options)
    };
    std::process::exit(i32::from(failures > 0));
}

/// Runs; the number of failures.
fn run(o: &Options) -> u64 {
    let start = time::now();
    let mut total = Report::default();
    let (mut done, mut failures, mut slowest) = (0u64, 0u64, (Duration::ZERO, 0));
    let mut seed = o.first;
    // Backups, restores, restores cut short.
    let mut kept = (0, 0, 0);
    let mut of_stories = stories::Report::default();
    while done < o.seeds && o.time.is_none_or(|t| start.elapsed() < t) {
        let began = time::now();
        let ran = match (o.story, o.backups) {
            (Some(story), _) => stories::run_seed(story, seed).map(|r| {
                of_stories.done += r.done;
                of_stories.cut += r.cut;
                of_stories.looks += r.looks;
                Report::default()
            }),
            (None, true) => backups::run_seed(seed).map(|r| {
                kept.0 += r.backups;
                kept.1 += r.restores;
                kept.2 += r.cut;
                Report::default()
            }),
            (None, false) => run_seed_of(seed, o.focus),
        };
        match ran {
            Ok(report) => total.add(&report),
            Err(e) => {
                let also = match (o.story, o.backups) {
                    (Some(story), _) => format!(" --story {story:?}").to_lowercase(),
                    (None, true) => " --backups on".to_owned(),
                    (None, false) => String::new(),
                };
                println!(
                    "FAILED seed {seed}: {e}\n  cargo xtask sim --seed {seed}{also} runs it again"
                );
                failures += 1;
                if !o.keep_going {
                    break;
                }
            }
        }
        slowest = slowest.max((began.elapsed(), seed));
        done += 1;
        seed += o.step;
    }
    if o.story.is_some() {
        println!(
            "{} statements of the story, {} cut short, {} looks",
            of_stories.done, of_stories.cut, of_stories.looks
        );
    }
    if o.backups {
        let figure = format!(
            "{} backups, {} restores, {} cut short",
            kept.0, kept.1, kept.2
        );
        println!("{figure}");
        print_figure(
            o,
            "backups taken and restored while sessions wrote and the power failed",
            failures,
            &format!("{figure}, {done} seeds"),
        );
    }
    if o.story.is_none() && !o.backups {
        println!(
            "{} statements, {} commits, {} packets, {} crashes, {} of them in a recovery, {:.1} s of virtual time; trace {:016x}",
            total.statements,
            total.commits,
            total.packets,
            total.crashes,
            total.recoveries_cut,
            total.simulated.as_secs_f64(),
            total.trace,
        );
        print_figure(
            o,
            "crashes simulated under single statements",
            failures,
            &format!(
                "{} crashes, {} of them in a recovery, {} statements, {done} seeds",
                total.crashes, total.recoveries_cut, total.statements
            ),
        );
    }
    println!(
        "{done} seeds from {} in {:.1} s: {failures} failed; slowest {} ({} ms)",
        o.first,
        start.elapsed().as_secs_f64(),
        slowest.1,
        slowest.0.as_millis(),
    );
    failures
}

/// Runs the story of whole sessions; the number of failures.
fn run_sql(o: &Options) -> u64 {
    let start = time::now();
    let mut total = sql::Report::default();
    let (mut done, mut failures, mut seed) = (0u64, 0u64, o.first);
    let steers = o.aim.is_none() && o.time.is_some_and(|t| t >= STEERED);
    let mut steering = sql::Steering::default();
    let long = o.time.is_some_and(|t| t >= LONG);
    // A long run that has not come everywhere when its time is over goes on for a tenth of it.
    let time_left = |reached: &sql::Matrix| {
        o.time.is_none_or(|t| {
            let more = start.elapsed() < t + t / 10;
            start.elapsed() < t || long && more && !reached.thin(LEAST / o.step.max(1)).is_empty()
        })
    };
    while done < o.seeds && time_left(&total.matrix) {
        let theme = match steers {
            true => Some(steering.next(&total.matrix, seed)),
            false => o.aim,
        };
        match sql::run_seed_for(seed, theme) {
            Ok(report) => total.add(&report),
            Err(failure) => {
                failures += 1;
                let also = theme.map_or_else(String::new, |t| format!(" --aim '{t}'"));
                println!("FAILED seed {seed}{also}: {}", failure.fault);
                let steps = failure.steps.len();
                let short = sql::shrink(seed, failure, o.shrink);
                println!(
                    "shortened from {steps} steps to {}: {}\n{}\n  cargo xtask sim --story sql --seed {seed}{also} runs it again",
                    short.steps.len(),
                    short.fault,
                    sql::script(&short.steps)
                );
                if !o.keep_going {
                    break;
                }
            }
        }
        done += 1;
        seed += o.step;
    }
    println!("{}", total.matrix.show());
    print_figure(
        o,
        "crashes simulated under whole sessions",
        failures,
        &format!(
            "{} crashes, {} statements, {} audits, {} restores, {done} seeds",
            total.crashes, total.statements, total.audits, total.restores
        ),
    );
    if o.aim.is_none() && total.statements >= EVERY_KIND {
        let unmade = total.matrix.unmade();
        unmade
            .iter()
            .for_each(|kind| println!("FAILED never made: {kind}"));
        failures += unmade.len() as u64;
    }
    // A long run has to come everywhere, but where nobody can.
    if long {
        sql::Matrix::impossible()
            .iter()
            .for_each(|row| println!("{row}"));
        let thin = total.matrix.thin(LEAST);
        if o.step > 1 {
            // Whoever started the others adds.
            thin.iter()
                .for_each(|(cell, hits)| println!("figure\tseldom: {cell}\t{hits} of {LEAST}"));
        } else {
            thin.iter()
                .for_each(|(cell, hits)| println!("FAILED too seldom: {cell}, {hits} of {LEAST}"));
            failures += thin.len() as u64;
        }
    }
    println!(
        "{} statements, {} crashes, {} audits, {} restores ({} of chains, {} databases pending); {} of {} pages in logs were changed by several sessions; trace {:016x}\n{done} seeds from {} in {:.1} s: {failures} failed",
        total.statements,
        total.crashes,
        total.audits,
        total.restores,
        total.chains,
        total.pending,
        total.pages.1,
        total.pages.0,
        total.trace,
        o.first,
        start.elapsed().as_secs_f64(),
    );
    failures
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut o = Options {
        first: 1,
        step: 1,
        seeds: u64::MAX,
        time: None,
        keep_going: false,
        focus: Focus::Any,
        backups: false,
        story: None,
        sql: false,
        shrink: 400,
        aim: None,
    };
    for pair in args.chunks(2) {
        let [flag, value] = pair else {
            return Err(format!("{} needs a value", pair[0]));
        };
        let number = || value.parse().map_err(|_| format!("'{value}' is no number"));
        match flag.as_str() {
            "--seed" => (o.first, o.seeds) = (number()?, 1),
            "--first" => o.first = number()?,
            "--step" => o.step = number()?,
            "--seeds" => o.seeds = number()?,
            "--hours" => {
                let hours: f64 = value
                    .parse()
                    .map_err(|_| format!("'{value}' is no number"))?;
                o.time =
                    Some(Duration::try_from_secs_f64(hours * 3600.0).map_err(|e| e.to_string())?);
            }
            "--seconds" => o.time = Some(Duration::from_secs(number()?)),
            "--focus" => {
                o.focus = Focus::parse(value).ok_or_else(|| format!("'{value}' is no focus"))?;
            }
            "--story" if value == "sql" => o.sql = true,
            "--shrink" => o.shrink = number()? as u32,
            "--story" => {
                let story = Story::parse(value).ok_or_else(|| format!("'{value}' is no story"))?;
                o.story = Some(story);
            }
            "--aim" => {
                let aim = sql::Cell::parse(value);
                o.aim = Some(aim.ok_or_else(|| format!("'{value}' is no cell of the matrix"))?);
            }
            "--backups" => o.backups = value == "on",
            "--keep-going" => o.keep_going = value == "on",
            _ => return Err(format!("unknown option '{flag}'")),
        }
    }
    if o.seeds == u64::MAX && o.time.is_none() {
        o.seeds = 100;
    }
    Ok(o)
}
