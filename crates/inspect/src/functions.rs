//! Functions only a session can answer: names, ids, properties, the error of a CATCH block.

mod app_locks;
mod people;
mod permissions;
mod server;
pub(crate) mod session_context;

use std::sync::OnceLock;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::session_core::SessionCore;
use duramen_program::rights::Needs;
use duramen_program::rights::needs::{FACTS, OWN, VISIBLE};
use duramen_query::{Doc, doc};
use duramen_types::{Decimal, SqlType, Value};

use crate::metadata;

/// The code of a session function.
pub(crate) type Run = fn(&SessionCore, &Args<'_>) -> SqlResult<Value>;

/// A session function: what it is called and gives, what it asks of its caller, least and most arguments, type of
/// the result, code.
pub(crate) struct Function {
    pub doc: Doc,
    pub needs: Needs,
    pub min: usize,
    pub max: usize,
    pub ty: SqlType,
    pub run: Run,
    /// Its numbers are ids, ints all of them.
    of_ids: bool,
}

impl Function {
    pub(crate) const fn of_ids(self) -> Function {
        Function {
            of_ids: true,
            ..self
        }
    }
}

pub(crate) const fn function(
    doc: Doc,
    needs: Needs,
    (min, max): (usize, usize),
    ty: SqlType,
    run: Run,
) -> Function {
    Function {
        doc,
        needs,
        min,
        max,
        ty,
        run,
        of_ids: false,
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

const LOCKS: Needs = Needs::Public("the locks of principals that the caller is in");

const NONE: (usize, usize) = (0, 0);
const OPTIONAL: (usize, usize) = (0, 1);
const ONE: (usize, usize) = (1, 1);

const FUNCTIONS: &[Function] = &[
    function(
        doc(
            "app_name",
            "the application that the session's login named",
            "APP_NAME()",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| text(Some(&s.login.app)),
    ),
    function(
        doc(
            "applock_mode",
            "the mode in which an application's lock is held",
            "APPLOCK_MODE('public', 'report', 'Session')",
        ),
        LOCKS,
        (3, 3),
        SqlType::nvarchar(32),
        app_locks::mode,
    ),
    function(
        doc(
            "applock_test",
            "whether an application's lock could be had now",
            "APPLOCK_TEST('public', 'report', 'Shared', 'Session')",
        ),
        LOCKS,
        (4, 4),
        SqlType::SMALLINT,
        app_locks::test,
    ),
    function(
        doc(
            "collationproperty",
            "a property of a collation",
            "COLLATIONPROPERTY('Latin1_General_CI_AS', 'CodePage')",
        ),
        FACTS,
        (2, 2),
        SqlType::VARIANT,
        server::collation_property,
    ),
    function(
        doc(
            "connectionproperty",
            "a property of the session's connection",
            "CONNECTIONPROPERTY('auth_scheme')",
        ),
        OWN,
        ONE,
        SqlType::VARIANT,
        server::connection_property,
    ),
    function(
        doc(
            "context_info",
            "the bytes that SET CONTEXT_INFO gave the session",
            "DATALENGTH(CONTEXT_INFO())",
        ),
        OWN,
        NONE,
        SqlType::varbinary(128),
        session_context::context_info,
    ),
    function(
        doc(
            "current_request_id",
            "the number of the request in its session",
            "CURRENT_REQUEST_ID()",
        ),
        OWN,
        NONE,
        SqlType::SMALLINT,
        |_, _| Ok(Value::SmallInt(0)),
    ),
    function(
        doc(
            "current_timezone",
            "the name of the server's time zone",
            "CURRENT_TIMEZONE()",
        ),
        FACTS,
        NONE,
        SqlType::varchar(128),
        |_, _| Ok(Value::varchar("(UTC) Coordinated Universal Time")),
    ),
    function(
        doc(
            "current_timezone_id",
            "the id of the server's time zone",
            "CURRENT_TIMEZONE_ID()",
        ),
        FACTS,
        NONE,
        SqlType::varchar(128),
        |_, _| Ok(Value::varchar("UTC")),
    ),
    function(
        doc(
            "current_transaction_id",
            "the number of the transaction",
            "SIGN(CURRENT_TRANSACTION_ID())",
        ),
        OWN,
        NONE,
        SqlType::BIGINT,
        |s, _| {
            Ok(Value::BigInt(
                s.transaction.as_ref().map_or(0, |t| t.id as i64),
            ))
        },
    ),
    function(
        doc(
            "current_user",
            "the database user of the session",
            "CURRENT_USER",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        people::current_user,
    ),
    function(
        doc(
            "database_principal_id",
            "the id of a user or role",
            "DATABASE_PRINCIPAL_ID('dbo')",
        ),
        VISIBLE,
        OPTIONAL,
        SqlType::INT,
        people::database_principal_id,
    ),
    function(
        doc("db_id", "the id of a database", "DB_ID('master')"),
        VISIBLE,
        OPTIONAL,
        SqlType::SMALLINT,
        db_id,
    ),
    function(
        doc("db_name", "the name of a database", "DB_NAME(1)"),
        OWN,
        OPTIONAL,
        SqlType::SYSNAME,
        db_name,
    )
    .of_ids(),
    function(
        doc(
            "error_line",
            "the line of the error that a CATCH block handles",
            "ERROR_LINE()",
        ),
        OWN,
        NONE,
        SqlType::INT,
        |s, _| caught(s, |e| Value::Int(e.line)),
    ),
    function(
        doc("error_message", "its text", "ERROR_MESSAGE()"),
        OWN,
        NONE,
        SqlType::nvarchar(4000),
        |s, _| caught(s, |e| Value::nvarchar(&e.message)),
    ),
    function(
        doc("error_number", "its number", "ERROR_NUMBER()"),
        OWN,
        NONE,
        SqlType::INT,
        |s, _| caught(s, |e| Value::Int(e.number)),
    ),
    function(
        doc(
            "error_procedure",
            "the procedure that it came from",
            "ERROR_PROCEDURE()",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| {
            caught(s, |e| {
                e.procedure.as_deref().map_or(Value::Null, Value::nvarchar)
            })
        },
    ),
    function(
        doc("error_severity", "its severity", "ERROR_SEVERITY()"),
        OWN,
        NONE,
        SqlType::INT,
        |s, _| caught(s, |e| Value::Int(e.severity as i32)),
    ),
    function(
        doc("error_state", "its state", "ERROR_STATE()"),
        OWN,
        NONE,
        SqlType::INT,
        |s, _| caught(s, |e| Value::Int(e.state as i32)),
    ),
    function(
        doc(
            "formatmessage",
            "a message or text with its arguments",
            "FORMATMESSAGE('%s has %d rows', 't', 3)",
        ),
        FACTS,
        (1, 21),
        SqlType::nvarchar(2048),
        server::format_message,
    ),
    function(
        doc(
            "getansinull",
            "whether new columns allow NULL",
            "GETANSINULL()",
        ),
        OWN,
        OPTIONAL,
        SqlType::SMALLINT,
        server::get_ansi_null,
    ),
    function(
        doc(
            "has_dbaccess",
            "whether the session may enter a database",
            "HAS_DBACCESS('master')",
        ),
        OWN,
        ONE,
        SqlType::INT,
        people::has_dbaccess,
    ),
    function(
        doc(
            "has_perms_by_name",
            "whether the session has a permission",
            "HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')",
        ),
        VISIBLE,
        (3, 5),
        SqlType::INT,
        people::has_perms_by_name,
    ),
    function(
        doc(
            "host_id",
            "the id of the client's machine; not known here",
            "HOST_ID()",
        ),
        OWN,
        NONE,
        SqlType::char(10),
        |_, _| Ok(Value::Null),
    ),
    function(
        doc(
            "host_name",
            "the name of the client's machine",
            "HOST_NAME()",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| text(Some(&s.login.host)),
    ),
    function(
        doc(
            "is_member",
            "whether the session's user belongs to a role",
            "IS_MEMBER('db_owner')",
        ),
        OWN,
        ONE,
        SqlType::INT,
        people::is_member,
    ),
    function(
        doc(
            "is_rolemember",
            "whether a user belongs to a role",
            "IS_ROLEMEMBER('db_owner', 'dbo')",
        ),
        VISIBLE,
        (1, 2),
        SqlType::INT,
        people::is_rolemember,
    ),
    function(
        doc(
            "is_srvrolemember",
            "whether a login belongs to a server role",
            "IS_SRVROLEMEMBER('sysadmin')",
        ),
        VISIBLE,
        (1, 2),
        SqlType::INT,
        people::is_srvrolemember,
    ),
    function(
        doc(
            "loginproperty",
            "a property of a login",
            "LOGINPROPERTY('sa', 'IsLocked')",
        ),
        VISIBLE,
        (2, 2),
        SqlType::VARIANT,
        people::login_property,
    ),
    function(
        doc(
            "newsequentialid",
            "a uniqueidentifier above the last; as a default only",
            "",
        ),
        FACTS,
        NONE,
        SqlType::GUID,
        server::new_sequential_id,
    ),
    function(
        doc(
            "original_db_name",
            "the database that the login named",
            "ORIGINAL_DB_NAME()",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| text(Some(&s.login.database)),
    ),
    function(
        doc(
            "original_login",
            "the login that connected",
            "ORIGINAL_LOGIN()",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| text(Some(&s.login.user)),
    ),
    function(
        doc(
            "permissions",
            "the session's permissions as bits",
            "PERMISSIONS(0)",
        ),
        OWN,
        (0, 2),
        SqlType::INT,
        permissions::permissions,
    ),
    function(
        doc(
            "pwdcompare",
            "whether a password is that of a hash",
            "PWDCOMPARE(N'p', PWDENCRYPT(N'p'))",
        ),
        FACTS,
        (2, 3),
        SqlType::INT,
        people::pwdcompare,
    ),
    function(
        doc(
            "pwdencrypt",
            "the hash of a password",
            "DATALENGTH(PWDENCRYPT(N'p'))",
        ),
        FACTS,
        ONE,
        SqlType::varbinary(256),
        people::pwdencrypt,
    ),
    function(
        doc(
            "rowcount_big",
            "the rows of the last statement, as bigint",
            "ROWCOUNT_BIG()",
        ),
        OWN,
        NONE,
        SqlType::BIGINT,
        |s, _| Ok(Value::BigInt(s.state.rowcount as i64)),
    ),
    function(
        doc(
            "scope_identity",
            "the last identity value of this scope",
            "SCOPE_IDENTITY()",
        ),
        OWN,
        NONE,
        SqlType::numeric(38, 0),
        |s, _| Ok(number(s.state.scope_identity)),
    ),
    function(
        doc(
            "serverproperty",
            "a property of the server",
            "SERVERPROPERTY('IsIntegratedSecurityOnly')",
        ),
        FACTS,
        ONE,
        SqlType::VARIANT,
        server::server_property,
    ),
    function(
        doc(
            "session_context",
            "a value of the session's context",
            "SESSION_CONTEXT(N'tenant')",
        ),
        OWN,
        ONE,
        SqlType::VARIANT,
        session_context::session_context,
    ),
    function(
        doc(
            "sessionproperty",
            "a SET option of the session",
            "SESSIONPROPERTY('ANSI_NULLS')",
        ),
        OWN,
        ONE,
        SqlType::VARIANT,
        server::session_property,
    ),
    function(
        doc(
            "session_user",
            "the database user of the session",
            "SESSION_USER",
        ),
        OWN,
        NONE,
        SqlType::SYSNAME,
        people::current_user,
    ),
    function(
        doc("suser_id", "the id of a login", "SUSER_ID('sa')"),
        VISIBLE,
        OPTIONAL,
        SqlType::INT,
        people::suser_id,
    ),
    function(
        doc("suser_name", "the name of a login", "SUSER_NAME(1)"),
        VISIBLE,
        OPTIONAL,
        SqlType::SYSNAME,
        people::suser_name,
    )
    .of_ids(),
    function(
        doc("suser_sid", "the sid of a login", "SUSER_SID('sa')"),
        VISIBLE,
        (0, 2),
        SqlType::varbinary(85),
        people::suser_sid,
    ),
    function(
        doc(
            "suser_sname",
            "the name of a login by its sid",
            "SUSER_SNAME(0x01)",
        ),
        VISIBLE,
        OPTIONAL,
        SqlType::SYSNAME,
        people::suser_sname,
    ),
    function(
        doc("system_user", "the login of the session", "SYSTEM_USER"),
        OWN,
        NONE,
        SqlType::SYSNAME,
        |s, _| text(Some(&s.who.name)),
    ),
    function(
        doc(
            "trigger_nestlevel",
            "how many triggers are running",
            "TRIGGER_NESTLEVEL()",
        ),
        OWN,
        (0, 3),
        SqlType::INT,
        |s, args| {
            let running = &s.state.triggers;
            let depth = match args.int(0) {
                None => running.len(),
                Some(id) => running.iter().filter(|f| f.trigger.0 == id).count(),
            };
            Ok(Value::Int(depth as i32))
        },
    ),
    function(
        doc("user", "the database user of the session", "USER"),
        OWN,
        NONE,
        SqlType::SYSNAME,
        people::current_user,
    ),
    function(
        doc("user_id", "the id of a database user", "USER_ID('dbo')"),
        VISIBLE,
        OPTIONAL,
        SqlType::INT,
        people::database_principal_id,
    ),
    function(
        doc("user_name", "the name of a database user", "USER_NAME(1)"),
        VISIBLE,
        OPTIONAL,
        SqlType::SYSNAME,
        people::user_name,
    )
    .of_ids(),
    function(
        doc(
            "xact_state",
            "1 in a transaction, -1 in one that is doomed, else 0",
            "XACT_STATE()",
        ),
        OWN,
        NONE,
        SqlType::SMALLINT,
        xact_state,
    ),
];

/// The function of that lower-case name.
fn find(name: &str) -> Option<&'static Function> {
    static ALL: OnceLock<Vec<&'static Function>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let mut all: Vec<_> = every().collect();
        all.sort_unstable_by_key(|f| f.doc.name);
        all
    });
    let at = all.binary_search_by(|f| f.doc.name.cmp(name)).ok()?;
    Some(all[at])
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
            if f.of_ids {
                args.iter().try_for_each(check_id)?;
            }
            (f.run)(session, &Args(args))
        }
        None => Ok(Value::Null),
    }
}

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
