//! One row a procedure that is code: what it is called, which code it is, what it needs of its caller, what it takes.

use duramen_catalog::ObjectKind;
use duramen_types::SqlType;

use super::{EXTENDED, Fallback, Parameter, Procedure, Row, Takes};
use crate::rights::needs::{ASKS, CONTROL_SERVER, FACTS, LOGINS, OWN, OWNER};
use crate::rights::{Need, Needs, Of, Right};

const PROCEDURE: ObjectKind = ObjectKind::PROCEDURE;
const SYSNAME: SqlType = SqlType::SYSNAME;
const INT: SqlType = SqlType::INT;
const TEXT: SqlType = SqlType::NVARCHAR_MAX;

/// What names the object that it changes.
const ALTERS: Needs = Needs::AnyOf(&[Need {
    right: Right::Alter,
    of: Of::Object,
}]);

const DETACHES: Needs = Needs::AnyOf(&[
    Need {
        right: Right::Control,
        of: Of::NamedDatabase,
    },
    Need {
        right: Right::AlterAnyDatabase,
        of: Of::Server,
    },
]);

const LOGS: Needs = Needs::AnyOf(&[
    Need {
        right: Right::ControlServer,
        of: Of::Server,
    },
    Need {
        right: Right::Control,
        of: Of::Master,
    },
]);

const FLUSHES: Needs = Needs::Public("makes durable what is committed");

const fn needed(name: &'static str, ty: SqlType) -> Parameter {
    Parameter {
        name,
        also: "",
        ty,
        without: Fallback::Needed,
        output: false,
    }
}

const fn may(name: &'static str, ty: SqlType, without: Fallback) -> Parameter {
    Parameter {
        without,
        ..needed(name, ty)
    }
}

const NULL: Fallback = Fallback::Null;

/// What extended properties are of, level by level.
const LEVEL: SqlType = SqlType::varchar(128);
const LEVELS: [Parameter; 6] = [
    may("@level0type", LEVEL, NULL),
    may("@level0name", SYSNAME, NULL),
    may("@level1type", LEVEL, NULL),
    may("@level1name", SYSNAME, NULL),
    may("@level2type", LEVEL, NULL),
    may("@level2name", SYSNAME, NULL),
];
const PROPERTY: &[Parameter] = &[
    needed("@name", SYSNAME),
    may("@value", SqlType::VARIANT, NULL),
    LEVELS[0],
    LEVELS[1],
    LEVELS[2],
    LEVELS[3],
    LEVELS[4],
    LEVELS[5],
];
const DROPPED_PROPERTY: &[Parameter] = &[
    needed("@name", SYSNAME),
    LEVELS[0],
    LEVELS[1],
    LEVELS[2],
    LEVELS[3],
    LEVELS[4],
    LEVELS[5],
];

/// The documentation gives the parameters of those that read the error log no names; scripts call them so.
const LOG: [Parameter; 7] = [
    may("@p1", INT, Fallback::Number(0)),
    may("@p2", INT, Fallback::Number(1)),
    may("@p3", SqlType::nvarchar(4000), NULL),
    may("@p4", SqlType::nvarchar(4000), NULL),
    may("@p5", SqlType::DATETIME, NULL),
    may("@p6", SqlType::DATETIME, NULL),
    may("@p7", SqlType::nvarchar(8), Fallback::Text("asc")),
];
const FOUR_OF_LOG: &[Parameter] = &[LOG[0], LOG[1], LOG[2], LOG[3]];
const LIST_OF_LOGS: &[Parameter] = &[may("@p1", INT, Fallback::Number(1))];

const REGISTRY: &[Parameter] = &[
    needed("@rootkey", SYSNAME),
    needed("@key", SqlType::nvarchar(4000)),
    needed("@value_name", SqlType::nvarchar(4000)),
    Parameter {
        output: true,
        ..may("@value", SqlType::VARIANT, NULL)
    },
    may("@no_output", SqlType::varchar(9), NULL),
];

const DESCRIBED: Parameter = Parameter {
    also: "@stmt",
    ..needed("@tsql", TEXT)
};
const DECLARED: Parameter = Parameter {
    also: "@parameters",
    ..may("@params", TEXT, NULL)
};
const TRANSACTION: Fallback = Fallback::Text("Transaction");
const PUBLIC: Fallback = Fallback::Text("public");
const OWNER_OF_LOCK: SqlType = SqlType::varchar(32);
const LOCKED: Parameter = may("@Resource", SqlType::nvarchar(255), Fallback::Nothing);

const fn row(
    name: &'static str,
    procedure: Procedure,
    needs: Needs,
    parameters: &'static [Parameter],
    does: &'static str,
) -> Row {
    Row {
        name,
        procedure,
        kind: PROCEDURE,
        needs,
        takes: Takes::Declared,
        parameters,
        does,
    }
}

/// As [`row`], of what SQL Server has as code.
const fn extended(row: Row) -> Row {
    Row {
        kind: EXTENDED,
        ..row
    }
}

/// As [`extended`], for which arguments count by their places.
const fn by_place(row: Row) -> Row {
    Row {
        takes: Takes::ByPlace,
        ..extended(row)
    }
}

/// A call of the wire.
const fn wire(name: &'static str, needs: Needs) -> Row {
    let does = "called by drivers, over the wire only";
    extended(row(name, Procedure::Wire, needs, &[], does))
}

/// By name.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("sp_addextendedproperty", Procedure::AddProperty, ALTERS, PROPERTY,
        "adds an extended property"),
    row("sp_cycle_errorlog", Procedure::CycleErrorLog, CONTROL_SERVER, &[],
        "begins a new error log"),
    extended(row("sp_describe_first_result_set", Procedure::DescribeFirstResultSet, ASKS,
        &[DESCRIBED, DECLARED, may("@browse_information_mode", SqlType::TINYINT, Fallback::Number(0))],
        "tells the columns that a text would give first")),
    extended(row("sp_describe_undeclared_parameters", Procedure::DescribeUndeclaredParameters, ASKS,
        &[DESCRIBED, DECLARED],
        "tells the parameters that a text uses and does not declare")),
    row("sp_detach_db", Procedure::DetachDb, DETACHES,
        &[needed("@dbname", SYSNAME), may("@skipchecks", SqlType::nvarchar(10), NULL),
          may("@keepfulltextindexfile", SqlType::nvarchar(10), Fallback::Text("true"))],
        "takes a database off the server and leaves its files"),
    row("sp_dropextendedproperty", Procedure::DropProperty, ALTERS, DROPPED_PROPERTY,
        "drops an extended property"),
    row("sp_enumerrorlogs", Procedure::ListErrorLogs, LOGINS, LIST_OF_LOGS,
        "lists the error logs"),
    wire("sp_execute", ASKS),
    extended(row("sp_executesql", Procedure::ExecuteSql, ASKS,
        &[Parameter { also: "@stmt", ..needed("@statement", TEXT) },
          Parameter { also: "@params", ..may("@parameters", TEXT, NULL) }],
        "runs a text with parameters")).variadic(),
    extended(row("sp_flush_log", Procedure::FlushLog, FLUSHES, &[],
        "makes durable what delayed durability holds back")),
    row("sp_getapplock", Procedure::GetAppLock, OWN,
        &[LOCKED, needed("@LockMode", OWNER_OF_LOCK), may("@LockOwner", OWNER_OF_LOCK, TRANSACTION),
          may("@LockTimeout", INT, NULL), may("@DbPrincipal", SYSNAME, PUBLIC)],
        "takes an application's lock"),
    wire("sp_prepare", ASKS),
    wire("sp_prepexec", ASKS),
    wire("sp_prepexecrpc", ASKS),
    row("sp_readerrorlog", Procedure::ReadErrorLog, LOGINS, FOUR_OF_LOG,
        "reads an error log"),
    row("sp_refreshsqlmodule", Procedure::RefreshModule, ALTERS,
        &[needed("@name", SqlType::nvarchar(776)), may("@namespace", SqlType::nvarchar(20), Fallback::Text("OBJECT"))],
        "brings up to date what is kept of a module"),
    row("sp_refreshview", Procedure::RefreshModule, ALTERS, &[needed("@viewname", SqlType::nvarchar(776))],
        "brings up to date what is kept of a view"),
    row("sp_releaseapplock", Procedure::ReleaseAppLock, OWN,
        &[LOCKED, may("@LockOwner", OWNER_OF_LOCK, TRANSACTION), may("@DbPrincipal", SYSNAME, PUBLIC)],
        "gives an application's lock back"),
    row("sp_rename", Procedure::Rename, OWNER,
        &[needed("@objname", SqlType::nvarchar(1035)), needed("@newname", SYSNAME),
          may("@objtype", SqlType::varchar(13), NULL)],
        "gives another name to an object, a column, an index or a database"),
    extended(row("sp_set_session_context", Procedure::SetSessionContext, OWN,
        &[needed("@key", SYSNAME), needed("@value", SqlType::VARIANT), may("@read_only", SqlType::BIT, Fallback::Number(0))],
        "sets a key of the session's context")),
    wire("sp_unprepare", OWN),
    row("sp_updateextendedproperty", Procedure::UpdateProperty, ALTERS, PROPERTY,
        "changes an extended property"),
    by_place(row("xp_enumerrorlogs", Procedure::ListErrorLogs, LOGINS, LIST_OF_LOGS,
        "lists the error logs")),
    by_place(row("xp_instance_regread", Procedure::RegistryRead, FACTS, REGISTRY,
        "reads a value of the instance's registry")),
    by_place(row("xp_logevent", Procedure::LogEvent, LOGS,
        &[needed("@error_number", INT), needed("@message", SqlType::nvarchar(2048)),
          may("@severity", SqlType::varchar(16), Fallback::Text("informational"))],
        "writes into the error log")),
    by_place(row("xp_readerrorlog", Procedure::ReadErrorLog, LOGINS, &LOG,
        "reads an error log")),
    by_place(row("xp_regread", Procedure::RegistryRead, FACTS, REGISTRY,
        "reads a value of the registry")),
];
