//! A request and its answer as the page sees them; the protocol is `hyper`'s.

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

/// A form with a name and a password.
const BODY_MAX: usize = 4 << 10;
/// A request is here by then.
pub const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct Request {
    pub method: Method,
    /// Without what follows a question mark.
    pub path: String,
    pub form: BTreeMap<String, String>,
    cookies: String,
}

pub type Response = hyper::Response<Full<Bytes>>;

impl Request {
    /// The whole request, or why it is refused.
    pub async fn read(request: hyper::Request<Incoming>) -> Result<Request, Response> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, BODY_MAX).collect();
        let body = match tokio::time::timeout(PATIENCE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return Err(text(413, "The request's body is too long.")),
            Err(_) => return Err(text(408, "The request did not come in time.")),
        };
        let cookies = head.headers.get_all(header::COOKIE).iter();
        let cookies: Vec<&str> = cookies.filter_map(|c| c.to_str().ok()).collect();
        Ok(Request {
            method: head.method,
            path: head.uri.path().to_owned(),
            form: form_urlencoded::parse(&body).into_owned().collect(),
            cookies: cookies.join(";"),
        })
    }

    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.split(';').find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then(|| value.to_owned())
        })
    }
}

/// Nothing from elsewhere, no frames, and no scripts but our own file.
const RULES: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; \
                     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// What every answer says of itself.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, RULES),
];

fn answer(status: u16, kind: &'static str, body: String) -> Response {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

pub fn html(status: u16, body: String) -> Response {
    answer(status, "text/html; charset=utf-8", body)
}

pub fn text(status: u16, body: &str) -> Response {
    answer(status, "text/plain; charset=utf-8", format!("{body}\n"))
}

pub fn script(body: &str) -> Response {
    answer(200, "text/javascript; charset=utf-8", body.to_owned())
}

/// To another page, with a cookie.
pub fn go_to(path: &'static str, cookie: &str) -> Response {
    let mut answer = text(303, "See the other page.");
    let headers = answer.headers_mut();
    headers.insert(header::LOCATION, HeaderValue::from_static(path));
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let request = Request {
            cookies: "a=1; duramen=xyz;b=2".to_owned(),
            ..Request::default()
        };
        assert_eq!(request.cookie("duramen").as_deref(), Some("xyz"));
        assert_eq!(request.cookie("c"), None);
    }
}
