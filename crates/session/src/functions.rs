//! Functions only a session can answer: names, ids, properties, the error of a CATCH block.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

use crate::metadata;
use crate::session::Session;

struct Function {
    name: &'static str,
    ty: SqlType,
    run: fn(&Session, &[Value]) -> Value,
}

const FUNCTIONS: &[Function] = &[
    Function {
        name: "db_name",
        ty: SqlType::SYSNAME,
        run: db_name,
    },
    Function {
        name: "db_id",
        ty: SqlType::SMALLINT,
        run: db_id,
    },
    Function {
        name: "suser_sname",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.user),
    },
    Function {
        name: "suser_name",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.user),
    },
    Function {
        name: "system_user",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.user),
    },
    Function {
        name: "original_login",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.user),
    },
    Function {
        name: "user_name",
        ty: SqlType::SYSNAME,
        run: |_, _| Value::nvarchar("dbo"),
    },
    Function {
        name: "current_user",
        ty: SqlType::SYSNAME,
        run: |_, _| Value::nvarchar("dbo"),
    },
    Function {
        name: "session_user",
        ty: SqlType::SYSNAME,
        run: |_, _| Value::nvarchar("dbo"),
    },
    Function {
        name: "app_name",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.app),
    },
    Function {
        name: "host_name",
        ty: SqlType::SYSNAME,
        run: |s, _| Value::nvarchar(&s.login.host),
    },
    Function {
        name: "scope_identity",
        ty: SqlType::numeric(38, 0),
        run: |s, _| crate::globals::numeric(s.state.scope_identity),
    },
    Function {
        name: "xact_state",
        ty: SqlType::SMALLINT,
        run: xact_state,
    },
    Function {
        name: "error_number",
        ty: SqlType::INT,
        run: |s, _| caught(s, |e| Value::Int(e.number)),
    },
    Function {
        name: "error_severity",
        ty: SqlType::INT,
        run: |s, _| caught(s, |e| Value::Int(e.severity as i32)),
    },
    Function {
        name: "error_state",
        ty: SqlType::INT,
        run: |s, _| caught(s, |e| Value::Int(e.state as i32)),
    },
    Function {
        name: "error_line",
        ty: SqlType::INT,
        run: |s, _| caught(s, |e| Value::Int(e.line)),
    },
    Function {
        name: "error_message",
        ty: SqlType::nvarchar(4000),
        run: |s, _| caught(s, |e| Value::nvarchar(&e.message)),
    },
    Function {
        name: "error_procedure",
        ty: SqlType::SYSNAME,
        run: |s, _| {
            caught(s, |e| {
                e.procedure.as_deref().map_or(Value::Null, Value::nvarchar)
            })
        },
    },
    Function {
        name: "databaseproperty",
        ty: SqlType::INT,
        run: |_, _| Value::Null,
    },
    Function {
        name: "serverproperty",
        ty: SqlType::nvarchar(256),
        run: server_property,
    },
];

pub fn type_of(name: &str) -> Option<SqlType> {
    FUNCTIONS
        .iter()
        .find(|f| f.name.eq_ignore_ascii_case(name))
        .map(|f| f.ty)
        .or_else(|| metadata::type_of(name))
}

pub fn call(session: &Session, name: &str, args: &[Value]) -> SqlResult<Value> {
    if name.eq_ignore_ascii_case("databaseproperty") {
        return database_property(session, args);
    }
    if let Some(value) = metadata::call(session, name, args) {
        return value;
    }
    let found = FUNCTIONS.iter().find(|f| f.name.eq_ignore_ascii_case(name));
    Ok(found.map_or(Value::Null, |f| (f.run)(session, args)))
}

/// DATABASEPROPERTY: NULL for a database that is not there.
fn database_property(s: &Session, args: &[Value]) -> SqlResult<Value> {
    let text = |i: usize| args.get(i).and_then(Value::as_text).unwrap_or_default();
    if !text(1).eq_ignore_ascii_case("version") {
        let what = format!("DATABASEPROPERTY('{}')", text(1));
        return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
    }
    let version = i32::from(duramen_storage::format::boot::DATABASE_VERSION);
    Ok(s.instance
        .database_id(&text(0))
        .map_or(Value::Null, |_| Value::Int(version)))
}

fn caught(s: &Session, f: impl FnOnce(&duramen_base::SqlError) -> Value) -> Value {
    s.state.caught.last().map_or(Value::Null, f)
}

fn xact_state(s: &Session, _: &[Value]) -> Value {
    Value::SmallInt(s.transaction.as_ref().map_or(0, |t| t.xact_state() as i16))
}

fn db_name(s: &Session, args: &[Value]) -> Value {
    let name = match args.first() {
        None => Some(s.database.to_string()),
        Some(v) => v.as_i64().and_then(|id| s.instance.database_name_of(id)),
    };
    name.map_or(Value::Null, |n| Value::nvarchar(&n))
}

fn db_id(s: &Session, args: &[Value]) -> Value {
    let id = match args.first() {
        None => s.instance.database_id(&s.database),
        Some(v) => v.as_text().and_then(|n| s.instance.database_id(&n)),
    };
    id.map_or(Value::Null, |id| Value::SmallInt(id.0 as i16))
}

fn server_property(s: &Session, args: &[Value]) -> Value {
    let name = args
        .first()
        .and_then(Value::as_text)
        .unwrap_or_default()
        .to_ascii_lowercase();
    match name.as_str() {
        "productversion" => Value::nvarchar(&crate::version::product_version()),
        "productlevel" => Value::nvarchar("RTM"),
        "productmajorversion" => Value::nvarchar(&crate::version::VERSION.0.to_string()),
        "productminorversion" => Value::nvarchar(&crate::version::VERSION.1.to_string()),
        "productbuild" => Value::nvarchar(&crate::version::VERSION.2.to_string()),
        "edition" => Value::nvarchar("Duramen"),
        "engineedition" => Value::nvarchar("3"),
        "servername" | "machinename" => Value::nvarchar(s.instance.server_name()),
        "collation" => Value::nvarchar("SQL_Latin1_General_CP1_CI_AS"),
        "isintegratedsecurityonly" | "isclustered" | "issingleuser" | "ishadrenabled" => {
            Value::nvarchar("0")
        }
        _ => Value::Null,
    }
}
