//! Built-in scalar functions: name, parameters, result type and code, in tables by subject.
//!
//! Invariants:
//! 1. An argument reaches the code in a form its parameter promises: binding converts it (`prepare`). [assert: functions/1]
//! 2. A strict function is never called with a NULL. [assert: functions/2]
//! 3. The bare word of a date function comes as a first, constant argument, already known to be a datepart.
//!    [assert: functions/3]

mod base64;
mod bits;
mod choice;
mod codes;
mod dates;
mod doc;
mod format;
mod forms;
pub mod math;
mod misc;
mod text;

use std::fmt;
use std::sync::OnceLock;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, TypeId, Value, datefn::DatePart};

pub use self::doc::{Doc, Entry, doc, of_arguments};
use crate::cx::Cx;
use crate::expr::Expr;

/// What an argument is brought to before the function sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// As it comes.
    Any,
    /// The same, of what can be compared (8116).
    Comparable,
    /// A string; other values as their text.
    Text,
    /// The same, of text and ntext too, which other functions refuse (8116).
    LongText,
    /// A string, or bytes as bytes.
    TextOrBytes,
    /// A string, and nothing that could become one (8116).
    OnlyText,
    /// A string or bytes, and nothing that could become one (8116).
    OnlyTextOrBytes,
    /// Bytes, and nothing that could become some (8116).
    OnlyBytes,
    /// A whole number; a string is none (8116), nor is a bare NULL.
    Position,
    /// A whole number (bigint).
    Int,
    Float,
    /// int, bigint, decimal, money or float.
    Number,
    /// A date or time; a string is read as datetimeoffset.
    Date,
    /// A date or time; a string is read as datetime.
    OldDate,
    /// A number, date or time: what FORMAT takes (8116).
    Formatted,
    /// The word before a date function's comma.
    Part,
}

/// Whether the same arguments give the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    Always,
    /// Within a statement: it asks the clock, or a setting of the session.
    InStatement,
    /// Not even there.
    Never,
}

/// The function that COLLATE becomes; no user can call it by that name.
pub const COLLATE: &str = "collate";

pub type Run = fn(&[Value], &[Expr], &SqlType, &mut Cx<'_>) -> SqlResult<Value>;

pub struct ScalarFunction {
    /// Lower case.
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    /// The last one stands for all further arguments.
    pub params: &'static [Param],
    pub ty: fn(&[Expr]) -> SqlType,
    pub run: Run,
    /// NULL in, NULL out.
    pub strict: bool,
    pub doc: Doc,
    pub stability: Stability,
    /// It compares its strings with each other: they get one collation.
    pub compares: bool,
    /// Its arguments get one type.
    pub unifies: bool,
    /// Its result is NULL only if all arguments are, not if any is.
    pub null_if_all: bool,
    /// It reads varchar as bytes, in whatever encoding.
    pub reads_bytes: bool,
    /// The argument that may be a spooled value: of that it reads no more than it needs, in pieces.
    pub in_pieces: Option<usize>,
}

impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The tables have one entry a function.
impl PartialEq for ScalarFunction {
    fn eq(&self, other: &ScalarFunction) -> bool {
        self.name == other.name
    }
}

/// The function of that lower-case name.
pub fn find(name: &str) -> Option<&'static ScalarFunction> {
    static ALL: OnceLock<Vec<&'static ScalarFunction>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut all: Vec<_> = scalar_functions().collect();
        all.sort_unstable_by_key(|f| f.name);
        all
    });
    let at = all.binary_search_by(|f| f.name.cmp(name)).ok()?;
    Some(all[at])
}

/// Every built-in scalar function.
pub fn scalar_functions() -> impl Iterator<Item = &'static ScalarFunction> {
    let tables = [
        base64::TABLE,
        text::TABLE,
        math::TABLE,
        bits::TABLE,
        dates::TABLE,
        choice::TABLE,
        format::TABLE,
        codes::TABLE,
        misc::TABLE,
    ];
    tables.into_iter().flatten()
}

/// A function that takes one argument a parameter.
pub const fn strict(
    doc: Doc,
    params: &'static [Param],
    ty: fn(&[Expr]) -> SqlType,
    run: Run,
) -> ScalarFunction {
    ScalarFunction {
        name: doc.name,
        min_args: params.len(),
        max_args: params.len(),
        params,
        ty,
        run,
        strict: true,
        doc,
        stability: Stability::Always,
        compares: false,
        unifies: false,
        null_if_all: false,
        reads_bytes: false,
        in_pieces: None,
    }
}

impl ScalarFunction {
    /// Calls it. Asserts what its code relies on.
    pub(crate) fn call(
        &self,
        values: &[Value],
        args: &[Expr],
        ty: &SqlType,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Value> {
        debug_assert!(
            !self.strict || !values.iter().any(Value::is_null),
            "functions/2: {} is called with a NULL",
            self.name
        );
        debug_assert!(
            args.iter().enumerate().all(|(i, a)| {
                let param = self.params.get(i).or(self.params.last());
                promised(*param.unwrap_or(&Param::Any), a)
            }),
            "functions/1: an argument of {} has not been converted",
            self.name
        );
        debug_assert!(
            self.params.first() != Some(&Param::Part)
                || values
                    .first()
                    .and_then(Value::as_text)
                    .is_some_and(|word| DatePart::from_name(&word).is_some()),
            "functions/3: {} is called with no datepart",
            self.name
        );
        (self.run)(values, args, ty, cx)
    }

    /// Whether the argument at a place may be a spooled value.
    pub(crate) fn reads_spooled(&self, at: usize) -> bool {
        self.in_pieces == Some(at)
    }

    /// Whether its result may be NULL.
    pub fn is_nullable(&self, args: &[Expr]) -> bool {
        match self.null_if_all {
            true => args.iter().all(|a| a.nullable),
            false => self.max_args > 0,
        }
    }

    /// From `min` arguments on.
    const fn at_least(mut self, min: usize) -> ScalarFunction {
        self.min_args = min;
        self
    }

    const fn at_most(mut self, max: usize) -> ScalarFunction {
        self.max_args = max;
        self
    }

    pub const fn sees_null(mut self) -> ScalarFunction {
        self.strict = false;
        self
    }

    const fn stable_in_statement(mut self) -> ScalarFunction {
        self.stability = Stability::InStatement;
        self
    }

    const fn volatile(mut self) -> ScalarFunction {
        self.stability = Stability::Never;
        self
    }

    const fn compares(mut self) -> ScalarFunction {
        self.compares = true;
        self
    }

    const fn unifies(mut self) -> ScalarFunction {
        self.unifies = true;
        self
    }

    const fn null_if_all(mut self) -> ScalarFunction {
        self.null_if_all = true;
        self
    }

    const fn reads_bytes(mut self) -> ScalarFunction {
        self.reads_bytes = true;
        self
    }

    const fn reads_in_pieces(mut self, at: usize) -> ScalarFunction {
        self.in_pieces = Some(at);
        self
    }
}

/// Whether an argument has a type that a parameter promises.
fn promised(param: Param, arg: &Expr) -> bool {
    let id = arg.ty.id;
    match param {
        Param::Int | Param::Position => id == TypeId::BigInt,
        Param::Float => id == TypeId::Float,
        Param::Text | Param::LongText | Param::OnlyText => id.is_string(),
        Param::TextOrBytes | Param::OnlyTextOrBytes => id.is_string() || id.is_binary(),
        Param::OnlyBytes => id.is_binary(),
        Param::Date | Param::OldDate => id.is_temporal(),
        Param::Any | Param::Comparable | Param::Number | Param::Formatted | Param::Part => true,
    }
}

fn int(_: &[Expr]) -> SqlType {
    SqlType::INT
}

fn same(args: &[Expr]) -> SqlType {
    args[0].ty
}

/// The whole number an `Int` parameter holds; 0 for NULL, which strict functions never see.
fn whole(v: &Value) -> i64 {
    v.as_i64().unwrap_or(0)
}

/// An `Int` argument as an int.
fn small(v: &Value) -> SqlResult<i32> {
    i32::try_from(whole(v)).map_err(|_| overflow(TypeId::Int))
}

fn overflow(id: TypeId) -> SqlError {
    let shown = if id.is_decimal() {
        "numeric"
    } else {
        id.name()
    };
    SqlError::new(&messages::ARITHMETIC_OVERFLOW, &[&"expression", &shown]).with_state(2)
}
