//! Table-valued functions of the language itself: STRING_SPLIT and GENERATE_SERIES.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

use duramen_query::functions::{Entry, of_arguments};
use duramen_query::host::{Host, RowStream, TableColumn, VirtualTable};
use duramen_query::{Doc, Expr, Kind, doc};

#[derive(Debug)]
struct BuiltIn {
    name: &'static str,
    columns: Vec<TableColumn>,
    run: fn(&[Value], &[TableColumn]) -> SqlResult<RowStream>,
}

impl VirtualTable for BuiltIn {
    fn name(&self) -> &str {
        self.name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn rows(&self, _host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
        (self.run)(args, &self.columns)
    }
}

fn column(name: &str, ty: SqlType) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        ty,
        nullable: true,
        identity: false,
        default: None,
        generated: Default::default(),
    }
}

/// A function of the language that gives rows.
struct Row {
    doc: Doc,
    min: usize,
    max: usize,
    /// The types of the arguments decide about its columns.
    make: fn(&[Expr]) -> SqlResult<BuiltIn>,
}

const ROWS: &[Row] = &[
    Row {
        doc: doc(
            "generate_series",
            "rows of numbers from one to another",
            "value FROM GENERATE_SERIES(1, 7, 3)",
        ),
        min: 2,
        max: 3,
        make: series_of,
    },
    Row {
        doc: doc(
            "string_split",
            "rows of the parts of a text",
            "value FROM STRING_SPLIT('a,b', ',')",
        ),
        min: 2,
        max: 3,
        make: parts_of,
    },
];

pub(crate) fn entries() -> impl Iterator<Item = Entry> {
    let rows = ROWS.iter();
    rows.map(|r| of_arguments(r.doc, (r.min, r.max), "no rows"))
}

/// The function of that name for these arguments.
pub(crate) fn find(name: &str, args: &[Expr]) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
    let called = |r: &&Row| r.doc.name.eq_ignore_ascii_case(name);
    let Some(row) = ROWS.iter().find(called) else {
        return Ok(None);
    };
    if !(row.min..=row.max).contains(&args.len()) {
        let args: [&dyn std::fmt::Display; 1] = [&name];
        return Err(SqlError::new(&messages::INSUFFICIENT_ARGUMENTS, &args));
    }
    Ok(Some(Arc::new((row.make)(args)?)))
}

fn parts_of(args: &[Expr]) -> SqlResult<BuiltIn> {
    let national = args[..2].iter().any(|a| a.ty.id.is_nchar());
    let ty = match (args[0].ty.is_max(), national) {
        (true, true) => SqlType::NVARCHAR_MAX,
        (true, false) => SqlType::VARCHAR_MAX,
        (false, true) => SqlType::nvarchar(args[0].ty.length.clamp(2, 8000) / 2),
        (false, false) => SqlType::varchar(args[0].ty.length.clamp(1, 8000)),
    };
    let mut columns = vec![column("value", ty)];
    let ordinal = args.get(2).map(|a| &a.kind);
    if matches!(ordinal, Some(Kind::Const(v)) if v.as_i64() == Some(1)) {
        columns.push(column("ordinal", SqlType::BIGINT));
    }
    Ok(BuiltIn {
        name: "STRING_SPLIT",
        columns,
        run: string_split,
    })
}

fn series_of(args: &[Expr]) -> SqlResult<BuiltIn> {
    let ty = args[0].ty;
    if !ty.id.is_integer() || args.iter().any(|a| !a.ty.id.is_integer()) {
        let what = "GENERATE_SERIES of other types than integers";
        return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
    }
    Ok(BuiltIn {
        name: "GENERATE_SERIES",
        columns: vec![column("value", ty)],
        run: generate_series,
    })
}

/// STRING_SPLIT(string, separator [, ordinal]): nothing of NULL, one empty text of the empty text.
fn string_split(args: &[Value], columns: &[TableColumn]) -> SqlResult<RowStream> {
    let (Some(text), Some(separator)) = (args[0].as_text(), args[1].as_text()) else {
        return Ok(Box::new(std::iter::empty()));
    };
    let mut units = separator.chars();
    let (Some(separator), None, true) = (
        units.next(),
        units.next(),
        separator.encode_utf16().count() == 1,
    ) else {
        let names: [&dyn std::fmt::Display; 2] = [&"separator", &"nchar(1)/nvarchar(1)"];
        return Err(SqlError::new(&messages::PROCEDURE_PARAMETER_TYPE, &names));
    };
    let (national, ordinal) = (columns[0].ty.id.is_nchar(), columns.len() > 1);
    let (mut at, mut number) = (Some(0), 0);
    Ok(Box::new(std::iter::from_fn(move || {
        let from = at?;
        let rest = &text[from..];
        let end = rest.find(separator);
        at = end.map(|end| from + end + separator.len_utf8());
        let part = &rest[..end.unwrap_or(rest.len())];
        let mut row = vec![match national {
            true => Value::nvarchar(part),
            false => Value::varchar(part),
        }];
        number += 1;
        if ordinal {
            row.push(Value::BigInt(number));
        }
        Some(Ok(row))
    })))
}

/// GENERATE_SERIES(start, stop [, step]): both ends included, nothing of NULL or of a step the wrong way.
fn generate_series(args: &[Value], columns: &[TableColumn]) -> SqlResult<RowStream> {
    let number = |i: usize| args.get(i).and_then(Value::as_i64).map(i128::from);
    let (Some(start), Some(stop)) = (number(0), number(1)) else {
        return Ok(Box::new(std::iter::empty()));
    };
    let step = match args.get(2) {
        None if start <= stop => 1,
        None => -1,
        Some(_) => match number(2) {
            Some(0) => {
                let names: [&dyn std::fmt::Display; 2] = [&3, &"GENERATE_SERIES"];
                return Err(SqlError::new(&messages::INVALID_PARAMETER_FOR, &names));
            }
            Some(n) => n,
            None => return Ok(Box::new(std::iter::empty())),
        },
    };
    let id = columns[0].ty.id;
    let mut n = start;
    Ok(Box::new(std::iter::from_fn(move || {
        let within = (step > 0 && n <= stop) || (step < 0 && n >= stop);
        let value = match id {
            duramen_types::TypeId::TinyInt => Value::TinyInt(n as u8),
            duramen_types::TypeId::SmallInt => Value::SmallInt(n as i16),
            duramen_types::TypeId::Int => Value::Int(n as i32),
            _ => Value::BigInt(n as i64),
        };
        n += step;
        within.then(|| Ok(vec![value]))
    })))
}
