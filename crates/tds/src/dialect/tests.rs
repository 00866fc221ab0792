//! Every dialect's replies are read back as its clients would read them.

use duramen_base::SqlError;
use duramen_types::{Date, DateTime2, SqlType, Time, Value};

use super::*;
use crate::token::{DoneKind, Token, TokenReader};

const ALL: [Dialect; 5] = [
    Dialect::V71,
    Dialect::V72,
    Dialect::V73A,
    Dialect::V73B,
    Dialect::V74,
];

fn values() -> Vec<(SqlType, Value)> {
    vec![
        (SqlType::DATE, Value::Date(Date(0))),
        (SqlType::time(3), Value::Time(Time(10_010_000))),
        (
            SqlType::datetime2(0),
            Value::DateTime2(DateTime2 { days: 1, time: 0 }),
        ),
        (
            SqlType::varchar(MAX_LENGTH),
            Value::VarChar(b"abc".to_vec()),
        ),
        (SqlType::nvarchar(MAX_LENGTH), Value::nvarchar("déf")),
        (SqlType::varbinary(MAX_LENGTH), Value::Binary(vec![1, 2])),
        (SqlType::INT, Value::Null),
        (SqlType::nvarchar(20), Value::Null),
        (SqlType::varchar(MAX_LENGTH), Value::Null),
    ]
}

fn read(dialect: Dialect, bytes: &[u8]) -> Vec<Token> {
    let mut reader = TokenReader::speaking(dialect);
    let (mut at, mut out) = (0, Vec::new());
    while at < bytes.len() {
        let (token, used) = reader.next(&bytes[at..]).unwrap().expect("a whole token");
        out.push(token);
        at += used;
    }
    out
}

#[test]
fn replies_of_every_dialect_are_read_back() {
    for dialect in ALL {
        let (types, rows): (Vec<SqlType>, Vec<Value>) = values().into_iter().unzip();
        let shown: Vec<SqlType> = types.iter().map(|t| dialect.shown_type(t)).collect();
        let row: Vec<Value> = types
            .iter()
            .zip(&rows)
            .map(|(t, v)| dialect.shown_value(t, v).into_owned())
            .collect();
        let columns: Vec<Column> = shown
            .iter()
            .map(|ty| Column {
                name: "c".into(),
                ty: *ty,
                flags: 1,
            })
            .collect();
        let error = SqlError {
            number: 50_000,
            severity: 16,
            state: 1,
            procedure: Some("p".into()),
            line: 70_000,
            ..SqlError::print("m".into())
        };
        let done = DoneToken {
            kind: DoneKind::InProc,
            status: 0x10,
            command: 0xC1,
            rows: 5,
        };
        let mut out = Vec::new();
        dialect.put_columns(&mut out, &columns);
        dialect.put_row(&mut out, &shown, &row).unwrap();
        dialect.put_message(&mut out, &error, "s");
        dialect.put_env(&mut out, &Env::BeginTransaction(7));
        dialect
            .put_return_value(&mut out, 1, "@o", &SqlType::INT, &Value::Int(9))
            .unwrap();
        dialect.put_done(&mut out, &done);
        let tokens = read(dialect, &out);
        assert_eq!(tokens[0], Token::Columns(columns), "{dialect:?}");
        assert_eq!(tokens[1], Token::Row(row), "{dialect:?}");
        let Token::Error(message) = &tokens[2] else {
            panic!("{tokens:?}");
        };
        let line = if dialect == Dialect::V71 {
            65_535
        } else {
            70_000
        };
        assert_eq!((message.line, &*message.procedure), (line, "p"));
        let begins = tokens.iter().any(|t| matches!(t, Token::Env(_)));
        assert_eq!(begins, dialect != Dialect::V71);
        assert!(tokens.iter().any(|t| matches!(
            t,
            Token::ReturnValue {
                value: Value::Int(9),
                ..
            }
        )));
        assert_eq!(tokens.last(), Some(&Token::Done(done)));
    }
}

#[test]
fn older_clients_get_dates_as_text() {
    let (ty, value) = (
        SqlType::datetime2(3),
        Value::DateTime2(DateTime2 { days: 0, time: 0 }),
    );
    assert_eq!(Dialect::V72.shown_type(&ty), SqlType::nvarchar(46));
    let shown = Dialect::V72.shown_value(&ty, &value).into_owned();
    assert_eq!(shown, Value::nvarchar("0001-01-01 00:00:00.000"));
    assert_eq!(*Dialect::V73A.shown_value(&ty, &value), value);
    let variant = Value::Variant(Box::new((SqlType::DATE, Value::Date(Date(0)))));
    let Value::Variant(inner) = Dialect::V71
        .shown_value(&SqlType::VARIANT, &variant)
        .into_owned()
    else {
        panic!();
    };
    assert_eq!(
        *inner,
        (SqlType::nvarchar(20), Value::nvarchar("0001-01-01"))
    );
}

#[test]
fn a_bitmap_stands_for_nulls_where_it_is_shorter() {
    let types = [SqlType::nvarchar(20); 3];
    let nulls = [Value::Null, Value::nvarchar("x"), Value::Null];
    for (dialect, token) in [
        (Dialect::V73A, 0xD1),
        (Dialect::V73B, NBCROW),
        (Dialect::V74, NBCROW),
    ] {
        let mut out = Vec::new();
        dialect.put_row(&mut out, &types, &nulls).unwrap();
        assert_eq!(out[0], token, "{dialect:?}");
    }
    let mut out = Vec::new();
    Dialect::V74
        .put_row(&mut out, &[SqlType::INT], &[Value::Null])
        .unwrap();
    assert_eq!(out, [0xD1, 0]);
}

#[test]
fn versions_are_answered_as_asked_or_by_the_newest() {
    for (asked, dialect, answered) in [
        (0x7100_0000, Dialect::V71, 0x0701_0000),
        (0x7100_0001, Dialect::V71, 0x7100_0001),
        (0x7209_0002, Dialect::V72, 0x7209_0002),
        (0x730A_0003, Dialect::V73A, 0x730A_0003),
        (0x730B_0003, Dialect::V73B, 0x730B_0003),
        (0x7400_0004, Dialect::V74, 0x7400_0004),
        (0x7500_0000, Dialect::V74, 0x7400_0004),
        (0x0800_0000, Dialect::V74, 0x0800_0000),
    ] {
        assert_eq!(Dialect::of_login(asked), Some(dialect), "{asked:x}");
        assert_eq!(dialect.acknowledged(asked), answered, "{asked:x}");
        assert_eq!(Dialect::from_byte(dialect as u8), dialect);
    }
    assert_eq!(Dialect::of_login(0x7000_0000), None);
    assert_eq!(Dialect::of_login(0), None);
}
