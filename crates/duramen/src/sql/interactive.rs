//! What a person types: a prompt with line editing and a history that outlives the session, and Ctrl-C.
//!
//! While a line is edited the terminal is in raw mode and Ctrl-C is a key. While a query runs it is a signal, which
//! sets a flag: whoever waits for the server looks at it and sends an attention. A second one ends the program.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus,
    Reedline, Signal,
};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// How many lines the history keeps.
const HISTORY_LINES: usize = 2_000;

/// What came from the keyboard.
pub enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    End,
}

/// Lines with editing.
pub struct Lines(Reedline);

impl Lines {
    /// A line that begins with a blank is not kept. Without a place for it the history lasts as long as the session.
    pub fn open() -> Lines {
        let editor = Reedline::create()
            .with_ansi_colors(false)
            .with_history_exclusion_prefix(Some(" ".to_string()));
        let kept = history_path().and_then(|path| {
            std::fs::create_dir_all(path.parent()?).ok()?;
            FileBackedHistory::with_file(HISTORY_LINES, path).ok()
        });
        Lines(match kept {
            Some(history) => editor.with_history(Box::new(history)),
            None => editor,
        })
    }

    /// Asks for the line of that number of the batch.
    pub fn read(&mut self, number: usize) -> io::Result<Typed> {
        Ok(match self.0.read_line(&Numbered(number))? {
            Signal::Success(line) => Typed::Line(line),
            Signal::CtrlC => Typed::Interrupt,
            _ => Typed::End,
        })
    }
}

/// `$XDG_STATE_HOME/duramen/sql_history`, below `~/.local/state` by default.
fn history_path() -> Option<PathBuf> {
    let of = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    let state = match of("XDG_STATE_HOME") {
        Some(state) => PathBuf::from(state),
        None => PathBuf::from(of("HOME")?).join(".local/state"),
    };
    Some(state.join("duramen").join("sql_history"))
}

/// `1> `
struct Numbered(usize);

impl Prompt for Numbered {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Owned(self.0.to_string())
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "failing ",
        };
        Cow::Owned(format!("({failing}search: {}) ", search.term))
    }
}

/// The flag that Ctrl-C sets from now on; a second one before the flag is taken back ends the program.
pub fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let signal = signal_hook::consts::SIGINT;
    signal_hook::flag::register_conditional_shutdown(signal, 1, flag.clone())?;
    signal_hook::flag::register(signal, flag.clone())?;
    Ok(flag)
}

/// Asks for a password without showing it.
pub fn password() -> io::Result<String> {
    let stdin = io::stdin();
    let shown = tcgetattr(&stdin)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    eprint!("Password: ");
    io::stderr().flush()?;
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Now, &shown)?;
    eprintln!();
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_string())
}
