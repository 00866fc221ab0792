//! What every kind of statement needs: a row each, found by one match without a default.
//!
//! From the sections "Permissions" of the statements' pages on Microsoft Learn. What is stricter here says so.

use duramen_tsql::ast::{
    DropKind, ModuleKind, ModuleMode, PartitionStmt, RestoreKind, StatementKind,
};

use super::needs::{ASKS, CONTROL_SERVER, LOGINS, OWN, OWNER, SETTINGS};
use super::{Need, Needs, Of, Right};

/// A kind of statement and what it needs.
pub(crate) struct Row {
    pub name: &'static str,
    pub needs: Needs,
}

macro_rules! rows {
    ($($id:ident $name:literal $needs:expr;)*) => {
        $(const $id: Row = Row { name: $name, needs: $needs };)*

        /// All of them.
        pub(crate) const ROWS: &[&Row] = &[$(&$id,)*];
    };
}

const fn one(right: Right, of: Of) -> Need {
    Need { right, of }
}

macro_rules! any {
    ($($right:ident $of:ident),+) => { Needs::AnyOf(const { &[$(one(Right::$right, Of::$of)),+] }) };
}

rows! {
    SELECT "SELECT" ASKS;
    SELECT_INTO "SELECT INTO" any!(CreateTable NewObject);
    INSERT "INSERT" any!(Insert Object);
    INSERT_BULK "INSERT BULK" any!(Insert Object);
    UPDATE "UPDATE" any!(Update Object);
    DELETE "DELETE" any!(Delete Object);
    MERGE "MERGE" Needs::NotHere;
    TRUNCATE "TRUNCATE TABLE" any!(Alter Object);
    CREATE_TABLE "CREATE TABLE" any!(CreateTable NewObject);
    ALTER_TABLE "ALTER TABLE" any!(Alter Object);
    CREATE_INDEX "CREATE INDEX" any!(Alter Object);
    ALTER_INDEX "ALTER INDEX" any!(Alter Object);
    DROP_INDEX "DROP INDEX" any!(Alter Object);
    CREATE_STATISTICS "CREATE STATISTICS" any!(Alter Object);
    UPDATE_STATISTICS "UPDATE STATISTICS" any!(Alter Object);
    DROP_STATISTICS "DROP STATISTICS" any!(Alter Object);
    DROP_TABLE "DROP TABLE" any!(Alter Object);
    CREATE_VIEW "CREATE VIEW" any!(CreateView NewObject);
    ALTER_VIEW "ALTER VIEW" any!(Alter Object);
    DROP_VIEW "DROP VIEW" any!(Alter Object);
    CREATE_PROCEDURE "CREATE PROCEDURE" any!(CreateProcedure NewObject);
    ALTER_PROCEDURE "ALTER PROCEDURE" any!(Alter Object);
    DROP_PROCEDURE "DROP PROCEDURE" any!(Alter Object);
    CREATE_FUNCTION "CREATE FUNCTION" any!(CreateFunction NewObject);
    ALTER_FUNCTION "ALTER FUNCTION" any!(Alter Object);
    DROP_FUNCTION "DROP FUNCTION" any!(Alter Object);
    CREATE_TRIGGER "CREATE TRIGGER" any!(Alter Object);
    ALTER_TRIGGER "ALTER TRIGGER" any!(Alter Object);
    DROP_TRIGGER "DROP TRIGGER" any!(Alter Object);
    CREATE_SCHEMA "CREATE SCHEMA" any!(CreateSchema CurrentDatabase);
    ALTER_SCHEMA "ALTER SCHEMA" any!(Control Object);
    DROP_SCHEMA "DROP SCHEMA" any!(Control Schema, AlterAnySchema CurrentDatabase);
    CREATE_TYPE "CREATE TYPE" any!(CreateType NewObject);
    DROP_TYPE "DROP TYPE" any!(Alter Schema);
    CREATE_SYNONYM "CREATE SYNONYM" any!(CreateSynonym NewObject);
    DROP_SYNONYM "DROP SYNONYM" any!(Alter Object);
    CREATE_PARTITION_FUNCTION "CREATE PARTITION FUNCTION" any!(AlterAnyDataspace CurrentDatabase);
    ALTER_PARTITION_FUNCTION "ALTER PARTITION FUNCTION" any!(AlterAnyDataspace CurrentDatabase);
    DROP_PARTITION_FUNCTION "DROP PARTITION FUNCTION" any!(AlterAnyDataspace CurrentDatabase);
    CREATE_PARTITION_SCHEME "CREATE PARTITION SCHEME" any!(AlterAnyDataspace CurrentDatabase);
    ALTER_PARTITION_SCHEME "ALTER PARTITION SCHEME" any!(AlterAnyDataspace CurrentDatabase);
    DROP_PARTITION_SCHEME "DROP PARTITION SCHEME" any!(AlterAnyDataspace CurrentDatabase);
    CREATE_SEQUENCE "CREATE SEQUENCE" Needs::NotHere;
    DROP_SEQUENCE "DROP SEQUENCE" Needs::NotHere;
    DROP_DEFAULT "DROP DEFAULT" Needs::NotHere;
    DROP_RULE "DROP RULE" Needs::NotHere;
    CREATE_LOGIN "CREATE LOGIN" LOGINS;
    ALTER_LOGIN "ALTER LOGIN" LOGINS;
    DROP_LOGIN "DROP LOGIN" LOGINS;
    CREATE_USER "CREATE USER" any!(AlterAnyUser Principals);
    ALTER_USER "ALTER USER" any!(AlterAnyUser Principals);
    DROP_USER "DROP USER" any!(AlterAnyUser Principals);
    CREATE_ROLE "CREATE ROLE" any!(CreateRole Principals);
    ALTER_ROLE "ALTER ROLE" any!(AlterAnyRole Principals);
    DROP_ROLE "DROP ROLE" any!(AlterAnyRole Principals);
    CREATE_SERVER_ROLE "CREATE SERVER ROLE" Needs::NotHere;
    ALTER_SERVER_ROLE "ALTER SERVER ROLE" Needs::Members("the role that it changes");
    PERMISSION "GRANT, DENY, REVOKE" OWNER;
    SERVER_PERMISSION "GRANT, DENY, REVOKE on the server" CONTROL_SERVER;
    ALTER_AUTHORIZATION "ALTER AUTHORIZATION" Needs::Sysadmin;
    CREATE_EVENT_SESSION "CREATE EVENT SESSION" CONTROL_SERVER;
    ALTER_EVENT_SESSION "ALTER EVENT SESSION" CONTROL_SERVER;
    DROP_EVENT_SESSION "DROP EVENT SESSION" CONTROL_SERVER;
    CREATE_DATABASE "CREATE DATABASE" any!(CreateAnyDatabase Server);
    ALTER_DATABASE "ALTER DATABASE" any!(Control NamedDatabase, AlterAnyDatabase Server);
    DROP_DATABASE "DROP DATABASE" any!(Control NamedDatabase, AlterAnyDatabase Server);
    SCOPED_CONFIGURATION "ALTER DATABASE SCOPED CONFIGURATION"
        any!(AlterAnyScopedConfiguration CurrentDatabase);
    BACKUP_DATABASE "BACKUP DATABASE" any!(BackupDatabase NamedDatabase);
    BACKUP_LOG "BACKUP LOG" any!(BackupLog NamedDatabase);
    RESTORE "RESTORE" any!(CreateAnyDatabase Server);
    RESTORE_SHOWS "RESTORE HEADERONLY, FILELISTONLY, LABELONLY, VERIFYONLY, REWINDONLY"
        any!(CreateAnyDatabase Server);
    CHECKPOINT "CHECKPOINT" any!(Checkpoint CurrentDatabase);
    KILL "KILL" any!(AlterAnyConnection Server);
    SHUTDOWN "SHUTDOWN" any!(Shutdown Server);
    RECONFIGURE "RECONFIGURE" SETTINGS;
    DBCC "DBCC" ASKS;
    USE "USE" any!(Connect NamedDatabase);
    EXECUTE "EXECUTE" any!(Execute Object);
    EXECUTE_AS "EXECUTE AS" Needs::NotHere;
    REVERT "REVERT" Needs::NotHere;
    DECLARE_CURSOR "DECLARE CURSOR" Needs::NotHere;
    CURSOR "OPEN, FETCH, CLOSE, DEALLOCATE" Needs::NotHere;
    SET_OPTION "SET" ASKS;
    DECLARE "DECLARE" OWN;
    SET_VARIABLE "SET @variable" OWN;
    FLOW "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" OWN;
    PRINT "PRINT" OWN;
    RAISERROR "RAISERROR, THROW" OWN;
    WAITFOR "WAITFOR" OWN;
    TRANSACTION "BEGIN, COMMIT, ROLLBACK, SAVE TRANSACTION" OWN;
}

/// The row of a statement.
pub(crate) fn row(kind: &StatementKind) -> &'static Row {
    match kind {
        StatementKind::Select(s) => match crate::run::into(s) {
            Some(_) => &SELECT_INTO,
            None => &SELECT,
        },
        StatementKind::Insert(_) => &INSERT,
        StatementKind::InsertBulk(_) => &INSERT_BULK,
        StatementKind::Update(_) => &UPDATE,
        StatementKind::Delete(_) => &DELETE,
        StatementKind::Merge(_) => &MERGE,
        StatementKind::TruncateTable { .. } => &TRUNCATE,
        StatementKind::CreateTable(_) => &CREATE_TABLE,
        StatementKind::AlterTable(_) => &ALTER_TABLE,
        StatementKind::CreateIndex(_) => &CREATE_INDEX,
        StatementKind::AlterIndex(_) => &ALTER_INDEX,
        StatementKind::DropIndex { .. } => &DROP_INDEX,
        StatementKind::CreateStatistics(_) => &CREATE_STATISTICS,
        StatementKind::UpdateStatistics { .. } => &UPDATE_STATISTICS,
        StatementKind::Drop { kind, .. } => drop_row(*kind),
        StatementKind::CreateModule(s) => module_row(&s.kind, s.mode),
        StatementKind::CreateSchema { .. } => &CREATE_SCHEMA,
        StatementKind::AlterSchema { .. } => &ALTER_SCHEMA,
        StatementKind::AlterAuthorization { .. } => &ALTER_AUTHORIZATION,
        StatementKind::Partition(s) => partition_row(s),
        StatementKind::CreateSequence(_) => &CREATE_SEQUENCE,
        StatementKind::CreateType(_) => &CREATE_TYPE,
        StatementKind::CreateSynonym { .. } => &CREATE_SYNONYM,
        StatementKind::Principal(s) => match (s.kind.as_str(), s.alter) {
            ("LOGIN", false) => &CREATE_LOGIN,
            ("LOGIN", true) => &ALTER_LOGIN,
            ("SERVER ROLE", false) => &CREATE_SERVER_ROLE,
            ("SERVER ROLE", true) => &ALTER_SERVER_ROLE,
            ("USER", false) => &CREATE_USER,
            ("USER", true) => &ALTER_USER,
            (_, false) => &CREATE_ROLE,
            (_, true) => &ALTER_ROLE,
        },
        StatementKind::Permission(s) => {
            let of_server = |p: &String| Right::named(p).is_some_and(Right::is_of_server);
            match s.on.is_none() && s.permissions.iter().any(of_server) {
                true => &SERVER_PERMISSION,
                false => &PERMISSION,
            }
        }
        StatementKind::CreateEventSession(_) => &CREATE_EVENT_SESSION,
        StatementKind::AlterEventSession(_) => &ALTER_EVENT_SESSION,
        StatementKind::DropEventSession { .. } => &DROP_EVENT_SESSION,
        StatementKind::CreateDatabase(_) => &CREATE_DATABASE,
        StatementKind::AlterDatabase(_) => &ALTER_DATABASE,
        StatementKind::DropDatabase { .. } => &DROP_DATABASE,
        StatementKind::AlterDatabaseScopedConfiguration(_) => &SCOPED_CONFIGURATION,
        StatementKind::Backup(s) => match s.log {
            true => &BACKUP_LOG,
            false => &BACKUP_DATABASE,
        },
        StatementKind::Restore(s) => match s.kind {
            RestoreKind::Database | RestoreKind::Log => &RESTORE,
            RestoreKind::RewindOnly
            | RestoreKind::VerifyOnly
            | RestoreKind::HeaderOnly
            | RestoreKind::FileListOnly
            | RestoreKind::LabelOnly => &RESTORE_SHOWS,
        },
        StatementKind::Declare(_) | StatementKind::DeclareTable { .. } => &DECLARE,
        StatementKind::DeclareCursor(_) => &DECLARE_CURSOR,
        StatementKind::Cursor(_) => &CURSOR,
        StatementKind::SetVariable { .. } => &SET_VARIABLE,
        StatementKind::SetOption(_) => &SET_OPTION,
        StatementKind::If { .. }
        | StatementKind::While { .. }
        | StatementKind::Block(_)
        | StatementKind::TryCatch { .. }
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => &FLOW,
        StatementKind::Print(_) => &PRINT,
        StatementKind::RaiseError(_) | StatementKind::Throw(_) => &RAISERROR,
        StatementKind::WaitFor { .. } => &WAITFOR,
        StatementKind::BeginTran { .. }
        | StatementKind::Commit { .. }
        | StatementKind::Rollback { .. }
        | StatementKind::SaveTran { .. } => &TRANSACTION,
        StatementKind::Use(_) => &USE,
        StatementKind::Exec(_) => &EXECUTE,
        StatementKind::ExecuteAs { .. } => &EXECUTE_AS,
        StatementKind::Revert => &REVERT,
        StatementKind::Dbcc(_) => &DBCC,
        StatementKind::Checkpoint(_) => &CHECKPOINT,
        StatementKind::Shutdown { .. } => &SHUTDOWN,
        StatementKind::Kill { .. } => &KILL,
        StatementKind::Reconfigure { .. } => &RECONFIGURE,
    }
}

fn drop_row(kind: DropKind) -> &'static Row {
    match kind {
        DropKind::Table => &DROP_TABLE,
        DropKind::View => &DROP_VIEW,
        DropKind::Procedure => &DROP_PROCEDURE,
        DropKind::Function => &DROP_FUNCTION,
        DropKind::Trigger => &DROP_TRIGGER,
        DropKind::Statistics => &DROP_STATISTICS,
        DropKind::Schema => &DROP_SCHEMA,
        DropKind::Type => &DROP_TYPE,
        DropKind::Synonym => &DROP_SYNONYM,
        DropKind::Login => &DROP_LOGIN,
        DropKind::User => &DROP_USER,
        DropKind::Role => &DROP_ROLE,
        DropKind::Sequence => &DROP_SEQUENCE,
        DropKind::Default => &DROP_DEFAULT,
        DropKind::Rule => &DROP_RULE,
    }
}

fn module_row(kind: &ModuleKind, mode: ModuleMode) -> &'static Row {
    let alter = mode == ModuleMode::Alter;
    match (kind, alter) {
        (ModuleKind::View { .. }, false) => &CREATE_VIEW,
        (ModuleKind::View { .. }, true) => &ALTER_VIEW,
        (ModuleKind::Procedure { .. }, false) => &CREATE_PROCEDURE,
        (ModuleKind::Procedure { .. }, true) => &ALTER_PROCEDURE,
        (ModuleKind::Trigger { .. }, false) => &CREATE_TRIGGER,
        (ModuleKind::Trigger { .. }, true) => &ALTER_TRIGGER,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            false,
        ) => &CREATE_FUNCTION,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            true,
        ) => &ALTER_FUNCTION,
    }
}

fn partition_row(stmt: &PartitionStmt) -> &'static Row {
    match stmt {
        PartitionStmt::CreateFunction { .. } => &CREATE_PARTITION_FUNCTION,
        PartitionStmt::AlterFunction { .. } => &ALTER_PARTITION_FUNCTION,
        PartitionStmt::DropFunction(_) => &DROP_PARTITION_FUNCTION,
        PartitionStmt::CreateScheme { .. } => &CREATE_PARTITION_SCHEME,
        PartitionStmt::AlterScheme { .. } => &ALTER_PARTITION_SCHEME,
        PartitionStmt::DropScheme(_) => &DROP_PARTITION_SCHEME,
    }
}

/// What a SET option needs; `None` for one that is not here. Which of several an option is does not matter to its right.
pub(crate) fn of_option(name: &str) -> Option<Needs> {
    OPTIONS
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, needs)| *needs)
}

/// The plan of a statement tells of the data that it is made for.
const PLANS: Needs = any!(Showplan CurrentDatabase);

/// SET options by name; those of STATISTICS with that word.
pub(crate) const OPTIONS: &[(&str, Needs)] = &[
    ("ANSI_DEFAULTS", OWN),
    ("ANSI_NULLS", OWN),
    ("ANSI_NULL_DFLT_OFF", OWN),
    ("ANSI_NULL_DFLT_ON", OWN),
    ("ANSI_PADDING", OWN),
    ("ANSI_WARNINGS", OWN),
    ("ARITHABORT", OWN),
    ("ARITHIGNORE", OWN),
    ("CONCAT_NULL_YIELDS_NULL", OWN),
    ("CONTEXT_INFO", OWN),
    ("CURSOR_CLOSE_ON_COMMIT", OWN),
    ("DATEFIRST", OWN),
    ("DATEFORMAT", OWN),
    ("DEADLOCK_PRIORITY", OWN),
    ("FMTONLY", OWN),
    ("FORCEPLAN", OWN),
    ("IDENTITY_INSERT", any!(Alter Object)),
    ("IMPLICIT_TRANSACTIONS", OWN),
    ("LANGUAGE", OWN),
    ("LOCK_TIMEOUT", OWN),
    ("NOCOUNT", OWN),
    ("NOEXEC", OWN),
    ("NO_BROWSETABLE", OWN),
    ("NUMERIC_ROUNDABORT", OWN),
    ("PARSEONLY", OWN),
    ("QUERY_GOVERNOR_COST_LIMIT", OWN),
    ("QUOTED_IDENTIFIER", OWN),
    ("REMOTE_PROC_TRANSACTIONS", OWN),
    ("ROWCOUNT", OWN),
    ("SHOWPLAN_ALL", PLANS),
    ("SHOWPLAN_TEXT", PLANS),
    ("SHOWPLAN_XML", PLANS),
    ("STATISTICS IO", OWN),
    ("STATISTICS PROFILE", PLANS),
    ("STATISTICS TIME", OWN),
    ("STATISTICS XML", PLANS),
    ("TEXTSIZE", OWN),
    ("TRANSACTION ISOLATION LEVEL", OWN),
    ("XACT_ABORT", OWN),
];
