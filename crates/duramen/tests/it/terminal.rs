//! `duramen sql` at a terminal: prompts, line editing, the history of the last session, Ctrl-C for a running query.
//!
//! The terminal is a pseudo-terminal whose other end is this test: it types, reads what is shown, and answers the one
//! question that the line editor asks a terminal, where its cursor is.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::process::{BINARY, PASSWORD, Process, Scratch};

struct Terminal {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    child: Child,
    /// How much of the screen has been looked at.
    seen: usize,
}

/// Text without what moves the cursor and changes colours.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
        } else if chars.next() == Some('[') {
            chars.by_ref().find(|c| c.is_ascii_alphabetic());
        }
    }
    out
}

impl Terminal {
    fn open(port: u16, home: &Path, args: &[&str], password: bool) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&ours).expect("granted");
        unlockpt(&ours).expect("unlocked");
        let size = Winsize {
            ws_row: 40,
            ws_col: 200,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).expect("a size");
        let name = ptsname(&ours, Vec::new()).expect("a name");
        let name = name.into_string().expect("a plain name");
        let theirs = || {
            let options = OpenOptions::new().read(true).write(true).open(&name);
            options.expect("the other end")
        };
        let mut command = Command::new(BINARY);
        command
            .args(["sql", "-S", &format!("127.0.0.1,{port}"), "-U", "sa", "-C"])
            .args(args)
            .env("HOME", home)
            .env_remove("XDG_STATE_HOME")
            .env("TERM", "xterm")
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs());
        if password {
            command.env("SQLCMDPASSWORD", PASSWORD);
        } else {
            command.env_remove("SQLCMDPASSWORD");
        }
        let child = command.spawn().expect("duramen sql starts");
        let keyboard = File::from(ours);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reader, shown) = (
            keyboard.try_clone().expect("a second handle"),
            screen.clone(),
        );
        let mut answers = keyboard.try_clone().expect("a third handle");
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the other end is closed.
            while let Ok(n) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
                if n == 0 {
                    break;
                }
                if text.contains("\u{1b}[6n") && answers.write_all(b"\x1b[1;1R").is_err() {
                    break;
                }
                shown.lock().expect("not poisoned").push_str(&plain(&text));
            }
        });
        Terminal {
            keyboard,
            screen,
            child,
            seen: 0,
        }
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits until the text is shown after what was waited for before.
    fn shows(&mut self, text: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let screen = self.screen.lock().expect("not poisoned").clone();
            if let Some(at) = screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            let rest = &screen[self.seen..];
            assert!(Instant::now() < until, "'{text}' is not shown: {rest:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ends(mut self) -> i32 {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_person_at_a_terminal() {
    let scratch = Scratch::new("terminal");
    let dir = scratch.path();
    let server = Process::start(&dir.join("data"), &[]);

    let mut t = Terminal::open(server.port, dir, &[], true);
    t.shows("1> ");
    // The line number goes up until GO; a typing error is mended with the arrow keys.
    t.press("SELECT 4 + \r");
    t.shows("2> ");
    t.press("38 AS total");
    t.press("\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x7f \r");
    t.shows("3> ");
    t.press("GO\r");
    t.shows("42");
    t.shows("(1 rows affected)");
    t.shows("1> ");
    // A mistake does not end the session.
    t.press(":nosuch\r");
    t.shows("this command is not supported");
    t.shows("1> ");
    // Ctrl-C forgets the batch so far.
    t.press("PRINT 'forgotten'\r");
    t.shows("2> ");
    t.press("\x03");
    t.shows("1> ");
    // While a query runs it is a signal: the query ends, the session goes on.
    t.press("WAITFOR DELAY '00:10:00'\r");
    t.shows("2> ");
    let started = Instant::now();
    t.press("GO\r");
    std::thread::sleep(Duration::from_millis(500));
    let pid = Pid::from_child(&t.child);
    kill_process(pid, Signal::INT).expect("a signal");
    t.shows("Query canceled by the user.");
    assert!(started.elapsed() < Duration::from_secs(60));
    t.shows("1> ");
    t.press("PRINT 'still ' + 'here'\rGO\r");
    t.shows("still here");
    t.shows("1> ");
    t.press("EXIT\r");
    assert_eq!(t.ends(), 0);

    // The next session asks for the password and remembers the lines of the last.
    let mut t = Terminal::open(server.port, dir, &[], false);
    t.shows("Password: ");
    t.press(&format!("{PASSWORD}\n"));
    t.shows("1> ");
    t.press("\x1b[A\x1b[A\x1b[A");
    t.shows("still ");
    t.press("\r");
    t.shows("2> ");
    t.press("GO\r");
    t.shows("still here");
    let shown = t.screen.lock().expect("not poisoned").clone();
    assert!(!shown.contains(PASSWORD));
    t.shows("1> ");
    t.press("\x04");
    assert_eq!(t.ends(), 0);
    server.stop();
}
