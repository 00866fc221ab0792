//! Functions only a session can answer: names, ids, properties, the error of a CATCH block.

mod app_locks;
mod people;
mod permissions;
mod server;
pub(crate) mod session_context;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::session_core::SessionCore;
use duramen_types::{Decimal, SqlType, Value};

use crate::metadata;

/// The code of a session function.
pub(crate) type Run = fn(&SessionCore, &Args<'_>) -> SqlResult<Value>;

/// A session function: name in lower case, least and most arguments, type of the result, code.
pub(crate) struct Function {
    pub name: &'static str,
    pub min: usize,
    pub max: usize,
    pub ty: SqlType,
    pub run: Run,
}

pub(crate) const fn function(
    name: &'static str,
    (min, max): (usize, usize),
    ty: SqlType,
    run: Run,
) -> Function {
    Function {
        name,
        min,
        max,
        ty,
        run,
    }
}

/// Arguments; one that is missing is as one that is NULL.
pub(crate) struct Args<'a>(pub &'a [Value]);

impl Args<'_> {
    pub fn text(&self, i: usize) -> Option<String> {
        self.0.get(i).and_then(Value::as_text)
    }

    /// A name: without trailing blanks.
    pub fn name(&self, i: usize) -> Option<String> {
        self.text(i).map(|t| t.trim_end_matches(' ').to_owned())
    }

    /// The text without trailing blanks, in lower case: names of properties.
    pub fn property(&self, i: usize) -> Option<String> {
        self.text(i).map(|t| t.trim_end().to_lowercase())
    }

    pub fn int(&self, i: usize) -> Option<i32> {
        let whole = match self.0.get(i)? {
            Value::Decimal(d) => i64::try_from(d.trunc()).ok()?,
            Value::VarChar(_) | Value::NVarChar(_) => self.text(i)?.trim().parse().ok()?,
            other => other.as_i64()?,
        };
        i32::try_from(whole).ok()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

pub(crate) fn text(s: Option<&str>) -> SqlResult<Value> {
    Ok(s.map_or(Value::Null, Value::nvarchar))
}

pub(crate) fn int(n: Option<i32>) -> SqlResult<Value> {
    Ok(n.map_or(Value::Null, Value::Int))
}

/// A `sql_variant` of a name or of a number, as properties come.
pub(crate) fn variant_text(s: &str) -> Value {
    Value::Variant(Box::new((SqlType::SYSNAME, Value::nvarchar(s))))
}

pub(crate) fn variant_int(n: i32) -> Value {
    Value::Variant(Box::new((SqlType::INT, Value::Int(n))))
}

const NONE: (usize, usize) = (0, 0);
const OPTIONAL: (usize, usize) = (0, 1);
const ONE: (usize, usize) = (1, 1);

const FUNCTIONS: &[Function] = &[
    function("app_name", NONE, SqlType::SYSNAME, |s, _| {
        text(Some(&s.login.app))
    }),
    function(
        "applock_mode",
        (3, 3),
        SqlType::nvarchar(32),
        app_locks::mode,
    ),
    function("applock_test", (4, 4), SqlType::SMALLINT, app_locks::test),
    function(
        "collationproperty",
        (2, 2),
        SqlType::VARIANT,
        server::collation_property,
    ),
    function(
        "connectionproperty",
        ONE,
        SqlType::VARIANT,
        server::connection_property,
    ),
    function(
        "context_info",
        NONE,
        SqlType::varbinary(128),
        session_context::context_info,
    ),
    function("current_request_id", NONE, SqlType::SMALLINT, |_, _| {
        Ok(Value::SmallInt(0))
    }),
    function("current_timezone", NONE, SqlType::varchar(128), |_, _| {
        Ok(Value::varchar("(UTC) Coordinated Universal Time"))
    }),
    function(
        "current_timezone_id",
        NONE,
        SqlType::varchar(128),
        |_, _| Ok(Value::varchar("UTC")),
    ),
    function("current_transaction_id", NONE, SqlType::BIGINT, |s, _| {
        Ok(Value::BigInt(
            s.transaction.as_ref().map_or(0, |t| t.id as i64),
        ))
    }),
    function("current_user", NONE, SqlType::SYSNAME, people::current_user),
    function(
        "database_principal_id",
        OPTIONAL,
        SqlType::INT,
        people::database_principal_id,
    ),
    function("db_id", OPTIONAL, SqlType::SMALLINT, db_id),
    function("db_name", OPTIONAL, SqlType::SYSNAME, db_name),
    function("error_line", NONE, SqlType::INT, |s, _| {
        caught(s, |e| Value::Int(e.line))
    }),
    function("error_message", NONE, SqlType::nvarchar(4000), |s, _| {
        caught(s, |e| Value::nvarchar(&e.message))
    }),
    function("error_number", NONE, SqlType::INT, |s, _| {
        caught(s, |e| Value::Int(e.number))
    }),
    function("error_procedure", NONE, SqlType::SYSNAME, |s, _| {
        caught(s, |e| {
            e.procedure.as_deref().map_or(Value::Null, Value::nvarchar)
        })
    }),
    function("error_severity", NONE, SqlType::INT, |s, _| {
        caught(s, |e| Value::Int(e.severity as i32))
    }),
    function("error_state", NONE, SqlType::INT, |s, _| {
        caught(s, |e| Value::Int(e.state as i32))
    }),
    function(
        "formatmessage",
        (1, 21),
        SqlType::nvarchar(2048),
        server::format_message,
    ),
    function(
        "getansinull",
        OPTIONAL,
        SqlType::SMALLINT,
        server::get_ansi_null,
    ),
    function("has_dbaccess", ONE, SqlType::INT, people::has_dbaccess),
    function(
        "has_perms_by_name",
        (3, 5),
        SqlType::INT,
        people::has_perms_by_name,
    ),
    function("host_id", NONE, SqlType::char(10), |_, _| Ok(Value::Null)),
    function("host_name", NONE, SqlType::SYSNAME, |s, _| {
        text(Some(&s.login.host))
    }),
    function("is_member", ONE, SqlType::INT, people::is_member),
    function("is_rolemember", (1, 2), SqlType::INT, people::is_rolemember),
    function(
        "is_srvrolemember",
        (1, 2),
        SqlType::INT,
        people::is_srvrolemember,
    ),
    function(
        "loginproperty",
        (2, 2),
        SqlType::VARIANT,
        people::login_property,
    ),
    function(
        "newsequentialid",
        NONE,
        SqlType::GUID,
        server::new_sequential_id,
    ),
    function("original_db_name", NONE, SqlType::SYSNAME, |s, _| {
        text(Some(&s.login.database))
    }),
    function("original_login", NONE, SqlType::SYSNAME, |s, _| {
        text(Some(&s.login.user))
    }),
    function(
        "permissions",
        (0, 2),
        SqlType::INT,
        permissions::permissions,
    ),
    function("pwdcompare", (2, 3), SqlType::INT, people::pwdcompare),
    function(
        "pwdencrypt",
        ONE,
        SqlType::varbinary(256),
        people::pwdencrypt,
    ),
    function("rowcount_big", NONE, SqlType::BIGINT, |s, _| {
        Ok(Value::BigInt(s.state.rowcount as i64))
    }),
    function("scope_identity", NONE, SqlType::numeric(38, 0), |s, _| {
        Ok(number(s.state.scope_identity))
    }),
    function(
        "serverproperty",
        ONE,
        SqlType::VARIANT,
        server::server_property,
    ),
    function(
        "session_context",
        ONE,
        SqlType::VARIANT,
        session_context::session_context,
    ),
    function(
        "sessionproperty",
        ONE,
        SqlType::VARIANT,
        server::session_property,
    ),
    function("session_user", NONE, SqlType::SYSNAME, people::current_user),
    function("suser_id", OPTIONAL, SqlType::INT, people::suser_id),
    function("suser_name", OPTIONAL, SqlType::SYSNAME, people::suser_name),
    function(
        "suser_sid",
        (0, 2),
        SqlType::varbinary(85),
        people::suser_sid,
    ),
    function(
        "suser_sname",
        OPTIONAL,
        SqlType::SYSNAME,
        people::suser_sname,
    ),
    function("system_user", NONE, SqlType::SYSNAME, |s, _| {
        text(Some(&s.who.name))
    }),
    function("trigger_nestlevel", (0, 3), SqlType::INT, |s, args| {
        let running = &s.state.triggers;
        let depth = match args.int(0) {
            None => running.len(),
            Some(id) => running.iter().filter(|f| f.trigger.0 == id).count(),
        };
        Ok(Value::Int(depth as i32))
    }),
    function("user", NONE, SqlType::SYSNAME, people::current_user),
    function(
        "user_id",
        OPTIONAL,
        SqlType::INT,
        people::database_principal_id,
    ),
    function("user_name", OPTIONAL, SqlType::SYSNAME, people::user_name),
    function("xact_state", NONE, SqlType::SMALLINT, xact_state),
];

fn find(name: &str) -> Option<&'static Function> {
    every().find(|f| f.name.eq_ignore_ascii_case(name))
}

/// Every session function.
pub(crate) fn every() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().chain(metadata::FUNCTIONS)
}

pub fn type_of(name: &str) -> Option<SqlType> {
    find(name).map(|f| f.ty)
}

/// Least and most arguments; a name that is not in the list takes any.
pub fn arguments_of(name: &str) -> (usize, usize) {
    find(name).map_or((0, usize::MAX), |f| (f.min, f.max))
}

pub fn call(session: &SessionCore, name: &str, args: &[Value]) -> SqlResult<Value> {
    match find(name) {
        Some(f) => {
            if OF_IDS.contains(&f.name) {
                args.iter().try_for_each(check_id)?;
            }
            (f.run)(session, &Args(args))
        }
        None => Ok(Value::Null),
    }
}

/// Functions whose numbers are ids, ints all of them.
const OF_IDS: &[&str] = &[
    "col_length",
    "col_name",
    "columnproperty",
    "database_principal_name",
    "db_name",
    "file_name",
    "filegroup_name",
    "index_col",
    "indexproperty",
    "object_definition",
    "object_name",
    "object_schema_name",
    "objectproperty",
    "objectpropertyex",
    "schema_name",
    "stats_date",
    "suser_name",
    "type_name",
    "user_name",
];

/// 8115: a number that is no int.
fn check_id(v: &Value) -> SqlResult<()> {
    let fits = match v {
        Value::BigInt(n) => i32::try_from(*n).is_ok(),
        Value::Decimal(d) => i32::try_from(d.trunc()).is_ok(),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(SqlError::new(
            &messages::ARITHMETIC_OVERFLOW,
            &[&"expression", &"int"],
        )),
    }
}

/// An identity value as the functions give it: numeric(38,0).
pub(crate) fn number(n: Option<i64>) -> Value {
    let decimal = n.and_then(|n| Decimal::new(i128::from(n), 38, 0));
    decimal.map_or(Value::Null, Value::Decimal)
}

fn caught(s: &SessionCore, f: impl FnOnce(&SqlError) -> Value) -> SqlResult<Value> {
    Ok(s.state.caught.last().map_or(Value::Null, f))
}

fn xact_state(s: &SessionCore, _: &Args<'_>) -> SqlResult<Value> {
    let state = s.transaction.as_ref().map_or(0, |t| t.xact_state() as i16);
    Ok(Value::SmallInt(state))
}

fn db_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = match args.len() {
        0 => Some(s.database.to_string()),
        _ => args
            .int(0)
            .and_then(|id| s.instance.database_name_of(i64::from(id))),
    };
    text(name.as_deref())
}

fn db_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let id = match args.len() {
        0 => s.instance.database_id(&s.database),
        _ => args.name(0).and_then(|n| s.instance.database_id(&n)),
    };
    Ok(id.map_or(Value::Null, |id| Value::SmallInt(id.0 as i16)))
}
