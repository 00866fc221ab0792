//! Lines of a script to batches and commands.
//!
//! Commands and GO are seen only where a line starts outside strings, delimited names and block comments. Variables
//! are filled in everywhere but in comments.

use std::collections::BTreeMap;

/// What a line completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// GO: run the batch so often.
    Batch {
        text: String,
        count: u64,
    },
    Command(Command),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `:r FILE`.
    Read(String),
    /// `:setvar NAME [VALUE]`.
    SetVariable {
        name: String,
        value: Option<String>,
    },
    /// `:exit`: the batch so far is not run.
    /// `:exit(query)` runs it, and then the query; the query may be empty.
    Exit(Option<String>),
    Quit,
    /// `:on error exit` is true, `ignore` false.
    OnError(bool),
    /// `:out FILE|stdout|stderr`.
    Out(String),
    /// `:error FILE|stdout|stderr`: where errors go.
    Error(String),
    /// `:reset`: forget the batch so far.
    Reset,
    /// `:list`: show the batch so far.
    List,
    ListVariables,
    Help,
    /// `:connect SERVER [-l SECONDS] [-U LOGIN [-P PASSWORD]]`.
    Connect(Vec<String>),
    /// `!!COMMAND`: a command of the system's.
    Shell(String),
    Edit,
}

/// Variables by upper-cased name; the environment is behind them.
pub type Variables = BTreeMap<String, String>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inside {
    /// Nesting of block comments.
    comment: u32,
    /// The character that ends the string or name we are in.
    quote: Option<char>,
}

#[derive(Clone, Debug)]
pub struct Script {
    batch: String,
    inside: Inside,
    /// The word that ends a batch.
    terminator: String,
    /// `-x`: leave `$(NAME)` alone.
    no_substitution: bool,
}

impl Script {
    pub fn new(terminator: &str, no_substitution: bool) -> Script {
        Script {
            batch: String::new(),
            inside: Inside::default(),
            terminator: terminator.to_string(),
            no_substitution,
        }
    }

    /// Takes one line without its end.
    pub fn line(&mut self, line: &str, variables: &Variables) -> Result<Option<Item>, String> {
        if self.inside == Inside::default() {
            if let Some(count) = self.count(line)? {
                let text = std::mem::take(&mut self.batch);
                return Ok(Some(Item::Batch { text, count }));
            }
            if let Some(command) = self.command(line, variables)? {
                if command == Command::Reset {
                    self.batch.clear();
                }
                return Ok(Some(Item::Command(command)));
            }
        }
        let mut inside = self.inside;
        let text = self.scan(line, &mut inside, variables)?;
        self.inside = inside;
        self.batch.push_str(&text);
        self.batch.push('\n');
        Ok(None)
    }

    /// Lines of the batch so far.
    pub fn lines(&self) -> usize {
        self.batch.lines().count()
    }

    /// The batch so far.
    pub fn batch(&self) -> &str {
        &self.batch
    }

    /// What is left at the end of the input.
    pub fn finish(&mut self) -> String {
        self.inside = Inside::default();
        std::mem::take(&mut self.batch)
    }

    /// Follows strings and comments over a line, filling in variables.
    fn scan(
        &self,
        line: &str,
        inside: &mut Inside,
        variables: &Variables,
    ) -> Result<String, String> {
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let mut taken = c.len_utf8();
            let in_comment = inside.comment > 0;
            if rest.starts_with("/*") && inside.quote.is_none() {
                inside.comment += 1;
                taken = 2;
            } else if in_comment && rest.starts_with("*/") {
                inside.comment -= 1;
                taken = 2;
            } else if in_comment {
            } else if rest.starts_with("--") && inside.quote.is_none() {
                out.push_str(rest);
                break;
            } else if let Some(name) = self.variable_name(rest) {
                out.push_str(&lookup(name, variables)?);
                rest = &rest[name.len() + 3..];
                continue;
            } else if inside.quote == Some(c) {
                // A doubled quote closes and opens again: the same in the end.
                inside.quote = None;
            } else if inside.quote.is_none() {
                inside.quote = match c {
                    '\'' | '"' => Some(c),
                    '[' => Some(']'),
                    _ => None,
                };
            }
            out.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        Ok(out)
    }

    /// The name of `$(name)` at the start of `text`.
    fn variable_name<'a>(&self, text: &'a str) -> Option<&'a str> {
        if self.no_substitution {
            return None;
        }
        let name = text.strip_prefix("$(")?.split(')').next()?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let closed = text.as_bytes().get(name.len() + 2) == Some(&b')');
        (closed && !name.is_empty() && name.chars().all(plain)).then_some(name)
    }

    /// `GO [n]` alone on its line, a comment after it allowed.
    fn count(&self, line: &str) -> Result<Option<u64>, String> {
        let text = line.split("--").next().unwrap_or("").trim();
        let Some((word, rest)) = text.split_at_checked(self.terminator.len()) else {
            return Ok(None);
        };
        if !word.eq_ignore_ascii_case(&self.terminator) {
            return Ok(None);
        }
        let wrong = || {
            let word = &self.terminator;
            format!("Incorrect syntax was encountered while parsing {word}.")
        };
        match rest.trim() {
            "" => Ok(Some(1)),
            ";" => Err(wrong()),
            _ if !rest.starts_with(char::is_whitespace) => Ok(None),
            number => number.parse().map(Some).map_err(|_| wrong()),
        }
    }

    fn command(&self, line: &str, variables: &Variables) -> Result<Option<Command>, String> {
        let trimmed = line.trim();
        let shell = trimmed.strip_prefix("!!");
        if let Some(shell) = shell.or_else(|| trimmed.strip_prefix(":!!")) {
            let shell = self.scan(shell.trim(), &mut Inside::default(), variables)?;
            return Ok(Some(Command::Shell(shell)));
        }
        if trimmed.eq_ignore_ascii_case("ed") {
            return Ok(Some(Command::Edit));
        }
        if let Some(command) = exit_or_quit(trimmed.strip_prefix(':').unwrap_or(trimmed)) {
            return Ok(Some(command));
        }
        let Some(body) = trimmed.strip_prefix(':') else {
            return match trimmed.eq_ignore_ascii_case("reset") {
                true => Ok(Some(Command::Reset)),
                false => Ok(None),
            };
        };
        let body = self.scan(body, &mut Inside::default(), variables)?;
        let (word, argument) = match body.split_once(char::is_whitespace) {
            Some((word, argument)) => (word, argument.trim()),
            None => (body.as_str(), ""),
        };
        let needs = |what: &str| match argument {
            "" => Err(format!("'{trimmed}': {what} is missing.")),
            text => Ok(unquoted(text).to_string()),
        };
        let command = match word.to_ascii_lowercase().as_str() {
            "r" => Command::Read(needs("the file")?),
            "out" => Command::Out(needs("the file")?),
            "error" => Command::Error(needs("the file")?),
            "connect" => {
                needs("the server")?;
                let words = argument.split_whitespace();
                Command::Connect(words.map(|w| unquoted(w).to_string()).collect())
            }
            "list" => Command::List,
            "help" => Command::Help,
            "ed" => Command::Edit,
            "setvar" => {
                set_variable(argument).ok_or(format!("'{trimmed}': the name is missing."))?
            }
            "on" => match argument.split_whitespace().collect::<Vec<_>>()[..] {
                [e, x] if e.eq_ignore_ascii_case("error") && x.eq_ignore_ascii_case("exit") => {
                    Command::OnError(true)
                }
                [e, x] if e.eq_ignore_ascii_case("error") && x.eq_ignore_ascii_case("ignore") => {
                    Command::OnError(false)
                }
                _ => {
                    return Err(format!(
                        "'{trimmed}': expected ':on error exit' or ':on error ignore'."
                    ));
                }
            },
            "reset" => Command::Reset,
            "listvar" => Command::ListVariables,
            _ => return Err(format!("'{trimmed}': this command is not supported.")),
        };
        Ok(Some(command))
    }
}

fn lookup(name: &str, variables: &Variables) -> Result<String, String> {
    let known = variables.get(&name.to_ascii_uppercase()).cloned();
    known
        .or_else(|| std::env::var(name).ok())
        .ok_or_else(|| format!("'{name}' scripting variable not defined."))
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .unwrap_or(text)
}

fn set_variable(argument: &str) -> Option<Command> {
    let (name, value) = match argument.split_once(char::is_whitespace) {
        Some((name, value)) => (name, Some(unquoted(value.trim()).to_string())),
        None => (argument, None),
    };
    (!name.is_empty()).then(|| Command::SetVariable {
        name: name.to_string(),
        value,
    })
}

/// `exit`, `exit()`, `exit(query)`, `quit`; with or without the colon.
fn exit_or_quit(text: &str) -> Option<Command> {
    if text.eq_ignore_ascii_case("quit") {
        return Some(Command::Quit);
    }
    let (word, rest) = text.split_at_checked(4)?;
    if !word.eq_ignore_ascii_case("exit") {
        return None;
    }
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(Command::Exit(None));
    }
    let query = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
    Some(Command::Exit(Some(query.to_string())))
}
