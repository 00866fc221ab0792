//! Statements that are read and not supported: what their text alone says refuses the whole batch or module when it is
//! compiled (40517), before anything of it runs. A script that goes on behind such a statement would lose rows (what MERGE
//! should have copied is deleted next), or never end (a loop over FETCH).
//!
//! What SQL Server itself refuses by the text alone, with messages of its own, is `refused`'s.
//!
//! What depends on how things stand, the kind of a table or of a database, is refused when it is reached.

mod definitions;

use duramen_access::temporary::is_temporary;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::coded::is_of_the_wire;
use duramen_program::options::Options;
use duramen_program::rights::Right;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{
    self, DropKind, ExecCall, ExprKind, Literal, ModuleKind, NamedOption, RestoreKind, SetOption,
    StatementKind,
};

use crate::run::is_all;

/// 40517 for a statement that is not supported, or has something in it that is not.
pub fn check(kind: &StatementKind) -> SqlResult<()> {
    check_kind(kind)?;
    duramen_planner::bind::refused(kind)
}

fn check_kind(kind: &StatementKind) -> SqlResult<()> {
    let what = match kind {
        StatementKind::BeginTran { distributed, .. } if *distributed => {
            "BEGIN DISTRIBUTED TRANSACTION".to_owned()
        }
        StatementKind::Drop {
            kind: kind @ (DropKind::Sequence | DropKind::Default | DropKind::Rule),
            ..
        } => format!("DROP {kind:?}").to_uppercase(),
        StatementKind::Merge(_)
        | StatementKind::CreateSequence(_)
        | StatementKind::DeclareCursor(_)
        | StatementKind::Cursor(_)
        | StatementKind::ExecuteAs { .. }
        | StatementKind::Revert => Kind::of(kind).row().name.to_owned(),
        StatementKind::SetOption(option) => return set(option),
        StatementKind::Exec(exec) => return call(exec),
        StatementKind::Insert(stmt) => {
            return match &stmt.source {
                ast::InsertSource::Exec(exec) => call(exec),
                _ => Ok(()),
            };
        }
        StatementKind::CreateModule(stmt) => return module(stmt),
        StatementKind::CreateSynonym { name, target } => return synonym(name, target),
        StatementKind::AlterSchema {
            class: Some(class), ..
        } if class != "OBJECT" => format!("ALTER SCHEMA TRANSFER {class}::"),
        StatementKind::AlterAuthorization { class, to, .. } => match (class.as_deref(), to) {
            (Some("DATABASE"), Some(_)) => return Ok(()),
            (class, _) => format!("ALTER AUTHORIZATION ON {}", class.unwrap_or("OBJECT")),
        },
        StatementKind::Permission(stmt) => return permission(stmt),
        StatementKind::Principal(stmt) => return principal(stmt),
        StatementKind::Backup(stmt) => {
            if !stmt.parts.is_empty() {
                return refuse("BACKUP of files and filegroups");
            }
            return devices(&stmt.devices);
        }
        StatementKind::Restore(stmt) => {
            if !stmt.parts.is_empty() && stmt.kind != RestoreKind::Database {
                return refuse("RESTORE LOG of files, filegroups or pages");
            }
            return devices(&stmt.devices);
        }
        StatementKind::Dbcc(stmt) => return duramen_inspect::dbcc::check_text(stmt),
        StatementKind::CreateTable(stmt) => return definitions::table(stmt),
        StatementKind::AlterTable(stmt) => return definitions::alter_table(stmt),
        StatementKind::CreateType(stmt) => return definitions::create_type(stmt),
        StatementKind::CreateIndex(stmt) => return definitions::index(stmt),
        StatementKind::AlterIndex(stmt) => return definitions::alter_index(stmt),
        StatementKind::CreateStatistics(stmt) => return definitions::create_statistics(stmt),
        StatementKind::UpdateStatistics { options, .. } => {
            return definitions::update_statistics(options);
        }
        StatementKind::CreateDatabase(stmt) => return definitions::create_database(stmt),
        StatementKind::AlterDatabase(stmt) => return definitions::alter_database(&stmt.action),
        StatementKind::AlterDatabaseScopedConfiguration(stmt) => {
            return crate::run::scoped_refused(stmt);
        }
        _ => return Ok(()),
    };
    refuse(&what)
}

fn refuse<T>(what: &str) -> SqlResult<T> {
    Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]))
}

fn set(option: &SetOption) -> SqlResult<()> {
    match option {
        SetOption::OnOff { names, on } => names.iter().try_for_each(|n| match n.as_str() {
            "SHOWPLAN_TEXT" | "SHOWPLAN_ALL" | "SHOWPLAN_XML" => Ok(()),
            other if other.starts_with("SHOWPLAN_") && *on => refuse(&format!("SET {other} ON")),
            other if other.starts_with("SHOWPLAN_") => Ok(()),
            other => Options::default().set_switch(other, *on),
        }),
        SetOption::Statistics { names, on } => {
            let known = ["IO", "TIME", "XML", "PROFILE"];
            match names.iter().find(|n| !known.contains(&n.as_str())) {
                Some(other) if *on => refuse(&format!("SET STATISTICS {other}")),
                _ => Ok(()),
            }
        }
        // No limit, as clients say when they come.
        SetOption::Value { name, value } if name == "QUERY_GOVERNOR_COST_LIMIT" => {
            match value.kind == ExprKind::Literal(Literal::Int(0)) {
                true => Ok(()),
                false => refuse("SET QUERY_GOVERNOR_COST_LIMIT"),
            }
        }
        SetOption::Value { name, .. } => {
            let known = [
                "LOCK_TIMEOUT",
                "CONTEXT_INFO",
                "TEXTSIZE",
                "ROWCOUNT",
                "DATEFIRST",
                "DATEFORMAT",
                "LANGUAGE",
                "DEADLOCK_PRIORITY",
            ];
            match known.contains(&name.as_str()) {
                true => Ok(()),
                false => refuse(&format!("SET {name}")),
            }
        }
        SetOption::IdentityInsert { .. } | SetOption::IsolationLevel(_) => Ok(()),
    }
}

fn call(exec: &ast::ExecStmt) -> SqlResult<()> {
    if let Some(option) = exec.options.iter().find(|o| *o != "RECOMPILE") {
        return refuse(&format!("EXECUTE WITH {option}"));
    }
    match &exec.call {
        ExecCall::Text { at: Some(_), .. } => refuse("EXECUTE ... AT"),
        ExecCall::Text { args, .. } if !args.is_empty() => {
            refuse("EXECUTE of a string with parameters")
        }
        ExecCall::Procedure {
            number: Some(_), ..
        } => refuse("numbered procedures"),
        // Calls of the wire, which come as calls and not as text; cursors not even so.
        ExecCall::Procedure { name, .. } => {
            let system = name
                .schema()
                .is_none_or(|s| s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo"));
            let called = name.name().to_ascii_lowercase();
            match system && is_of_the_wire(&called) {
                true => refuse(&called),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn module(stmt: &ast::CreateModule) -> SqlResult<()> {
    // From the third on they say what is so anyway.
    let known = [
        "RECOMPILE",
        "SCHEMABINDING",
        "EXECUTE AS CALLER",
        "CALLED ON NULL INPUT",
        "INLINE = OFF",
    ];
    let inlines = matches!(stmt.kind, ModuleKind::ScalarFunction { .. });
    let unknown = stmt
        .options
        .iter()
        .find(|o| !known.contains(&o.as_str()) || !inlines && o.starts_with("INLINE"));
    let what = match (&stmt.kind, unknown) {
        (_, Some(option)) => format!("WITH {option} of a module"),
        (
            ModuleKind::View {
                check_option: true, ..
            },
            _,
        ) => "WITH CHECK OPTION".to_owned(),
        (
            ModuleKind::Trigger {
                instead_of: true, ..
            },
            _,
        ) => "INSTEAD OF triggers".to_owned(),
        _ => return Ok(()),
    };
    let mut error = SqlError::new(&messages::NOT_SUPPORTED, &[&what]);
    error.procedure = Some(stmt.name.name().to_owned());
    Err(error)
}

fn synonym(name: &ast::ObjectName, target: &ast::ObjectName) -> SqlResult<()> {
    if is_temporary(name) || is_temporary(target) {
        return refuse("CREATE SYNONYM with a temporary object");
    }
    match target.server() {
        Some(_) => refuse("CREATE SYNONYM for an object of a linked server"),
        None => Ok(()),
    }
}

fn permission(stmt: &ast::PermissionStmt) -> SqlResult<()> {
    if stmt.grant_option {
        return refuse("WITH GRANT OPTION and GRANT OPTION FOR");
    }
    let alone = stmt.permissions.len() == 1;
    let known = |name: &String| Right::named(name).is_some() || alone && is_all(name);
    let unknown = |name: &&String| !known(name);
    if let Some(name) = stmt.permissions.iter().find(unknown) {
        return refuse(&format!("the permission {name}"));
    }
    match stmt.on.as_ref().and_then(|(class, _)| class.as_deref()) {
        None | Some("OBJECT" | "SCHEMA" | "DATABASE") => Ok(()),
        Some(other) => refuse(&format!("GRANT ON {other}::")),
    }
}

fn principal(stmt: &ast::PrincipalStmt) -> SqlResult<()> {
    let (known, what): (&[&str], _) = match (stmt.kind.as_str(), stmt.alter) {
        ("SERVER ROLE", false) => return refuse("CREATE SERVER ROLE"),
        ("SERVER ROLE", true) => (&["ADD MEMBER", "DROP MEMBER"], "ALTER SERVER ROLE"),
        ("LOGIN", alter) => {
            let has = |name: &str| stmt.options.iter().any(|o| o.name == name);
            if !alter && !has("PASSWORD") {
                return refuse("CREATE LOGIN without PASSWORD");
            }
            (LOGIN_OPTIONS, "LOGIN ...")
        }
        ("USER", false) => (
            &["FOR LOGIN", "FROM LOGIN", "WITHOUT LOGIN", "DEFAULT_SCHEMA"],
            "CREATE USER ...",
        ),
        ("USER", true) => (&["NAME", "DEFAULT_SCHEMA", "LOGIN"], "ALTER USER ..."),
        (_, false) => (&["AUTHORIZATION"], "CREATE ROLE ..."),
        (_, true) => (&["ADD MEMBER", "DROP MEMBER", "NAME"], "ALTER ROLE ..."),
    };
    let unknown = |o: &&NamedOption| !known.contains(&o.name.as_str());
    match stmt.options.iter().find(unknown) {
        Some(o) => refuse(&format!("{what} {}", o.name)),
        None => Ok(()),
    }
}

const LOGIN_OPTIONS: &[&str] = &[
    "PASSWORD",
    "HASHED",
    "OLD_PASSWORD",
    "UNLOCK",
    "SID",
    "NAME",
    "ENABLE",
    "DISABLE",
    "DEFAULT_DATABASE",
    "DEFAULT_LANGUAGE",
    "CHECK_POLICY",
    "CHECK_EXPIRATION",
];

fn devices(devices: &[ast::BackupDevice]) -> SqlResult<()> {
    let missing = ["TAPE", "URL", "VIRTUAL_DEVICE"];
    let mut kinds = devices.iter().filter_map(|d| d.kind.as_deref());
    match kinds.find(|k| missing.contains(k)) {
        Some(kind) => refuse(&format!("{kind} as a backup device")),
        None => Ok(()),
    }
}
