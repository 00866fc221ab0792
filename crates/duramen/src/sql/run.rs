//! The connection, the files, and the loop over the script.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::time::Duration;

use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::Token;
use duramen_types::Value;

use super::args::{FIRST_ERROR, Options};
use super::format::{self, Layout};
use super::script::{Command, Item, Script, Variables};

/// How deep `:r` may nest.
const READ_DEPTH_MAX: usize = 32;

/// Exit codes of `EXIT(query)` without a number to give: the query failed, gave no rows, gave no integer.
const EXIT_QUERY_FAILED: i32 = -100;
const EXIT_NO_ROWS: i32 = -101;
const EXIT_NO_NUMBER: i32 = -102;

/// A message with this state (`RAISERROR (50001, 10, 127)`) ends the run; its number is the exit code.
const STATE_THAT_QUITS: u8 = 127;

/// What a batch gave, as far as the exit code cares.
#[derive(Clone, Copy)]
struct Outcome {
    /// An error among its messages.
    failed: bool,
    rows: u64,
    /// The first value of the first row, when it is an integer.
    first: Option<i64>,
}

/// What ends the run: the exit code.
struct Exit(i32);

type Flow = Result<(), Exit>;

pub struct Runner {
    client: Client<Stream>,
    options: Options,
    variables: Variables,
    out: Box<dyn Write>,
    /// A person types: lines are prompted for, and a scripting error does not end the run.
    prompts: bool,
}

impl Runner {
    pub fn connect(options: Options) -> Result<Runner, String> {
        let out = match &options.output {
            Some(path) => open_output(path)?,
            None => Box::new(io::stdout()),
        };
        let connection = ConnectOptions {
            host: options.host.clone(),
            port: options.port,
            user: options.user.clone(),
            password: options.password.clone(),
            database: options.database.clone(),
            app: "SQLCMD".to_string(),
            packet_bytes: options.packet_bytes,
            workstation: options.workstation.clone(),
            trust: trust(&options)?,
            connect_timeout: seconds(options.login_timeout_s),
            read_timeout: seconds(options.login_timeout_s),
        };
        let client = connect(&connection).map_err(|error| login_error(&error))?;
        let timeout = seconds(options.query_timeout_s);
        let socket = client.stream().socket();
        socket
            .set_read_timeout(timeout)
            .map_err(|e| format!("Sqlcmd: Error: {e}"))?;
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
            client,
            options,
            variables,
            out,
            prompts: false,
        })
    }

    /// Runs everything the command line asks for; the result is the exit code.
    pub fn run(mut self) -> i32 {
        let code = match self.run_all() {
            Ok(()) => 0,
            Err(Exit(code)) => code,
        };
        match self.out.flush() {
            Ok(()) => code,
            Err(_) => 1,
        }
    }

    fn run_all(&mut self) -> Flow {
        if !self.options.quoted_identifier {
            self.execute("SET QUOTED_IDENTIFIER OFF")?;
        }
        if let Some(query) = self.options.query.clone() {
            self.read(&mut query.as_bytes(), 0)?;
            if !self.options.stay {
                return Ok(());
            }
        }
        if self.options.inputs.is_empty() {
            self.prompts = io::stdin().is_terminal();
            return self.read(&mut io::stdin().lock(), 0);
        }
        for path in self.options.inputs.clone() {
            self.read_file(&path, 0)?;
        }
        Ok(())
    }

    fn read_file(&mut self, path: &str, depth: usize) -> Flow {
        if depth > READ_DEPTH_MAX {
            return self.fatal(&format!("'{path}': files are nested too deeply."));
        }
        match File::open(path) {
            Ok(file) => self.read(&mut BufReader::new(file), depth),
            Err(_) => {
                let flushed = self.out.flush();
                eprintln!("Sqlcmd: '{path}': Invalid filename.");
                flushed.map_err(|_| Exit(1))?;
                Err(Exit(1))
            }
        }
    }

    fn read(&mut self, input: &mut dyn BufRead, depth: usize) -> Flow {
        let mut script = Script::new(self.options.no_substitution);
        let mut bytes = Vec::new();
        let mut first = true;
        loop {
            bytes.clear();
            if self.prompts && depth == 0 {
                eprint!("{}> ", script.lines() + 1);
            }
            match input.read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return self.fatal(&error.to_string()),
            }
            let text = String::from_utf8_lossy(&bytes);
            let mut line = text.trim_end_matches('\n').trim_end_matches('\r');
            if std::mem::take(&mut first) {
                line = line.trim_start_matches('\u{feff}');
            }
            if self.options.echo {
                self.write(&format!("{line}\n"))?;
            }
            match script.line(line, &self.variables) {
                Ok(None) => {}
                Ok(Some(Item::Batch { text, count })) => self.batch(&text, count)?,
                Ok(Some(Item::Command(command))) => self.command(command, &mut script, depth)?,
                Err(error) if self.prompts => eprintln!("Sqlcmd: Error: {error}"),
                Err(error) => return self.fatal(&error),
            }
        }
        let rest = script.finish();
        self.batch(&rest, 1)
    }

    fn command(&mut self, command: Command, script: &mut Script, depth: usize) -> Flow {
        match command {
            Command::Read(path) => self.read_file(&path, depth + 1),
            Command::SetVariable { name, value } => {
                let name = name.to_ascii_uppercase();
                match (name.as_str(), &value) {
                    ("SQLCMDCOLSEP", Some(value)) => self.options.separator.clone_from(value),
                    ("SQLCMDHEADERS", Some(value)) => match value.parse() {
                        Ok(rows) => self.options.headers = rows,
                        Err(_) => return self.fatal(&format!("'{value}': not a number.")),
                    },
                    _ => {}
                }
                match value {
                    Some(value) => self.variables.insert(name, value),
                    None => self.variables.remove(&name),
                };
                Ok(())
            }
            Command::Exit(None) => {
                // Without a query the batch so far still runs.
                let rest = script.finish();
                self.batch(&rest, 1)?;
                Err(Exit(0))
            }
            Command::Exit(Some(query)) => {
                let rest = script.finish();
                self.batch(&rest, 1)?;
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
            Command::Out(target) => self.redirect(&target),
            Command::Reset => Ok(()),
            Command::ListVariables => {
                let list: String = self
                    .variables
                    .iter()
                    .map(|(n, v)| format!("{n} = \"{v}\"\n"))
                    .collect();
                self.write(&list)
            }
        }
    }

    fn redirect(&mut self, target: &str) -> Flow {
        if self.out.flush().is_err() {
            return Err(Exit(1));
        }
        self.out = match target.to_ascii_lowercase().as_str() {
            "stdout" => Box::new(io::stdout()),
            "stderr" => Box::new(io::stderr()),
            _ => match open_output(target) {
                Ok(out) => out,
                Err(error) => return self.fatal(&error),
            },
        };
        Ok(())
    }

    fn batch(&mut self, text: &str, count: u64) -> Flow {
        if text.trim().is_empty() {
            return Ok(());
        }
        for _ in 0..count {
            self.execute(text)?;
        }
        Ok(())
    }

    /// Sends one batch and prints what comes back.
    fn execute(&mut self, sql: &str) -> Result<Outcome, Exit> {
        let sent = self.client.query(sql);
        self.checked(sent)?;
        let mut layout: Option<Layout> = None;
        let mut rows = 0i64;
        let mut first = None;
        let mut all_rows = 0u64;
        let mut worst = 0;
        let mut quit = None;
        loop {
            let event = self.client.next_event();
            let Some(event) = self.checked(event)? else {
                break;
            };
            match event {
                Token::Columns(columns) => {
                    let next = Layout::new(columns, &self.options.separator, self.options.trim);
                    if self.options.headers >= 0 {
                        self.write(&next.header())?;
                    }
                    rows = 0;
                    layout = Some(next);
                }
                Token::Row(values) => {
                    let Some(layout) = &layout else { continue };
                    first = first.or_else(|| values.first().map(Value::as_i64));
                    let mut text = String::new();
                    if self.options.headers > 0 && rows > 0 && rows % self.options.headers == 0 {
                        text = format!("\n{}", layout.header());
                    }
                    rows += 1;
                    all_rows += 1;
                    text.push_str(&layout.row(&values));
                    self.write(&text)?;
                }
                Token::Done(done) => {
                    layout = None;
                    if let Some(count) = done.count() {
                        self.write(&format!("\n({count} rows affected)\n"))?;
                    }
                }
                Token::Error(message) | Token::Info(message) => {
                    worst = worst.max(message.class);
                    if message.state == STATE_THAT_QUITS {
                        quit = quit.or(Some(message.number));
                    }
                    let shown =
                        message.class < FIRST_ERROR || message.class >= self.options.shown_least;
                    let text = format::message(&message);
                    match self.options.stderr_from {
                        _ if !shown => {}
                        Some(from) if message.class >= from => {
                            self.out.flush().map_err(|_| Exit(1))?;
                            eprint!("{text}");
                        }
                        _ => self.write(&text)?,
                    }
                }
                _ => {}
            }
        }
        if self.out.flush().is_err() {
            return Err(Exit(1));
        }
        if let Some(number) = quit {
            return Err(Exit(number));
        }
        let failed = worst >= FIRST_ERROR;
        if self.options.exit_on_error && failed && worst >= self.options.severity_least {
            let asked_for = self.options.severity_least != FIRST_ERROR;
            return Err(Exit(if asked_for { i32::from(worst) } else { 1 }));
        }
        Ok(Outcome {
            failed,
            rows: all_rows,
            first: first.flatten(),
        })
    }

    /// A connection that failed ends the run.
    fn checked<T>(&mut self, result: Result<T, ClientError>) -> Result<T, Exit> {
        result.map_err(|error| {
            let text = match &error {
                ClientError::Io(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    "Timeout expired".to_string()
                }
                ClientError::Io(e) => format!("Sqlcmd: Error: Communication link failure: {e}"),
                other => format!("Sqlcmd: Error: {other}"),
            };
            // The output may hold what explains it.
            let flushed = self.out.flush();
            eprintln!("{text}");
            if let Err(error) = flushed {
                eprintln!("Sqlcmd: Error: {error}");
            }
            Exit(1)
        })
    }

    fn write(&mut self, text: &str) -> Flow {
        self.out.write_all(text.as_bytes()).map_err(|_| Exit(1))
    }

    /// A scripting error: nothing after it runs.
    fn fatal(&mut self, error: &str) -> Flow {
        let flushed = self.out.flush();
        eprintln!("Sqlcmd: Error: Syntax error or file error: {error}");
        if let Err(error) = flushed {
            eprintln!("Sqlcmd: Error: {error}");
        }
        Err(Exit(1))
    }
}

fn open_output(path: &str) -> Result<Box<dyn Write>, String> {
    match File::create(path) {
        Ok(file) => Ok(Box::new(BufWriter::new(file))),
        Err(error) => Err(format!("Sqlcmd: Error: '{path}': {error}")),
    }
}

fn seconds(n: u64) -> Option<Duration> {
    (n > 0).then(|| Duration::from_secs(n))
}

/// Whose certificate is believed: the one given, any one on request, and any one of this machine, which nobody can
/// stand in between.
fn trust(options: &Options) -> Result<Trust, String> {
    if let Some(path) = &options.certificate {
        let pem = std::fs::read(path).map_err(|e| format!("Sqlcmd: Error: '{path}': {e}"))?;
        return Ok(Trust::Pem(pem));
    }
    let loopback = || {
        let addresses = (options.host.as_str(), options.port).to_socket_addrs();
        addresses.is_ok_and(|mut all| {
            all.all(|a| matches!(a.ip(), ip @ (IpAddr::V4(_) | IpAddr::V6(_)) if ip.is_loopback()))
        })
    };
    match options.trust_any || loopback() {
        true => Ok(Trust::Any),
        false => Err(format!(
            "Sqlcmd: Error: the certificate of '{}' cannot be verified; give it with -J FILE, or trust any with -C.",
            options.host
        )),
    }
}

fn login_error(error: &ClientError) -> String {
    match error {
        ClientError::Login(messages) if !messages.is_empty() => {
            let texts: Vec<String> = messages.iter().map(format::message).collect();
            texts.concat().trim_end().to_string()
        }
        ClientError::Io(e) => {
            format!("Sqlcmd: Error: a connection to the server could not be made: {e}")
        }
        other => format!("Sqlcmd: Error: {other}"),
    }
}
