//! The published install scripts of Northwind and pubs, run as they are: no error, and the same rows as the published
//! data files. Needs `DURAMEN_SAMPLES`, a directory with `instnwnd.sql` and `instpubs.sql` of
//! microsoft/sql-server-samples, and `DURAMEN_MATERIAL`, the directory that holds `real-files`; without them these
//! tests say so and pass.

#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_format::foreign::ForeignDatabase;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::Session;
use duramen_types::{SqlType, Value, to_display};

use crate::{alone, run};

fn script(name: &str) -> Option<String> {
    let Some(dir) = std::env::var_os("DURAMEN_SAMPLES") else {
        println!("skipped: DURAMEN_SAMPLES is not set");
        return None;
    };
    match std::fs::read(PathBuf::from(dir).join(name)) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            Some(text.unwrap_or_else(|e| duramen_types::cp1252::decode(e.as_bytes())))
        }
        Err(_) => {
            println!("skipped: {name} is not in DURAMEN_SAMPLES");
            None
        }
    }
}

fn published(name: &str) -> Option<ForeignDatabase> {
    let Some(dir) = std::env::var_os("DURAMEN_MATERIAL").map(PathBuf::from) else {
        println!("skipped: DURAMEN_MATERIAL is not set");
        return None;
    };
    let places = ["", "real-files", "fixtures/real-files"];
    let bytes = places
        .iter()
        .find_map(|sub| std::fs::read(dir.join(sub).join(name)).ok());
    let Some(bytes) = bytes else {
        println!("skipped: {name} is not in DURAMEN_MATERIAL");
        return None;
    };
    Some(ForeignDatabase::from_mdf(&bytes).expect("the file opens"))
}

/// Runs a script batch by batch, as a client does at GO; everything that was said.
fn install(s: &mut Session, text: &str) -> Vec<String> {
    let mut said = Vec::new();
    let mut batch = String::new();
    for line in text.split_inclusive('\n').chain(["GO"]) {
        if line.trim().eq_ignore_ascii_case("go") {
            if !batch.trim().is_empty() {
                let lines = run(s, &batch);
                let reported = lines.into_iter().filter(|l| !l.starts_with("rows "));
                said.extend(reported);
            }
            batch.clear();
        } else {
            batch.push_str(line);
        }
    }
    said
}

/// Errors: what a client shows as such.
fn errors(said: &[String]) -> Vec<&String> {
    said.iter().filter(|l| l.starts_with("Msg ")).collect()
}

/// Keeps the rows of the last result set.
#[derive(Default)]
struct Rows(Vec<Vec<Value>>);

impl ResultSink for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) {
        self.0.clear();
    }
    fn row(&mut self, values: &[Value]) {
        self.0.push(values.to_vec());
    }
    fn done(&mut self, _: &Done) {}
    fn error(&mut self, error: &SqlError) {
        panic!("{error:?}");
    }
    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
    fn flush_hint(&mut self) {}
    fn cancelled(&self) -> bool {
        false
    }
}

fn query(s: &mut Session, sql: &str) -> Vec<Vec<Value>> {
    let mut sink = Rows::default();
    s.execute_batch(sql, &mut sink, &CancelToken::default());
    sink.0
}

/// The scripts as they are published have lost two things that the files still have: line ends within values, and one
/// letter of a city that has become U+FFFD.
fn plain(text: &str) -> String {
    let kept = text.chars().filter(|c| !['\r', '\n'].contains(c));
    kept.map(|c| {
        if ['\u{81}', 'ü', '\u{FFFD}'].contains(&c) {
            '?'
        } else {
            c
        }
    })
    .collect()
}

/// Rows as text, in an order of their own.
fn texts(
    rows: Vec<Vec<Value>>,
    types: &[SqlType],
    now: impl Fn(&[Value]) -> Option<usize>,
) -> Vec<String> {
    let mut all = Vec::new();
    for mut row in rows {
        // The moment of the installation.
        if let Some(at) = now(&row) {
            row[at] = Value::Null;
        }
        let cells = row.iter().zip(types).map(|(v, ty)| match v {
            Value::Null => "NULL".to_owned(),
            v => plain(&to_display(v, ty)),
        });
        all.push(cells.collect::<Vec<_>>().join(" | "));
    }
    all.sort();
    all
}

/// Every table has the same columns and rows as the published one.
fn compare(
    s: &mut Session,
    published: &ForeignDatabase,
    now: impl Fn(&str, &[Value]) -> Option<usize>,
) {
    let mut tables = 0;
    for table in published.user_tables() {
        let columns = &published.columns[&table.id];
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        let types = columns.iter().map(|c| c.ty.expect("a known type"));
        let types: Vec<SqlType> = types.collect();
        let list =
            "SELECT name, system_type_id, max_length FROM sys.columns WHERE object_id = OBJECT_ID(";
        let ours = query(s, &format!("{list}'[{}]') ORDER BY column_id", table.name));
        let described: Vec<String> = ours.iter().map(|r| format!("{:?}", r)).collect();
        let expected = columns.iter().zip(&types).map(|(c, ty)| {
            let x = Value::TinyInt(ty.id.xtype());
            format!(
                "{:?}",
                vec![
                    Value::nvarchar(&c.name),
                    x,
                    Value::SmallInt(ty.catalog_length())
                ]
            )
        });
        assert_eq!(described, expected.collect::<Vec<_>>(), "{}", table.name);
        let theirs = published.table_rows(table.id).expect("rows are read");
        let ours = query(
            s,
            &format!("SELECT [{}] FROM [{}]", names.join("], ["), table.name),
        );
        assert_eq!(ours.len(), theirs.len(), "{}", table.name);
        let ours = texts(ours, &types, |r| now(&table.name, r));
        let theirs = texts(theirs, &types, |r| now(&table.name, r));
        for (a, b) in ours.iter().zip(&theirs) {
            assert_eq!(a, b, "{}", table.name);
        }
        tables += 1;
    }
    assert!(tables > 10, "{tables}");
}

#[test]
fn northwind() {
    let Some(text) = script("instnwnd.sql") else {
        return;
    };
    let mut s = alone();
    run(&mut s, "CREATE DATABASE Northwind");
    run(&mut s, "USE Northwind");
    let said = install(&mut s, &text);
    assert_eq!(errors(&said), Vec::<&String>::new());
    if let Some(published) = published("northwnd.mdf") {
        compare(&mut s, &published, |_, _| None);
    }
}

#[test]
fn pubs() {
    let Some(text) = script("instpubs.sql") else {
        return;
    };
    let mut s = alone();
    let said = install(&mut s, &text);
    assert_eq!(errors(&said), Vec::<&String>::new());
    if let Some(published) = published("pubs.mdf") {
        run(&mut s, "USE pubs");
        // Two titles have no date of their own.
        let dated = |id: &str| ["MC3026", "PC9999"].contains(&id);
        compare(&mut s, &published, |table, row| {
            let id = row[0].as_text().unwrap_or_default();
            (table == "titles" && dated(&id)).then_some(9)
        });
    }
}
