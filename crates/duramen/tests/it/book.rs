//! The examples of the README and the book, as their readers would run them: each page over a server of its own.
//!
//! A page is read for its fenced blocks. What follows a block in a block of `text` is what a reader sees then; where a line
//! there is `...` any lines may stand, and `...` within a line is any text.
//!
//! ```text
//! sql             for the page's session, `duramen sql -W`; each block is followed by GO
//! sql b           for another session of the page
//! sql b waits     for another session; what it says is read with its next block, and till then nobody waits for it
//! sh              for the shell, in a folder of the page, with `duramen` on the path and SQLCMDSERVER, SQLCMDUSER and
//!                 SQLCMDPASSWORD set for the page's server
//! sh server       the command that starts the page's server: it gets a port and a folder of the page
//! ```
//!
//! Blocks of other languages are only shown, and must be taken from files that other tests run (`{{#include`).
//! `BOOK=name` runs the pages whose path contains the name, `BOOK=update:name` writes what they say into their blocks of text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::process::{BINARY, PASSWORD, Process, Scratch};

/// Pages that are tried side by side: most of a page's time is its server's start and end.
const AT_ONCE: usize = 3;
/// How long a block may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a script may take, which may start servers of its own.
const PATIENCE_WITH_SHELLS: Duration = Duration::from_secs(180);
/// Languages in which a page says something that nobody runs.
const SHOWN: [&str; 4] = ["", "text", "ini", "toml"];

struct Block {
    /// The number of its first line within the page, from 1.
    line: usize,
    /// It follows a block with nothing but blank lines between.
    follows: bool,
    /// What stands behind the fence.
    info: String,
    text: String,
}

/// One of the page's sessions: a client that reads its script from a pipe.
struct Session {
    client: Child,
    input: ChildStdin,
    said: Receiver<u8>,
    /// Blocks that were sent so far.
    sent: usize,
}

struct Page<'p> {
    scratch: &'p Scratch,
    server: Option<Process>,
    /// The process groups of its shells, which may have left something running.
    groups: Vec<u32>,
    sessions: BTreeMap<String, Session>,
}

#[test]
fn examples_of_the_book_say_what_it_promises() {
    let wish = std::env::var("BOOK").unwrap_or_default();
    let (update, only) = match wish.strip_prefix("update") {
        Some(rest) => (true, rest.trim_start_matches(':')),
        None => (false, wish.as_str()),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    collect(&root.join("docs/book/src"), &mut pages);
    pages.sort();
    let name = |path: &Path| {
        path.strip_prefix(&root)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    pages.retain(|path| name(path).contains(only));
    let (next, reported) = (AtomicUsize::new(0), Mutex::new((0, String::new())));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let text = std::fs::read_to_string(path).expect("a page can be read");
                    let mut differences = String::new();
                    let examples = run(
                        &name(path),
                        &blocks(&text),
                        &mut differences,
                        |block, said| {
                            if update {
                                rewrite(path, block, said);
                            }
                            update
                        },
                    );
                    let mut reported = reported.lock().expect("nobody fails with it");
                    reported.0 += examples;
                    reported.1.push_str(&differences);
                }
            });
        }
    });
    let (examples, differences) = reported.into_inner().expect("nobody fails with it");
    assert!(examples > 0, "no page with examples is called like {wish}");
    assert!(differences.is_empty(), "\n{differences}");
}

/// Runs a page's blocks and compares what each says; how many there were. `instead` is asked before a difference is told.
fn run(
    name: &str,
    blocks: &[Block],
    differences: &mut String,
    instead: impl Fn(&Block, &str) -> bool,
) -> usize {
    let scratch = Scratch::new(&format!("book-{}", name.replace(['/', '.'], "-")));
    let mut page = Page {
        scratch: &scratch,
        server: None,
        groups: Vec::new(),
        sessions: BTreeMap::new(),
    };
    let mut examples = 0;
    for (at, block) in blocks.iter().enumerate() {
        let Some(said) = page.run(block) else {
            let known = SHOWN.contains(&block.info.as_str()) || block.text.contains("{{#include");
            if !known {
                let what = &block.info;
                let _ = writeln!(differences, "{name}:{}: `{what}` is not run", block.line);
            }
            continue;
        };
        examples += 1;
        let Some(expected) = blocks.get(at + 1).filter(|b| b.info == "text" && b.follows) else {
            continue;
        };
        if !matches(&expected.text, &said) && !instead(expected, &said) {
            let line = expected.line;
            let _ = writeln!(differences, "{name}:{line}: the example says\n{said}");
        }
    }
    examples
}

impl Page<'_> {
    /// What the block says, when it is run; `None` for those that are only shown.
    fn run(&mut self, block: &Block) -> Option<String> {
        let words: Vec<&str> = block.info.split_whitespace().collect();
        match *words.as_slice() {
            ["sh", "server"] => {
                self.start(&block.text);
                Some(String::new())
            }
            ["sh"] => Some(self.shell(&block.text)),
            ["sql"] => Some(self.ask("", &block.text, true)),
            ["sql", session] => Some(self.ask(session, &block.text, true)),
            ["sql", session, "waits"] => Some(self.ask(session, &block.text, false)),
            _ => None,
        }
    }

    fn start(&mut self, command: &str) {
        let mut words = command.split_whitespace();
        assert_eq!(
            (words.next(), words.next()),
            (Some("duramen"), Some("serve"))
        );
        let options: Vec<&str> = words.collect();
        self.sessions.clear();
        let data = self.scratch.path().join("data");
        self.server = Some(Process::start(&data, &options));
    }

    fn port(&mut self) -> u16 {
        if self.server.is_none() {
            self.start("duramen serve");
        }
        self.server.as_ref().map_or(0, |s| s.port)
    }

    fn command(&mut self, program: &str) -> Command {
        let port = self.port();
        let binaries = Path::new(BINARY).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .current_dir(self.scratch.path())
            .env("PATH", format!("{}:{path}", binaries.display()))
            .env("SQLCMDSERVER", format!("tcp:127.0.0.1,{port}"))
            .env("SQLCMDUSER", "sa")
            .env("SQLCMDPASSWORD", PASSWORD);
        command
    }

    fn shell(&mut self, text: &str) -> String {
        // A file and not a pipe: what a failed script leaves in the background keeps nobody waiting.
        let said = self.scratch.path().join(".said");
        let out = File::create(&said).expect("a scratch file");
        let mut command = self.command("sh");
        let script = format!("exec 2>&1\n{text}");
        let mut shell = command
            .args(["-e", "-c", &script])
            .stdin(Stdio::null())
            .stdout(out)
            .process_group(0)
            .spawn()
            .expect("the shell starts");
        self.groups.push(shell.id());
        let start = Instant::now();
        while shell.try_wait().expect("it is ours").is_none()
            && start.elapsed() < PATIENCE_WITH_SHELLS
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = shell.try_wait().expect("it is ours").is_some();
        if !ended {
            kill_group(shell.id());
            let _ = shell.wait();
        }
        let mut bytes = std::fs::read(&said).expect("it was made above");
        if !ended {
            bytes.extend(b"... and does not end\n");
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Sends a block, and reads to its end unless it is one that waits.
    fn ask(&mut self, name: &str, text: &str, read: bool) -> String {
        if !self.sessions.contains_key(name) {
            let mut command = self.command(BINARY);
            self.sessions
                .insert(name.to_owned(), Session::open(&mut command));
        }
        let session = self.sessions.get_mut(name).expect("it is open");
        session.sent += 1;
        let mark = format!("~~ {} ~~", session.sent);
        let script = format!("{text}\nGO\nPRINT '{mark}'\nGO\n");
        let _ = session.input.write_all(script.as_bytes());
        let _ = session.input.flush();
        match read {
            true => session.read_to(&mark),
            false => String::new(),
        }
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        for &group in &self.groups {
            kill_group(group);
        }
    }
}

/// Whatever a shell has left running.
fn kill_group(leader: u32) {
    let group = format!("-{leader}");
    let _ = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
}

impl Session {
    fn open(command: &mut Command) -> Session {
        let mut client = command
            .args(["sql", "-W", "-C"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("duramen sql starts");
        let input = client.stdin.take().expect("it is piped");
        let mut output = client.stdout.take().expect("it is piped");
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                for byte in &bytes[..n] {
                    let _ = sender.send(*byte);
                }
            }
        });
        Session {
            client,
            input,
            said,
            sent: 0,
        }
    }

    /// What was said before the line of the mark; the marks of blocks that were not waited for are left out.
    fn read_to(&mut self, mark: &str) -> String {
        let end = format!("{mark}\n");
        let mut bytes = Vec::new();
        loop {
            match self.said.recv_timeout(PATIENCE) {
                Ok(byte) => bytes.push(byte),
                Err(RecvTimeoutError::Timeout) => break bytes.extend(b"... and does not end\n"),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if bytes.ends_with(end.as_bytes()) {
                bytes.truncate(bytes.len() - end.len());
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter(|l| !l.starts_with("~~ "));
        lines.map(|l| format!("{l}\n")).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// The fenced blocks of a page.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut follows = false;
    for (line, content) in (1..).zip(text.lines()) {
        let fence = content.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (Some(block), None) => {
                block.text.push_str(content);
                block.text.push('\n');
            }
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                follows = true;
            }
            (None, Some(info)) => {
                open = Some(Block {
                    line: line + 1,
                    follows,
                    info: info.trim().to_owned(),
                    text: String::new(),
                });
            }
            (None, None) => follows &= content.trim().is_empty(),
        }
    }
    blocks
}

/// Whether what was said is what the page shows; blank lines at both ends do not count.
fn matches(shown: &str, said: &str) -> bool {
    let shown: Vec<&str> = shown.trim().lines().map(str::trim_end).collect();
    let said: Vec<&str> = said.trim().lines().map(str::trim_end).collect();
    lines_match(&shown, &said)
}

fn lines_match(shown: &[&str], said: &[&str]) -> bool {
    match shown {
        [] => said.is_empty(),
        ["...", rest @ ..] => (0..=said.len()).any(|n| lines_match(rest, &said[n..])),
        [line, rest @ ..] => match said {
            [first, others @ ..] => line_matches(line, first) && lines_match(rest, others),
            [] => false,
        },
    }
}

fn line_matches(shown: &str, said: &str) -> bool {
    let mut parts = shown.split("...");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = said.strip_prefix(first) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Puts what was said where the page shows something else.
fn rewrite(path: &Path, block: &Block, said: &str) {
    let text = std::fs::read_to_string(path).expect("a page can be read");
    let shown = format!("```text\n{}```", block.text);
    assert!(text.contains(&shown), "the page has changed meanwhile");
    let now = text.replacen(
        &shown,
        &format!("```text\n{}\n```", said.trim_matches('\n')),
        1,
    );
    std::fs::write(path, now).expect("a page is written");
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir)
        .expect("the book's pages are there")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|e| e == "md") {
            out.push(path);
        }
    }
}

/// Targets of the links to pages in a text, without their anchors.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|t| t.split(')').next());
    let pages = targets.map(|t| t.split('#').next().unwrap_or(t));
    pages.filter(|t| t.ends_with(".md") && !t.contains("://"))
}

#[test]
fn every_page_is_listed_and_every_link_leads_to_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/src");
    let mut pages = Vec::new();
    collect(&root, &mut pages);
    let summary = root.join("SUMMARY.md");
    let text = std::fs::read_to_string(&summary).expect("the summary can be read");
    let listed: BTreeSet<PathBuf> = links(&text).map(|l| root.join(l)).collect();
    let there: BTreeSet<PathBuf> = pages.iter().filter(|p| **p != summary).cloned().collect();
    assert_eq!(
        listed, there,
        "the summary lists other pages than there are"
    );
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page can be read");
        for link in links(&text) {
            let target = page.parent().expect("a folder").join(link);
            assert!(target.exists(), "{}: {link} is not there", page.display());
        }
    }
}

#[test]
fn what_a_page_shows_may_leave_things_out() {
    assert!(matches("a\nb\n", "\na\nb \n\n"));
    assert!(matches("a\n...\nz", "a\nb\nc\nz"));
    assert!(matches("a\n...\nz", "a\nz"));
    assert!(matches("took ... ms, ... rows", "took 12 ms, 3 rows"));
    assert!(!matches("took ... ms", "took 12 s"));
    assert!(!matches("a", "a\nb"));
    assert!(!matches("a\nb", "a"));
}
