//! As much of HTTP/1.1 as a page with a form needs: one request a connection, small, and soon.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The request line and the headers together.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// A form with a name and a password.
const BODY_MAX: usize = 4 << 10;
/// A request is here by then, and its answer is taken.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    /// Without what follows a question mark.
    pub path: String,
    pub form: BTreeMap<String, String>,
    cookies: String,
}

/// Why there is no request.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// Nobody is there to be told.
    Gone,
    With(u16, &'static str),
}

impl Request {
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.split(';').find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then(|| value.to_owned())
        })
    }
}

/// Reads a request within [`PATIENCE`].
pub fn read(mut stream: &TcpStream) -> Result<Request, Refused> {
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    loop {
        if let Some((request, body_at, body_len)) = head(&bytes)? {
            let mut request = request;
            while bytes.len() < body_at + body_len {
                more(&mut stream, &mut bytes, deadline)?;
            }
            if body_len > 0 {
                request.form = form(&bytes[body_at..body_at + body_len]);
            }
            return Ok(request);
        }
        if bytes.len() >= HEAD_MAX {
            return Err(Refused::With(431, "The request's headers are too long."));
        }
        more(&mut stream, &mut bytes, deadline)?;
    }
}

fn more(stream: &mut &TcpStream, bytes: &mut Vec<u8>, deadline: Instant) -> Result<(), Refused> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
        return Err(Refused::With(408, "The request did not come in time."));
    }
    let mut part = [0; 4096];
    match stream.read(&mut part) {
        Ok(0) => Err(Refused::Gone),
        Ok(n) => {
            bytes.extend_from_slice(&part[..n]);
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Ok(()),
        Err(_) => Err(Refused::With(408, "The request did not come in time.")),
    }
}

/// The request without its body, where that begins and how long it is; `None` while there is more to come.
fn head(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let body_at = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(at)) => at,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Refused::With(400, "That is not an HTTP request.")),
    };
    let header = |name: &str| {
        let found = parsed
            .headers
            .iter()
            .find(|h| h.name.eq_ignore_ascii_case(name));
        found.map(|h| String::from_utf8_lossy(h.value).into_owned())
    };
    if header("Transfer-Encoding").is_some() {
        return Err(Refused::With(411, "A body needs a Content-Length."));
    }
    let body_len = match header("Content-Length").map(|n| n.trim().parse::<usize>()) {
        None => 0,
        Some(Ok(n)) if n <= BODY_MAX => n,
        Some(Ok(_)) => return Err(Refused::With(413, "The request's body is too long.")),
        Some(Err(_)) => return Err(Refused::With(400, "Content-Length is no number.")),
    };
    let path = parsed.path.unwrap_or("/");
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.split('?').next().unwrap_or_default().to_owned(),
        form: BTreeMap::new(),
        cookies: header("Cookie").unwrap_or_default(),
    };
    Ok(Some((request, body_at, body_len)))
}

/// `a=b&c=d`, with `+` for blanks and `%` before two hexadecimal digits.
fn form(body: &[u8]) -> BTreeMap<String, String> {
    body.split(|b| *b == b'&')
        .map(|pair| {
            let at = pair.iter().position(|b| *b == b'=').unwrap_or(pair.len());
            let value = pair.get(at + 1..).unwrap_or_default();
            (decoded(&pair[..at]), decoded(value))
        })
        .collect()
}

fn decoded(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        (rest, _) = match (first, byte) {
            (b'%', Some(byte)) => (&after[2..], out.push(byte)),
            (b'+', _) => (after, out.push(b' ')),
            (other, _) => (after, out.push(*other)),
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[derive(Debug)]
pub struct Response {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    fn new(status: u16, kind: &'static str, body: String) -> Response {
        Response {
            status,
            kind,
            headers: Vec::new(),
            body,
        }
    }

    pub fn html(status: u16, body: String) -> Response {
        Response::new(status, "text/html; charset=utf-8", body)
    }

    pub fn text(status: u16, body: &str) -> Response {
        Response::new(status, "text/plain; charset=utf-8", format!("{body}\n"))
    }

    pub fn script(body: &str) -> Response {
        Response::new(200, "text/javascript; charset=utf-8", body.to_owned())
    }

    /// To another page, with a cookie.
    pub fn go_to(path: &str, cookie: &str) -> Response {
        let mut response = Response::text(303, "See the other page.");
        response.headers = vec![
            ("Location", path.to_owned()),
            ("Set-Cookie", cookie.to_owned()),
        ];
        response
    }
}

/// Nothing from elsewhere, no frames, and no scripts but our own file.
const RULES: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
                     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Sends an answer; whether it arrives is the client's affair.
pub fn send(mut stream: &TcpStream, response: Response) {
    let reason = match response.status {
        200 => "OK",
        303 => "See Other",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        503 => "Service Unavailable",
        _ => "Refused",
    };
    let mut head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: {RULES}\r\n",
        response.status,
        response.kind,
        response.body.len()
    );
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(response.body.as_bytes()));
    if sent.is_ok() {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_cookies_are_decoded() {
        let form = form(b"user=sa&password=a%2Bb+%26%zz%4&empty=&bare");
        assert_eq!(form["user"], "sa");
        assert_eq!(form["password"], "a+b &%zz%4");
        assert_eq!((form["empty"].as_str(), form["bare"].as_str()), ("", ""));
        let request = Request {
            cookies: "a=1; duramen=xyz;b=2".to_owned(),
            ..Request::default()
        };
        assert_eq!(request.cookie("duramen").as_deref(), Some("xyz"));
        assert_eq!(request.cookie("c"), None);
    }

    #[test]
    fn heads_are_read_when_they_are_whole_and_refused_when_wrong() {
        let whole = b"POST /login?x=1 HTTP/1.1\r\nHost: a\r\ncontent-length: 3\r\n\r\na=b";
        for cut in 0..whole.len() - 3 {
            assert!(
                head(&whole[..cut]).expect("so far so good").is_none(),
                "{cut}"
            );
        }
        let (request, at, len) = head(whole).expect("sound").expect("whole");
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/login")
        );
        assert_eq!(&whole[at..at + len], b"a=b");
        for (text, status) in [
            ("\0\0\0\0\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        ] {
            let refused = head(text.as_bytes()).expect_err(text);
            assert!(
                matches!(refused, Refused::With(n, _) if n == status),
                "{text}: {refused:?}"
            );
        }
    }
}
