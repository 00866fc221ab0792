//! Built-in scalar functions: name, parameters, result type and code, in tables by subject.
//!
//! Invariants:
//! 1. An argument reaches the code in a form its parameter promises: binding converts it (`prepare`). [assert: functions/1]
//! 2. A strict function is never called with a NULL. [assert: functions/2]
//! 3. The bare word of a date function comes as a first, constant argument, already known to be a datepart.
//!    [assert: functions/3]

mod bits;
mod choice;
mod codes;
mod dates;
mod doc;
mod format;
mod forms;
mod math;
mod misc;
mod text;
pub(crate) mod xml;

use std::fmt;
use std::sync::OnceLock;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, TypeId, Value, datefn::DatePart};

pub use self::doc::{Doc, Entry, doc};
use crate::bind::Binder;
use crate::cx::Cx;
use crate::expr::{Expr, Kind};

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

type Run = fn(&[Value], &[Expr], &SqlType, &mut Cx<'_>) -> SqlResult<Value>;

pub struct ScalarFunction {
    /// Lower case.
    pub name: &'static str,
    pub min_args: usize,
    pub max_args: usize,
    /// The last one stands for all further arguments.
    params: &'static [Param],
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
    reads_bytes: bool,
    /// The argument that may be a spooled value: of that it reads no more than it needs, in pieces.
    in_pieces: Option<usize>,
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
        let mut all: Vec<_> = all().collect();
        all.sort_unstable_by_key(|f| f.name);
        all
    });
    let at = all.binary_search_by(|f| f.name.cmp(name)).ok()?;
    Some(all[at])
}

/// Every built-in function of the language: the scalar ones, those that binding turns into CASE, aggregates, window
/// functions and table-valued ones. For the reference.
pub fn names() -> impl Iterator<Item = Entry> {
    let scalar = all().filter(|f| f.name != crate::bind::COLLATE);
    let scalar = scalar.map(|f| Entry {
        doc: f.doc,
        min: f.min_args,
        max: f.max_args,
    });
    let tables = crate::table_functions::entries();
    scalar.chain(crate::bind::function_entries()).chain(tables)
}

/// Every built-in scalar function of this room.
fn all() -> impl Iterator<Item = &'static ScalarFunction> {
    let tables = [
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

/// The same of those that give rows, besides those that are words of the language.
pub(crate) const REFUSED_TABLES: &[&str] = &["OPENJSON"];

/// Functions of SQL Server that are refused by name (40517) instead of being unknown (195).
pub(crate) const REFUSED: &[&str] = &[
    "approx_percentile_cont",
    "approx_percentile_disc",
    "asymkey_id",
    "cert_id",
    "certencoded",
    "certprivatekey",
    "checksum_agg",
    "columns_updated",
    "compress",
    "containstable",
    "cursor_status",
    "decompress",
    "decryptbycert",
    "decryptbykey",
    "decryptbypassphrase",
    "encryptbycert",
    "encryptbykey",
    "encryptbypassphrase",
    "eventdata",
    "freetexttable",
    "grouping",
    "grouping_id",
    "is_objectsigned",
    "isjson",
    "json_array",
    "json_arrayagg",
    "json_modify",
    "json_object",
    "json_objectagg",
    "json_path_exists",
    "json_query",
    "json_value",
    "key_guid",
    "key_id",
    "min_active_rowversion",
    "percentile_cont",
    "percentile_disc",
    "textptr",
    "textvalid",
];

/// A function that takes one argument a parameter.
const fn strict(
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
    pub(crate) fn is_nullable(&self, args: &[Expr]) -> bool {
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

    const fn sees_null(mut self) -> ScalarFunction {
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

/// Checks the arguments of a call and converts them to what the parameters promise.
pub(crate) fn prepare(
    binder: &Binder<'_>,
    function: &ScalarFunction,
    args: Vec<Expr>,
) -> SqlResult<Vec<Expr>> {
    check_count(function, args.len())?;
    let mut out = Vec::with_capacity(args.len());
    for (i, arg) in args.into_iter().enumerate() {
        let param = function.params.get(i).or(function.params.last());
        let param = *param.unwrap_or(&Param::Any);
        if is_invalid(param, &arg) {
            let bare = arg.ty.id == TypeId::Int && matches!(arg.kind, Kind::Const(Value::Null));
            let ty = if bare { "NULL" } else { arg.ty.id.name() };
            let args: [&dyn fmt::Display; 3] = [&ty, &(i + 1), &function.name];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
        out.push(brought(binder, function, param, arg)?);
    }
    Ok(out)
}

/// 8116: what SQL Server does not convert for a parameter, though it would in an assignment.
fn is_invalid(param: Param, arg: &Expr) -> bool {
    let id = arg.ty.id;
    let bare_null = id == TypeId::Int && matches!(arg.kind, Kind::Const(Value::Null));
    let new_date = matches!(
        id,
        TypeId::Date | TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset
    );
    match param {
        Param::Comparable => id.is_legacy_lob() || id == TypeId::Xml,
        Param::Text | Param::TextOrBytes if id.is_legacy_lob() => true,
        Param::LongText if id == TypeId::Image => true,
        Param::Text | Param::LongText | Param::TextOrBytes => {
            (new_date && !bare_null) || matches!(id, TypeId::Xml | TypeId::SqlVariant)
        }
        Param::OnlyText => bare_null || !id.is_string(),
        Param::OnlyTextOrBytes => bare_null || !(id.is_string() || id.is_binary()),
        Param::Position => bare_null || id.is_string() || new_date,
        _ => false,
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
        Param::Date | Param::OldDate => id.is_temporal(),
        Param::Any | Param::Comparable | Param::Number | Param::Formatted | Param::Part => true,
    }
}

fn brought(
    binder: &Binder<'_>,
    function: &ScalarFunction,
    param: Param,
    arg: Expr,
) -> SqlResult<Expr> {
    let id = arg.ty.id;
    // The functions read varchar by its code page: text in UTF-8 comes to them as nvarchar. Its digest is of its bytes.
    let reads = matches!(
        param,
        Param::Text
            | Param::LongText
            | Param::TextOrBytes
            | Param::OnlyText
            | Param::OnlyTextOrBytes
    ) && !function.reads_bytes;
    if reads && id.is_char() && arg.ty.collation.is_utf8() {
        let to = wide(&arg.ty);
        return binder.coerce(arg, to);
    }
    let to = match param {
        Param::Any | Param::Comparable | Param::OnlyText | Param::OnlyTextOrBytes => {
            return Ok(arg);
        }
        Param::Text | Param::LongText if id.is_string() => return Ok(arg),
        Param::TextOrBytes if id.is_string() || id.is_binary() => return Ok(arg),
        Param::Text | Param::LongText | Param::TextOrBytes => SqlType::varchar(8000),
        Param::Int | Param::Position => SqlType::BIGINT,
        Param::Float => SqlType::FLOAT,
        Param::Number => math::number_type(&arg.ty),
        Param::Date | Param::OldDate if id.is_temporal() => return Ok(arg),
        Param::Date if id.is_string() => SqlType::datetimeoffset(7),
        Param::Date | Param::OldDate => SqlType::DATETIME,
        Param::Formatted if duramen_types::netformat::takes(id) => return Ok(arg),
        Param::Formatted => {
            let args: [&dyn fmt::Display; 3] = [&id.name(), &1, &function.name];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
        Param::Part => {
            if let Kind::Const(word) = &arg.kind
                && let Some(word) = word.as_text()
                && DatePart::from_name(&word).is_none()
            {
                let error = SqlError::new(&messages::UNRECOGNIZED_OPTION, &[&word, &function.name]);
                return Err(error);
            }
            return Ok(arg);
        }
    };
    binder.coerce(arg, to)
}

/// nvarchar of as many characters, under the same collation.
pub(crate) fn wide(ty: &SqlType) -> SqlType {
    let chars = ty.char_capacity().map_or(4001, |n| n.min(4000));
    SqlType::nvarchar(chars as u16).with_collation(ty.collation)
}

/// Errors 174 and 189: too few or too many arguments.
pub(crate) fn check_count(function: &ScalarFunction, given: usize) -> SqlResult<()> {
    check_arguments(function.name, function.min_args, function.max_args, given)
}

pub(crate) fn check_arguments(name: &str, min: usize, max: usize, given: usize) -> SqlResult<()> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(if min == max {
        SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &[&name, &min])
    } else {
        let args: [&dyn fmt::Display; 3] = [&name, &min, &max];
        SqlError::new(&messages::FUNCTION_ARGUMENT_RANGE, &args)
    })
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
