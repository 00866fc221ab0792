//! The loop over the script, and what comes back of each batch.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use duramen_tds::token::Token;
use duramen_types::Value;

use super::args::{FIRST_ERROR, Options};
use super::commands::HELP;
use super::connection::{Connection, Waiting};
use super::format::{self, Layout, Style};
use super::interactive::{self, Lines, Typed};
use super::script::{Command, Item, Script, Variables};
use super::{input, output, settings};
use crate::drives;

/// How deep `:r` may nest.
const READ_DEPTH_MAX: usize = 32;

/// Exit codes of `EXIT(query)` without a number to give: the query failed, gave no rows, gave no integer.
const EXIT_QUERY_FAILED: i32 = -100;
const EXIT_NO_ROWS: i32 = -101;
const EXIT_NO_NUMBER: i32 = -102;

/// A message with this state (`RAISERROR (50001, 10, 127)`) ends the run; its number is the exit code.
const STATE_THAT_QUITS: u8 = 127;

/// What a batch gave, as far as the exit code cares.
#[derive(Clone, Copy, Default)]
pub(super) struct Outcome {
    /// An error among its messages.
    pub failed: bool,
    pub rows: u64,
    /// The first value of the first row, when it is an integer.
    pub first: Option<i64>,
}

/// What ends the run: the exit code.
pub(super) struct Exit(pub i32);

pub(super) type Flow = Result<(), Exit>;

pub struct Runner {
    pub(super) connection: Connection,
    pub(super) options: Options,
    pub(super) variables: Variables,
    pub(super) out: Box<dyn Write>,
    /// `:error`: where errors go instead of `out`.
    pub(super) errors: Option<Box<dyn Write>>,
    pub(super) interrupts: Option<Arc<AtomicBool>>,
    /// A person types: lines are prompted for, and a scripting error does not end the run.
    pub(super) prompts: bool,
}

impl Runner {
    pub fn connect(mut options: Options) -> Result<Runner, String> {
        let out = match &options.output {
            Some(path) => output::file(&drives::place(&options.drives, path), options.unicode)
                .map_err(|e| format!("Sqlcmd: Error: '{path}': {e}"))?,
            None => Box::new(io::stdout()),
        };
        let stays = options.query.is_none() || options.stay;
        let prompts = stays && options.inputs.is_empty() && io::stdin().is_terminal();
        if options.password.is_empty() && io::stdin().is_terminal() {
            options.password =
                interactive::password().map_err(|e| format!("Sqlcmd: Error: {e}"))?;
        }
        let interrupts = match prompts {
            true => Some(interactive::interrupts().map_err(|e| format!("Sqlcmd: Error: {e}"))?),
            false => None,
        };
        let connection = Connection::open(&options, interrupts.clone())?;
        let mut variables = options.variables.clone();
        for (name, value) in [
            ("SQLCMDSERVER", &options.server),
            ("SQLCMDUSER", &options.user),
            ("SQLCMDDBNAME", &options.database),
        ] {
            variables
                .entry(name.to_string())
                .or_insert_with(|| value.clone());
        }
        Ok(Runner {
            connection,
            options,
            variables,
            out,
            errors: None,
            interrupts,
            prompts,
        })
    }

    /// Runs everything the command line asks for; the result is the exit code.
    pub fn run(mut self) -> i32 {
        let code = match self.run_all() {
            Ok(()) => 0,
            Err(Exit(code)) => code,
        };
        let flushed = self.out.flush();
        let errors = self.errors.as_mut().map_or(Ok(()), |e| e.flush());
        match flushed.and(errors) {
            Ok(()) => code,
            Err(_) => 1,
        }
    }

    fn run_all(&mut self) -> Flow {
        self.begin()?;
        if self.options.no_shell.is_none()
            && let Some(path) = std::env::var("SQLCMDINI").ok().filter(|p| !p.is_empty())
        {
            self.read_file(&path, 0)?;
        }
        if let Some(query) = self.options.query.clone() {
            self.read(&mut query.as_bytes(), 0)?;
            if !self.options.stay {
                return Ok(());
            }
        }
        if self.options.inputs.is_empty() {
            if self.prompts && io::stdout().is_terminal() {
                return self.converse(&mut Lines::open());
            }
            return self.read(&mut io::stdin().lock(), 0);
        }
        for path in self.options.inputs.clone() {
            self.read_file(&path, 0)?;
        }
        Ok(())
    }

    /// What a new connection needs first.
    pub(super) fn begin(&mut self) -> Flow {
        if !self.options.quoted_identifier {
            self.execute("SET QUOTED_IDENTIFIER OFF")?;
        }
        Ok(())
    }

    pub(super) fn read_file(&mut self, path: &str, depth: usize) -> Flow {
        if depth > READ_DEPTH_MAX {
            return self.fatal(&format!("'{path}': files are nested too deeply."));
        }
        match input::open(&drives::place(&self.options.drives, path)) {
            Ok(mut file) => self.read(&mut *file, depth),
            Err(_) => {
                self.report(&format!("Sqlcmd: '{path}': Invalid filename."))?;
                match self.prompts {
                    true => Ok(()),
                    false => Err(Exit(1)),
                }
            }
        }
    }

    fn script(&self) -> Script {
        Script::new(&self.options.terminator, self.options.no_substitution)
    }

    fn read(&mut self, input: &mut dyn BufRead, depth: usize) -> Flow {
        let mut script = self.script();
        let mut first = true;
        loop {
            if self.prompts && depth == 0 {
                eprint!("{}> ", script.lines() + 1);
            }
            let line = match input::line(input) {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return self.fatal(&error.to_string()),
            };
            let line = match std::mem::take(&mut first) {
                true => line.trim_start_matches('\u{feff}'),
                false => &line,
            };
            self.line(line, &mut script, depth)?;
        }
        let rest = script.finish();
        self.batch(&rest, 1)
    }

    /// The lines that a person types, to the end of the session.
    fn converse(&mut self, lines: &mut Lines) -> Flow {
        let mut script = self.script();
        loop {
            match lines.read(script.lines() + 1) {
                Ok(Typed::Line(line)) => {
                    // What is pasted may be several.
                    for line in line.lines().chain(line.is_empty().then_some("")) {
                        self.line(line, &mut script, 0)?;
                    }
                }
                // The batch so far is forgotten; where there is none, the session ends.
                Ok(Typed::Interrupt) if script.batch().is_empty() => return Ok(()),
                Ok(Typed::Interrupt) => {
                    script.finish();
                }
                Ok(Typed::End) => return Ok(()),
                Err(error) => return self.fatal(&error.to_string()),
            }
        }
    }

    fn line(&mut self, line: &str, script: &mut Script, depth: usize) -> Flow {
        if self.options.echo {
            self.write(&format!("{line}\n"))?;
        }
        match script.line(line, &self.variables) {
            Ok(None) => Ok(()),
            Ok(Some(Item::Batch { text, count })) => self.batch(&text, count),
            Ok(Some(Item::Command(command))) => self.command(command, script, depth),
            Err(error) => self.fatal(&error),
        }
    }

    fn command(&mut self, command: Command, script: &mut Script, depth: usize) -> Flow {
        match command {
            Command::Read(path) => self.read_file(&path, depth + 1),
            Command::SetVariable { name, value } => self.set_variable(&name, value),
            Command::Exit(None) => Err(Exit(0)),
            Command::Exit(Some(query)) => {
                let rest = script.finish();
                self.batch(&rest, 1)?;
                if query.is_empty() {
                    return Err(Exit(0));
                }
                let outcome = self.execute(&query)?;
                Err(Exit(match outcome {
                    _ if outcome.failed => EXIT_QUERY_FAILED,
                    Outcome { rows: 0, .. } => EXIT_NO_ROWS,
                    Outcome { first, .. } => first
                        .and_then(|v| i32::try_from(v).ok())
                        .unwrap_or(EXIT_NO_NUMBER),
                }))
            }
            Command::Quit => Err(Exit(0)),
            Command::OnError(exit) => {
                self.options.exit_on_error = exit;
                Ok(())
            }
            Command::Out(target) => {
                self.out.flush().map_err(|_| Exit(1))?;
                match output::open(&target, &self.options.drives, self.options.unicode) {
                    Ok(out) => self.out = out,
                    Err(error) => return self.fatal(&error),
                }
                Ok(())
            }
            Command::Error(target) => {
                match output::open(&target, &self.options.drives, self.options.unicode) {
                    Ok(errors) => self.errors = Some(errors),
                    Err(error) => return self.fatal(&error),
                }
                Ok(())
            }
            Command::Reset => Ok(()),
            Command::List => {
                let batch = script.batch().to_string();
                self.write(&batch)
            }
            Command::ListVariables => {
                let mut all: Variables = self.variables.clone();
                for (name, value) in settings::listed(&self.options) {
                    all.insert(name.to_string(), value);
                }
                let list: String = all
                    .iter()
                    .map(|(n, v)| format!("{n} = \"{v}\"\n"))
                    .collect();
                self.write(&list)
            }
            Command::Help => self.write(HELP),
            Command::Connect(words) => self.reconnect(&words),
            Command::Shell(command) => self.shell(&command),
            Command::Edit => self.edit(),
        }
    }

    fn batch(&mut self, text: &str, count: u64) -> Flow {
        if text.trim().is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        for _ in 0..count {
            self.execute(text)?;
        }
        if let Some(colons) = self.options.statistics {
            let text = format::statistics(
                colons,
                self.connection.packet_bytes(),
                count,
                started.elapsed(),
            );
            self.write(&text)?;
        }
        Ok(())
    }

    /// Sends one batch and prints what comes back.
    pub(super) fn execute(&mut self, sql: &str) -> Result<Outcome, Exit> {
        let sent = self.connection.query(sql, self.options.query_timeout_s);
        let mut reply = Reply::default();
        if let Err(why) = sent {
            self.ended(why, &mut reply)?;
        } else {
            loop {
                match self.connection.next() {
                    Ok(Some(event)) => self.show(event, &mut reply)?,
                    Ok(None) => break,
                    Err(why) => {
                        self.ended(why, &mut reply)?;
                        break;
                    }
                }
            }
        }
        if self.out.flush().is_err() {
            return Err(Exit(1));
        }
        if let Some(number) = reply.quit {
            return Err(Exit(number));
        }
        let failed = reply.worst >= FIRST_ERROR;
        if self.options.exit_on_error && failed && reply.worst >= self.options.severity_least {
            let asked_for = self.options.severity_least != FIRST_ERROR;
            return Err(Exit(if asked_for { i32::from(reply.worst) } else { 1 }));
        }
        Ok(Outcome {
            failed,
            rows: reply.all_rows,
            first: reply.first.flatten(),
        })
    }

    fn show(&mut self, event: Token, reply: &mut Reply) -> Flow {
        match event {
            Token::Columns(columns) => {
                let layout = Layout::new(columns, Style::of(&self.options));
                if self.options.headers >= 0 && layout.has_header() {
                    self.write(&layout.header())?;
                }
                reply.rows = 0;
                reply.layout = Some(layout);
            }
            Token::Row(values) => {
                let Some(layout) = &reply.layout else {
                    return Ok(());
                };
                if reply.first.is_none() {
                    reply.first = values.first().map(Value::as_i64);
                }
                let mut text = String::new();
                let every = self.options.headers;
                if every > 0 && reply.rows > 0 && reply.rows % every == 0 && layout.has_header() {
                    text = format!("\n{}", layout.header());
                }
                reply.rows += 1;
                reply.all_rows += 1;
                text.push_str(&layout.row(&values));
                self.write(&text)?;
            }
            Token::Done(done) => {
                reply.layout = None;
                if let Some(count) = done.count() {
                    self.write(&format!("\n({count} rows affected)\n"))?;
                }
            }
            Token::Error(message) | Token::Info(message) => {
                reply.worst = reply.worst.max(message.class);
                if message.state == STATE_THAT_QUITS {
                    reply.quit = reply.quit.or(Some(message.number));
                }
                let error = message.class >= FIRST_ERROR;
                if error && message.class < self.options.shown_least {
                    return Ok(());
                }
                let text = format::message(&message);
                match (self.options.stderr_from, &mut self.errors) {
                    (Some(from), _) if message.class >= from => {
                        self.out.flush().map_err(|_| Exit(1))?;
                        eprint!("{text}");
                    }
                    (_, Some(errors)) if error => {
                        errors.write_all(text.as_bytes()).map_err(|_| Exit(1))?;
                    }
                    _ => self.write(&text)?,
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An answer that did not come to its end. A connection that failed ends the run.
    fn ended(&mut self, why: Waiting, reply: &mut Reply) -> Flow {
        reply.worst = reply.worst.max(FIRST_ERROR);
        match why {
            Waiting::Interrupted => self.report("Sqlcmd: Query canceled by the user."),
            Waiting::TimedOut => self.report("Timeout expired"),
            Waiting::Lost(error) => {
                let text = match &error {
                    duramen_tds::client::ClientError::Io(e) => {
                        // What a library adds is a link to its manual.
                        let text = e.to_string();
                        let said = text.split(": https://").next().unwrap_or_default();
                        format!("Sqlcmd: Error: Communication link failure: {said}")
                    }
                    other => format!("Sqlcmd: Error: {other}"),
                };
                self.report(&text)?;
                Err(Exit(1))
            }
        }
    }

    pub(super) fn write(&mut self, text: &str) -> Flow {
        self.out.write_all(text.as_bytes()).map_err(|_| Exit(1))
    }

    /// A line for the person, after the output that may explain it.
    pub(super) fn report(&mut self, text: &str) -> Flow {
        let flushed = self.out.flush();
        eprintln!("{text}");
        flushed.map_err(|error| {
            eprintln!("Sqlcmd: Error: {error}");
            Exit(1)
        })
    }

    /// A scripting error: nothing after it runs, unless a person types.
    pub(super) fn fatal(&mut self, error: &str) -> Flow {
        if self.prompts {
            return self.report(&format!("Sqlcmd: Error: {error}"));
        }
        self.report(&format!(
            "Sqlcmd: Error: Syntax error or file error: {error}"
        ))?;
        Err(Exit(1))
    }
}

/// What has come of an answer.
#[derive(Default)]
struct Reply {
    layout: Option<Layout>,
    /// Rows of the running result set, and of all.
    rows: i64,
    all_rows: u64,
    /// The first value of the first row; `Some(None)` when it is no integer.
    first: Option<Option<i64>>,
    worst: u8,
    quit: Option<i32>,
}
