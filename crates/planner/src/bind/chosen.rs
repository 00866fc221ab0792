//! Functions that are another way to write CASE, and one that is none: what they mean is known when they are bound.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_columns::CompareOp;
use duramen_query::functions::{Entry, of_arguments};
use duramen_query::{Doc, Expr, Kind, doc};
use duramen_types::{SqlType, Value};

use super::Binder;
use super::condition::not_null;
use super::expr::is_null;

/// A function of this kind.
pub(super) struct Chosen {
    doc: Doc,
    min: usize,
    max: usize,
    pub bind: fn(&Binder<'_>, Vec<Expr>) -> SqlResult<Expr>,
}

/// As many as there are.
const ANY: usize = 254;

const ROWS: &[Chosen] = &[
    Chosen {
        doc: doc(
            "choose",
            "the value at a place, from 1",
            "CHOOSE(2, 'a', 'b', 'c')",
        ),
        min: 2,
        max: ANY,
        bind: choose,
    },
    Chosen {
        doc: doc(
            "coalesce",
            "the first value that is not NULL",
            "COALESCE(NULL, 2, 3)",
        ),
        min: 2,
        max: ANY,
        bind: coalesce,
    },
    Chosen {
        doc: doc(
            "iif",
            "one of two values by a condition",
            "IIF(1 < 2, 'yes', 'no')",
        ),
        min: 3,
        max: 3,
        bind: iif,
    },
    Chosen {
        doc: doc(
            "newsequentialid",
            "a uniqueidentifier above the last; as a default only",
            "",
        ),
        min: 0,
        max: ANY,
        bind: |_, _| Err(SqlError::new(&messages::NEWSEQUENTIALID_CONTEXT, &[])),
    },
    Chosen {
        doc: doc(
            "nullif",
            "NULL where two values are equal, else the first",
            "NULLIF(0, 0)",
        ),
        min: 2,
        max: 2,
        bind: nullif,
    },
];

/// The function of that name and number of arguments.
pub(super) fn find(name: &str, given: usize) -> Option<&'static Chosen> {
    let fits = |c: &&Chosen| given >= c.min && (given <= c.max || c.max == ANY);
    ROWS.iter().find(|c| c.doc.name == name).filter(fits)
}

pub(super) fn entries() -> impl Iterator<Item = Entry> {
    // The session says the rest of what a default calls.
    let rows = ROWS.iter().filter(|c| !c.doc.example.is_empty());
    rows.map(|c| of_arguments(c.doc, (c.min, c.max), "what it chooses"))
}

fn coalesce(binder: &Binder<'_>, args: Vec<Expr>) -> SqlResult<Expr> {
    if args.iter().all(is_null) {
        return Err(SqlError::new(&messages::COALESCE_ALL_NULL, &[]));
    }
    let all_but_last = args.len().saturating_sub(1);
    let conditions = args[..all_but_last].iter().map(not_null).collect();
    let nullable = args.iter().all(|a| a.nullable);
    let chosen = binder.choose(conditions, args, true)?;
    Ok(Expr { nullable, ..chosen })
}

fn nullif(binder: &Binder<'_>, mut args: Vec<Expr>) -> SqlResult<Expr> {
    if is_null(&args[0]) {
        return Err(SqlError::new(&messages::NULLIF_NULL_FIRST, &[]));
    }
    let ty = args[0].ty;
    let equal = binder.compare(CompareOp::Eq, args[0].clone(), args[1].clone())?;
    let branches = vec![(equal, Expr::constant(Value::Null, ty))];
    let otherwise = Some(Box::new(args.remove(0)));
    Ok(Expr {
        kind: Kind::Case {
            branches,
            otherwise,
        },
        ty,
        nullable: true,
    })
}

fn iif(binder: &Binder<'_>, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let results = args.split_off(1);
    binder.choose(args, results, true)
}

fn choose(binder: &Binder<'_>, mut args: Vec<Expr>) -> SqlResult<Expr> {
    let results = args.split_off(1);
    // The index is made an integer.
    let index = binder.coerce(args.remove(0), SqlType::INT)?;
    let mut conditions = Vec::with_capacity(results.len());
    for n in 1..=results.len() as i32 {
        let n = Expr::constant(Value::Int(n), SqlType::INT);
        conditions.push(binder.compare(CompareOp::Eq, index.clone(), n)?);
    }
    binder.choose(conditions, results, false)
}
