//! A connection that asks and gets whole answers.

use std::time::Duration;

use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::Token;
use duramen_types::Value;

/// Where a server is and who asks.
#[derive(Clone, Debug)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

/// A result set: names and rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub names: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

/// One session.
pub struct Sql {
    client: Client<Stream>,
}

impl Sql {
    pub fn connect(address: &Address, database: &str) -> Result<Sql, String> {
        Sql::connect_as(address, database, "duramen lab")
    }

    /// Under another program's name.
    pub fn connect_as(address: &Address, database: &str, app: &str) -> Result<Sql, String> {
        let options = ConnectOptions {
            host: address.host.clone(),
            port: address.port,
            user: address.user.clone(),
            password: address.password.clone(),
            database: database.to_owned(),
            app: app.to_owned(),
            trust: Trust::Any,
            connect_timeout: Some(Duration::from_secs(15)),
            ..ConnectOptions::default()
        };
        let client =
            connect(&options).map_err(|e| format!("{},{}: {e}", address.host, address.port))?;
        Ok(Sql { client })
    }

    /// Every result set of a batch. The first error message ends it, with the whole reply read.
    pub fn query(&mut self, text: &str) -> Result<Vec<Rows>, String> {
        let lost = |e: ClientError| format!("the connection is lost: {e}");
        self.client.query(text).map_err(lost)?;
        let mut sets: Vec<Rows> = Vec::new();
        let mut failed: Option<String> = None;
        while let Some(token) = self.client.next_event().map_err(lost)? {
            match token {
                Token::Columns(columns) => sets.push(Rows {
                    names: columns.into_iter().map(|c| c.name).collect(),
                    rows: Vec::new(),
                }),
                Token::Row(values) => {
                    if let Some(set) = sets.last_mut() {
                        set.rows.push(values);
                    }
                }
                Token::Error(m) if failed.is_none() => {
                    failed = Some(format!("Msg {}, Level {}: {}", m.number, m.class, m.text));
                }
                _ => {}
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(sets),
        }
    }

    /// A batch whose results nobody needs.
    pub fn run(&mut self, text: &str) -> Result<(), String> {
        self.query(text).map(|_| ())
    }

    /// The first value of the first result set; NULL and nothing are `None`.
    pub fn value(&mut self, text: &str) -> Result<Option<Value>, String> {
        let sets = self.query(text)?;
        let first = sets
            .into_iter()
            .next()
            .and_then(|s| s.rows.into_iter().next());
        Ok(first
            .and_then(|row| row.into_iter().next())
            .filter(|v| !v.is_null()))
    }

    pub fn number(&mut self, text: &str) -> Result<f64, String> {
        let value = self.value(text)?.map(|v| number(&v));
        value.ok_or_else(|| format!("no number comes of: {text}"))
    }

    pub fn text(&mut self, text: &str) -> Result<Option<String>, String> {
        Ok(self.value(text)?.map(|v| string(&v)))
    }
}

/// A value as a number; what is none is 0.
pub fn number(value: &Value) -> f64 {
    match value {
        Value::Bit(b) => f64::from(u8::from(*b)),
        Value::TinyInt(n) => f64::from(*n),
        Value::SmallInt(n) => f64::from(*n),
        Value::Int(n) => f64::from(*n),
        Value::BigInt(n) => *n as f64,
        Value::Real(n) => f64::from(*n),
        Value::Float(n) => *n,
        Value::Variant(inner) => number(&inner.1),
        Value::Decimal(_) => string(value).parse().unwrap_or(0.0),
        Value::Money(n) => *n as f64 / 10_000.0,
        _ => 0.0,
    }
}

/// A value as text, without the blanks that fill fixed lengths.
pub fn string(value: &Value) -> String {
    match value {
        Value::NVarChar(units) => String::from_utf16_lossy(units).trim_end().to_owned(),
        Value::VarChar(bytes) => String::from_utf8_lossy(bytes).trim_end().to_owned(),
        Value::Variant(inner) => string(&inner.1),
        Value::Decimal(d) => d.to_string(),
        other => number(other).to_string(),
    }
}

/// `'...'` of T-SQL, with its quotes doubled.
pub fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}
