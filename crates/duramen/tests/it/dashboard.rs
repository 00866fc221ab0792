//! The dashboard in front of a real server: who may come in, what each sees, and that the page moves.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::process::{PASSWORD, Process, Scratch, free_port, rows};

struct Site(u16);

impl Site {
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.0)).expect("it listens");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    }

    /// The answer to a login, and the cookie in it.
    fn log_in(&self, user: &str, password: &str) -> (String, Option<String>) {
        let form = format!("user={user}&password={password}");
        let length = form.len();
        let answer = self.ask(&format!(
            "POST /login HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{form}"
        ));
        let cookie = answer.lines().find_map(|l| l.strip_prefix("Set-Cookie: "));
        let cookie = cookie.and_then(|c| c.split(';').next()).map(str::to_owned);
        (answer, cookie)
    }

    fn live(&self, cookie: &str) -> String {
        self.ask(&format!("GET /live HTTP/1.1\r\nCookie: {cookie}\r\n\r\n"))
    }

    /// The moving part, once it has what is looked for.
    fn live_with(&self, cookie: &str, wanted: &[&str]) -> String {
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            let page = self.live(cookie);
            let missing: Vec<_> = wanted.iter().filter(|w| !page.contains(**w)).collect();
            if missing.is_empty() {
                return page;
            }
            let why: Vec<_> = page.lines().filter(|l| l.contains("class=\"why")).collect();
            assert!(Instant::now() < limit, "{missing:?} never came; {why:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn the_dashboard_shows_what_its_visitor_may_see() {
    let scratch = Scratch::new("dashboard");
    let site = Site(free_port());
    let address = format!("127.0.0.1:{}", site.0);
    let server = Process::start(scratch.path(), &["--dashboard", &address]);
    let mut client = server.connect();
    rows(&mut client, "CREATE DATABASE [sh<op]");
    rows(
        &mut client,
        "CREATE LOGIN guest_of_it WITH PASSWORD = 'Dash-board-1', CHECK_POLICY = OFF",
    );

    let (refused, none) = site.log_in("sa", "wrong");
    assert!(refused.starts_with("HTTP/1.1 403") && none.is_none());
    assert!(refused.contains("Login failed for user"), "{refused}");

    let (_, cookie) = site.log_in("sa", PASSWORD);
    let cookie = cookie.expect("a cookie");
    let whole = site.ask(&format!("GET / HTTP/1.1\r\nCookie: {cookie}\r\n\r\n"));
    assert!(whole.contains("id=\"live\"") && whole.contains("/live.js"));
    rows(
        &mut client,
        "USE [sh<op]; CREATE TABLE t (id int IDENTITY, v char(4000) NOT NULL DEFAULT 'x'); \
         DECLARE @n int = 0; WHILE @n < 2000 BEGIN INSERT t DEFAULT VALUES; SET @n += 1 END",
    );
    let page = site.live_with(
        &cookie,
        &[
            "sh&lt;op",
            "Log of sh&lt;op",
            "Log flushed",
            "ONLINE",
            "up 0 d",
        ],
    );
    // Nothing that was read got in as markup, and nothing was refused to sa.
    assert!(
        !page.contains("sh<op") && !page.contains("class=\"why\""),
        "{page}"
    );
    // A line of the picture has grown since.
    let points = |page: &str| page.matches("class=\"line").count();
    site.live_with(&cookie, &["class=\"line"]);
    assert!(points(&site.live(&cookie)) >= 6);

    // Who may not see the server's state is told so, in place of it.
    let (_, other) = site.log_in("guest_of_it", "Dash-board-1");
    let other = other.expect("a cookie");
    let page = site.live_with(&other, &["class=\"why\""]);
    assert!(page.contains("permission"), "{page}");

    let out = format!("POST /logout HTTP/1.1\r\nCookie: {cookie}\r\n\r\n");
    assert!(site.ask(&out).starts_with("HTTP/1.1 303"));
    assert!(site.live(&cookie).starts_with("HTTP/1.1 401"));
    server.stop();
}
