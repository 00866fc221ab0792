//! What the page does with what it is given; the page in front of a server is tested with the binary.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::Dashboard;

/// A server that is not there.
fn alone() -> Dashboard {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    Dashboard::start(SocketAddr::from(([127, 0, 0, 1], 0)), nobody).expect("a port")
}

fn ask(dashboard: &Dashboard, request: &str) -> String {
    let mut stream = TcpStream::connect(dashboard.address()).expect("it listens");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

#[test]
fn nobody_sees_anything_without_a_login() {
    let dashboard = alone();
    let page = ask(&dashboard, "GET / HTTP/1.1\r\n\r\n");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("action=\"/login\""));
    for cookie in ["", "Cookie: duramen=0123\r\n"] {
        let live = ask(&dashboard, &format!("GET /live HTTP/1.1\r\n{cookie}\r\n"));
        assert!(live.starts_with("HTTP/1.1 401"), "{live}");
    }
    assert!(ask(&dashboard, "GET /else HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(ask(&dashboard, "PUT / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    dashboard.stop();
}

#[test]
fn a_login_that_fails_says_why_and_what_it_said_is_escaped() {
    let dashboard = alone();
    let form = "user=%3Cb%3E&password=x";
    let head = format!(
        "POST /login HTTP/1.1\r\nContent-Length: {}\r\n\r\n",
        form.len()
    );
    let page = ask(&dashboard, &format!("{head}{form}"));
    assert!(page.starts_with("HTTP/1.1 403") && page.contains("role=\"alert\""));
    assert!(!page.contains("<b>") && !page.contains("Set-Cookie"));
    dashboard.stop();
}

#[test]
fn a_request_that_is_none_is_refused() {
    let dashboard = alone();
    assert!(ask(&dashboard, "\u{1}\u{2}\r\n\r\n").starts_with("HTTP/1.1 400"));
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000));
    let mut stream = TcpStream::connect(dashboard.address()).expect("it listens");
    // It may be refused before it is whole.
    let _ = stream.write_all(long.as_bytes());
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(
        text.is_empty() || text.starts_with("HTTP/1.1 431"),
        "{text}"
    );
    dashboard.stop();
}

#[test]
fn half_open_requests_do_not_keep_others_out() {
    let dashboard = alone();
    let half: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(dashboard.address()).expect("it listens");
            let _ = stream.write_all(b"GET / HT");
            stream
        })
        .collect();
    for _ in 0..10 {
        assert!(ask(&dashboard, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    }
    drop(half);
    dashboard.stop();
}
