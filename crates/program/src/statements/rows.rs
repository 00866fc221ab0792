//! The statements: a row a kind, and which row a statement has.
//!
//! Commands of DONE tokens are those that SQL Server sends, and 0xFD where no client is known to look at them. Rights are from
//! the sections "Permissions" of the statements' pages on Microsoft Learn; what is stricter here says so in `tests/rights.tsv`.

use duramen_tsql::ast::{
    self, DropKind, ModuleKind, ModuleMode, PartitionStmt, RestoreKind, StatementKind,
};

use super::command::{
    BEGIN, COMMIT, DELETE, EXECUTE, INSERT, OTHER, ROLLBACK, SELECT, SET, UPDATE,
};
use super::{
    ALONE, APART, Audit, COUNTS, DEFINES, FUNCTION, LONG, NO_TRIGGER, PLAN, SHORT, Statement,
    WRITES,
};
use crate::event_classes::class;
use crate::rights::needs::{ASKS, CONTROL_SERVER, LOGINS, OWN, OWNER, SETTINGS};
use crate::rights::{Need, Needs, Of, Right};

const fn one(right: Right, of: Of) -> Need {
    Need { right, of }
}

macro_rules! any {
    ($($right:ident $of:ident),+) => { Needs::AnyOf(const { &[$(one(Right::$right, Of::$of)),+] }) };
}

/// What a showplan calls a statement: its name, but where that is another.
macro_rules! shown {
    ($name:literal) => {
        $name
    };
    ($name:literal $shown:literal) => {
        $shown
    };
}

/// kind, name (and what a showplan calls it, where that is another); DONE, transaction, request; traits; audit; rights; what it does.
macro_rules! statements {
    ($($kind:ident $name:literal $(as $shown:literal)?, $done:expr, $transaction:literal, $request:literal, [$($trait:ident)*], $audit:expr, $needs:expr,
        $does:literal;)*) => {
        /// Which statement it is.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Kind {
            $($kind,)*
        }

        /// All rows, in the order of [`Kind`].
        pub static ROWS: &[Statement] = &[$(Statement {
            name: $name,
            shown: shown!($name $($shown)?),
            done: $done,
            transaction: $transaction,
            request: $request,
            traits: 0 $(| $trait)*,
            audit: $audit,
            needs: $needs,
            does: $does,
        },)*];
    };
}

const NOTHING: Audit = Audit::Nothing;
const MADE: Audit = Audit::Objects(class::OBJECT_CREATED);
const CHANGED: Audit = Audit::Objects(class::OBJECT_ALTERED);
const GONE: Audit = Audit::Objects(class::OBJECT_DELETED);

statements! {
    Select "SELECT", SELECT, "SELECT", "SELECT", [COUNTS PLAN FUNCTION LONG], NOTHING, ASKS,
        "reads rows";
    SelectInto "SELECT INTO", SELECT, "SELECT INTO", "SELECT INTO", [COUNTS PLAN WRITES LONG], NOTHING,
        any!(CreateTable NewObject), "makes a table of the rows of a query";
    Insert "INSERT", INSERT, "INSERT", "INSERT", [COUNTS PLAN FUNCTION WRITES LONG], NOTHING,
        any!(Insert Object), "adds rows";
    InsertBulk "INSERT BULK", INSERT, "INSERT BULK", "BULK INSERT", [COUNTS WRITES SHORT], NOTHING,
        any!(Insert Object), "takes the rows that a client sends next";
    Update "UPDATE", UPDATE, "UPDATE", "UPDATE", [COUNTS PLAN FUNCTION WRITES LONG], NOTHING,
        any!(Update Object), "changes rows";
    Delete "DELETE", DELETE, "DELETE", "DELETE", [COUNTS PLAN FUNCTION WRITES LONG], NOTHING,
        any!(Delete Object), "removes rows";
    Merge "MERGE", OTHER, "MERGE", "MERGE", [WRITES SHORT], NOTHING, Needs::NotHere,
        "adds, changes and removes rows by those of another table";
    TruncateTable "TRUNCATE TABLE", OTHER, "TRUNCATE TABLE", "TRUNCATE TABLE", [DEFINES WRITES LONG], NOTHING,
        any!(Alter Object), "removes all rows of a table or of partitions, by the page";

    CreateTable "CREATE TABLE", 0xC6, "CREATE TABLE", "CREATE TABLE", [DEFINES WRITES LONG], MADE,
        any!(CreateTable NewObject), "makes a table";
    AlterTable "ALTER TABLE", 0xD8, "ALTER TABLE", "ALTER TABLE", [DEFINES WRITES LONG], CHANGED,
        any!(Alter Object), "changes columns, constraints, triggers and partitions of a table";
    DropTable "DROP TABLE", 0xC7, "DROPOBJ", "DROP TABLE", [DEFINES WRITES LONG], GONE,
        any!(Alter Object), "removes tables";
    CreateIndex "CREATE INDEX", 0xC8, "CREATE INDEX", "CREATE INDEX", [DEFINES WRITES LONG], MADE,
        any!(Alter Object), "makes an index";
    AlterIndex "ALTER INDEX", OTHER, "ALTER INDEX", "ALTER INDEX", [DEFINES WRITES LONG], CHANGED,
        any!(Alter Object), "rebuilds, reorganizes or disables indexes, or sets their options";
    DropIndex "DROP INDEX", 0xC9, "DROP INDEX", "DROP INDEX", [DEFINES WRITES LONG], GONE,
        any!(Alter Object), "removes indexes";
    CreateStatistics "CREATE STATISTICS", OTHER, "CREATE STATISTICS", "CREATE STATISTICS", [DEFINES WRITES LONG], MADE,
        any!(Alter Object), "makes statistics of columns";
    UpdateStatistics "UPDATE STATISTICS", OTHER, "UPDATE STATISTICS", "UPDATE STATISTICS", [DEFINES WRITES LONG], NOTHING,
        any!(Alter Object), "counts the statistics of a table anew";
    DropStatistics "DROP STATISTICS", OTHER, "DROP STATISTICS", "DROP STATISTICS", [DEFINES WRITES SHORT], NOTHING,
        any!(Alter Object), "removes statistics";
    CreateView "CREATE VIEW", OTHER, "CREATE MODULE", "CREATE VIEW", [DEFINES WRITES LONG], MADE,
        any!(CreateView NewObject), "makes a view";
    AlterView "ALTER VIEW", OTHER, "CREATE MODULE", "ALTER VIEW", [DEFINES WRITES SHORT], CHANGED,
        any!(Alter Object), "gives a view another text";
    DropView "DROP VIEW", OTHER, "DROPOBJ", "DROP VIEW", [DEFINES WRITES SHORT], GONE,
        any!(Alter Object), "removes views";
    CreateProcedure "CREATE PROCEDURE", OTHER, "CREATE MODULE", "CREATE PROCEDURE", [DEFINES WRITES LONG], MADE,
        any!(CreateProcedure NewObject), "makes a procedure";
    AlterProcedure "ALTER PROCEDURE", OTHER, "CREATE MODULE", "ALTER PROCEDURE", [DEFINES WRITES SHORT], CHANGED,
        any!(Alter Object), "gives a procedure another text";
    DropProcedure "DROP PROCEDURE", OTHER, "DROPOBJ", "DROP PROCEDURE", [DEFINES WRITES SHORT], GONE,
        any!(Alter Object), "removes procedures";
    CreateFunction "CREATE FUNCTION", OTHER, "CREATE MODULE", "CREATE FUNCTION", [DEFINES WRITES SHORT], MADE,
        any!(CreateFunction NewObject), "makes a function";
    AlterFunction "ALTER FUNCTION", OTHER, "CREATE MODULE", "ALTER FUNCTION", [DEFINES WRITES SHORT], CHANGED,
        any!(Alter Object), "gives a function another text";
    DropFunction "DROP FUNCTION", OTHER, "DROPOBJ", "DROP FUNCTION", [DEFINES WRITES SHORT], GONE,
        any!(Alter Object), "removes functions";
    CreateTrigger "CREATE TRIGGER", OTHER, "CREATE MODULE", "CREATE TRIGGER", [DEFINES WRITES SHORT], MADE,
        any!(Alter Object), "makes a trigger";
    AlterTrigger "ALTER TRIGGER", OTHER, "CREATE MODULE", "ALTER TRIGGER", [DEFINES WRITES SHORT], CHANGED,
        any!(Alter Object), "gives a trigger another text";
    DropTrigger "DROP TRIGGER", OTHER, "DROPOBJ", "DROP TRIGGER", [DEFINES WRITES SHORT], GONE,
        any!(Alter Object), "removes triggers";
    CreateSchema "CREATE SCHEMA", OTHER, "CREATE SCHEMA", "CREATE SCHEMA", [DEFINES WRITES SHORT], Audit::Schema,
        any!(CreateSchema CurrentDatabase), "makes a schema";
    AlterSchema "ALTER SCHEMA", OTHER, "ALTER SCHEMA", "ALTER SCHEMA", [DEFINES WRITES SHORT], NOTHING,
        any!(Control Object), "takes an object into a schema";
    DropSchema "DROP SCHEMA", OTHER, "DROP SCHEMA", "DROP SCHEMA", [DEFINES WRITES SHORT], NOTHING,
        any!(Control Schema, AlterAnySchema CurrentDatabase), "removes a schema";
    CreateType "CREATE TYPE", 0x111, "CREATE TYPE", "CREATE TYPE", [DEFINES WRITES SHORT], NOTHING,
        any!(CreateType NewObject), "makes an alias type or a table type";
    DropType "DROP TYPE", 0x110, "DROP TYPE", "DROP TYPE", [DEFINES WRITES SHORT], NOTHING,
        any!(Alter Schema), "removes types";
    CreateSynonym "CREATE SYNONYM", OTHER, "CREATE SYNONYM", "CREATE SYNONYM", [DEFINES WRITES SHORT], NOTHING,
        any!(CreateSynonym NewObject), "makes another name for an object";
    DropSynonym "DROP SYNONYM", OTHER, "DROPOBJ", "DROP SYNONYM", [DEFINES WRITES SHORT], NOTHING,
        any!(Alter Object), "removes synonyms";
    CreatePartitionFunction "CREATE PARTITION FUNCTION", OTHER, "CREATE PARTITION FUNCTION", "CREATE PARTITION FUNCTION",
        [DEFINES WRITES SHORT], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says at which values partitions begin";
    AlterPartitionFunction "ALTER PARTITION FUNCTION", OTHER, "ALTER PARTITION FUNCTION", "ALTER PARTITION FUNCTION",
        [DEFINES WRITES LONG], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "splits a partition, or merges two";
    DropPartitionFunction "DROP PARTITION FUNCTION", OTHER, "DROP PARTITION FUNCTION", "DROP PARTITION FUNCTION",
        [DEFINES WRITES SHORT], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "removes a partition function";
    CreatePartitionScheme "CREATE PARTITION SCHEME", OTHER, "CREATE PARTITION SCHEME", "CREATE PARTITION SCHEME",
        [DEFINES WRITES SHORT], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says where partitions lie";
    AlterPartitionScheme "ALTER PARTITION SCHEME", OTHER, "ALTER PARTITION SCHEME", "ALTER PARTITION SCHEME",
        [DEFINES WRITES SHORT], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says where the next partition lies";
    DropPartitionScheme "DROP PARTITION SCHEME", OTHER, "DROP PARTITION SCHEME", "DROP PARTITION SCHEME",
        [DEFINES WRITES SHORT], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "removes a partition scheme";
    CreateSequence "CREATE SEQUENCE", OTHER, "CREATE SEQUENCE", "CREATE SEQUENCE", [DEFINES WRITES SHORT], NOTHING,
        Needs::NotHere, "makes a sequence of numbers";
    DropSequence "DROP SEQUENCE", OTHER, "DROPOBJ", "DROP SEQUENCE", [DEFINES WRITES SHORT], NOTHING,
        Needs::NotHere, "removes sequences";
    DropDefault "DROP DEFAULT", OTHER, "DROPOBJ", "DROP DEFAULT", [DEFINES WRITES SHORT], NOTHING,
        Needs::NotHere, "removes defaults of the old kind";
    DropRule "DROP RULE", OTHER, "DROPOBJ", "DROP RULE", [DEFINES WRITES SHORT], NOTHING,
        Needs::NotHere, "removes rules";

    CreateLogin "CREATE LOGIN", OTHER, "CREATE LOGIN", "CREATE LOGIN", [DEFINES SHORT], NOTHING, LOGINS,
        "makes a login";
    AlterLogin "ALTER LOGIN", OTHER, "ALTER LOGIN", "ALTER LOGIN", [DEFINES SHORT], NOTHING, LOGINS,
        "changes a login";
    DropLogin "DROP LOGIN", OTHER, "DROP LOGIN", "DROP LOGIN", [DEFINES SHORT], NOTHING, LOGINS,
        "removes a login";
    CreateUser "CREATE USER", OTHER, "CREATE USER", "CREATE USER", [DEFINES WRITES SHORT], NOTHING,
        any!(AlterAnyUser Principals), "makes a user of a login in a database";
    AlterUser "ALTER USER", OTHER, "ALTER USER", "ALTER USER", [DEFINES WRITES SHORT], NOTHING,
        any!(AlterAnyUser Principals), "changes a user";
    DropUser "DROP USER", OTHER, "DROP USER", "DROP USER", [DEFINES WRITES SHORT], NOTHING,
        any!(AlterAnyUser Principals), "removes a user";
    CreateRole "CREATE ROLE", OTHER, "CREATE ROLE", "CREATE ROLE", [DEFINES WRITES SHORT], NOTHING,
        any!(CreateRole Principals), "makes a role of a database";
    AlterRole "ALTER ROLE", OTHER, "ALTER ROLE", "ALTER ROLE", [DEFINES WRITES SHORT], NOTHING,
        any!(AlterAnyRole Principals), "adds and drops members of a role, or names it";
    DropRole "DROP ROLE", OTHER, "DROP USER", "DROP ROLE", [DEFINES WRITES SHORT], NOTHING,
        any!(AlterAnyRole Principals), "removes a role";
    CreateServerRole "CREATE SERVER ROLE", OTHER, "CREATE SERVER ROLE", "CREATE SERVER ROLE", [DEFINES SHORT], NOTHING,
        Needs::NotHere, "makes a role of the server";
    AlterServerRole "ALTER SERVER ROLE", OTHER, "ALTER SERVER ROLE", "ALTER SERVER ROLE", [DEFINES SHORT], NOTHING,
        Needs::Members("the role that it changes"), "adds and drops members of a role of the server";
    Permission "GRANT, DENY, REVOKE", OTHER, "GRANT", "GRANT", [DEFINES WRITES SHORT], NOTHING, OWNER,
        "gives a right in a database, denies it or takes it back";
    ServerPermission "GRANT, DENY, REVOKE on the server", OTHER, "GRANT", "GRANT", [DEFINES SHORT], NOTHING, CONTROL_SERVER,
        "gives a right on the server, denies it or takes it back";
    AlterAuthorization "ALTER AUTHORIZATION", OTHER, "ALTER AUTHORIZATION", "ALTER AUTHORIZATION", [DEFINES WRITES SHORT], NOTHING,
        Needs::Sysadmin, "gives a database another owner";
    CreateEventSession "CREATE EVENT SESSION", OTHER, "CREATE EVENT SESSION", "CREATE EVENT SESSION", [ALONE SHORT], NOTHING,
        CONTROL_SERVER, "makes a session of Extended Events";
    AlterEventSession "ALTER EVENT SESSION", OTHER, "ALTER EVENT SESSION", "ALTER EVENT SESSION", [ALONE SHORT], NOTHING,
        CONTROL_SERVER, "changes, starts or stops a session of Extended Events";
    DropEventSession "DROP EVENT SESSION", OTHER, "DROP EVENT SESSION", "DROP EVENT SESSION", [ALONE SHORT], NOTHING,
        CONTROL_SERVER, "removes a session of Extended Events";

    CreateDatabase "CREATE DATABASE", 0xCB, "CREATE DATABASE", "CREATE DATABASE", [ALONE NO_TRIGGER LONG],
        Audit::Databases(class::OBJECT_CREATED), any!(CreateAnyDatabase Server), "makes a database, or attaches its files";
    AlterDatabase "ALTER DATABASE", OTHER, "ALTER DATABASE", "ALTER DATABASE", [ALONE NO_TRIGGER LONG],
        Audit::Databases(class::OBJECT_ALTERED), any!(Control NamedDatabase, AlterAnyDatabase Server),
        "changes files, options, name or collation of a database";
    DropDatabase "DROP DATABASE", 0xCC, "DROP DATABASE", "DROP DATABASE", [ALONE NO_TRIGGER LONG],
        Audit::Databases(class::OBJECT_DELETED), any!(Control NamedDatabase, AlterAnyDatabase Server),
        "removes databases and their files";
    ScopedConfiguration "ALTER DATABASE SCOPED CONFIGURATION", OTHER, "ALTER DATABASE SCOPED CONFIGURATION",
        "ALTER DATABASE SCOPED CONFIGURATION", [ALONE SHORT], NOTHING, any!(AlterAnyScopedConfiguration CurrentDatabase),
        "sets COMMIT_WAIT, LOG_PROFILE, MAXDOP and the like for a database";
    BackupDatabase "BACKUP DATABASE", OTHER, "BACKUP DATABASE", "BACKUP DATABASE", [APART LONG], Audit::Media(1),
        any!(BackupDatabase NamedDatabase), "copies a database while it is used";
    BackupLog "BACKUP LOG", OTHER, "BACKUP LOG", "BACKUP LOG", [APART LONG], Audit::Media(3),
        any!(BackupLog NamedDatabase), "copies what the log has since the last copy, and lets it be reused";
    RestoreDatabase "RESTORE DATABASE", OTHER, "RESTORE DATABASE", "RESTORE DATABASE", [NO_TRIGGER APART LONG], Audit::Media(2),
        any!(CreateAnyDatabase Server), "makes a database of a copy";
    RestoreLog "RESTORE LOG", OTHER, "RESTORE LOG", "RESTORE LOG", [NO_TRIGGER APART LONG], Audit::Media(2),
        any!(CreateAnyDatabase Server), "brings a restored database further, by a copy of its log";
    RestoreHeaderOnly "RESTORE HEADERONLY", OTHER, "RESTORE HEADERONLY", "RESTORE HEADERONLY", [LONG], NOTHING,
        any!(CreateAnyDatabase Server), "lists the copies on a medium";
    RestoreFileListOnly "RESTORE FILELISTONLY", OTHER, "RESTORE FILELISTONLY", "RESTORE FILELISTONLY", [SHORT], NOTHING,
        any!(CreateAnyDatabase Server), "lists the files of a copy";
    RestoreLabelOnly "RESTORE LABELONLY", OTHER, "RESTORE LABELONLY", "RESTORE LABELONLY", [SHORT], NOTHING,
        any!(CreateAnyDatabase Server), "tells of a medium";
    RestoreVerifyOnly "RESTORE VERIFYONLY", OTHER, "RESTORE VERIFYONLY", "RESTORE VERIFYONLY", [LONG], NOTHING,
        any!(CreateAnyDatabase Server), "reads a copy to its end and restores nothing";
    RestoreRewindOnly "RESTORE REWINDONLY", OTHER, "RESTORE REWINDONLY", "RESTORE REWINDONLY", [SHORT], NOTHING,
        any!(CreateAnyDatabase Server), "rewinds a tape";
    Checkpoint "CHECKPOINT", OTHER, "CHECKPOINT", "CHECKPOINT", [LONG], NOTHING, any!(Checkpoint CurrentDatabase),
        "writes the changed pages of the current database to its files";
    Kill "KILL", OTHER, "KILL", "KILL", [APART SHORT], NOTHING, any!(AlterAnyConnection Server),
        "ends a session and rolls its transaction back";
    Shutdown "SHUTDOWN", OTHER, "SHUTDOWN", "SHUTDOWN", [SHORT], NOTHING, any!(Shutdown Server),
        "ends the server";
    Reconfigure "RECONFIGURE", OTHER, "RECONFIGURE", "RECONFIGURE", [NO_TRIGGER APART LONG], NOTHING, SETTINGS,
        "puts what sp_configure has set in force";
    Dbcc "DBCC", OTHER, "DBCC", "DBCC", [LONG], Audit::Dbcc, ASKS,
        "checks, shows and sets what lies below SQL";

    Use "USE", OTHER, "USE", "USE DATABASE", [SHORT], NOTHING, any!(Connect NamedDatabase),
        "makes a database the current one";
    Execute "EXECUTE" as "EXECUTE PROC", EXECUTE, "EXECUTE", "EXECUTE", [LONG], NOTHING, any!(Execute Object),
        "calls a procedure or runs a string";
    ExecuteAs "EXECUTE AS", OTHER, "EXECUTE AS", "EXECUTE AS", [SHORT], NOTHING, Needs::NotHere,
        "goes on with the rights of somebody else";
    Revert "REVERT", OTHER, "REVERT", "REVERT", [SHORT], NOTHING, Needs::NotHere,
        "goes on with the rights from before EXECUTE AS";
    DeclareCursor "DECLARE CURSOR", OTHER, "DECLARE CURSOR", "DECLARE CURSOR", [SHORT], NOTHING, Needs::NotHere,
        "names a cursor over a query";
    Cursor "OPEN, FETCH, CLOSE, DEALLOCATE", OTHER, "CURSOR", "FETCH CURSOR", [SHORT], NOTHING, Needs::NotHere,
        "opens a cursor, reads from it and ends it";
    SetOption "SET" as "SET ON/OFF", SET, "SET", "SET COMMAND", [SHORT], NOTHING, ASKS,
        "sets an option of the session";
    Declare "DECLARE", OTHER, "DECLARE", "DECLARE", [FUNCTION LONG], NOTHING, OWN,
        "names variables and table variables";
    SetVariable "SET @variable", SELECT, "SET", "ASSIGN", [FUNCTION LONG], NOTHING, OWN,
        "gives a variable a value";
    Flow "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY", OTHER, "IF", "CONDITIONAL", [FUNCTION LONG], NOTHING, OWN,
        "says what runs next";
    Print "PRINT", OTHER, "PRINT", "PRINT", [SHORT], NOTHING, OWN,
        "sends a text";
    RaiseError "RAISERROR, THROW", OTHER, "RAISERROR", "RAISERROR", [SHORT], NOTHING, OWN,
        "raises an error";
    WaitFor "WAITFOR", OTHER, "WAITFOR", "WAITFOR", [LONG], NOTHING, OWN,
        "waits for a time";
    BeginTransaction "BEGIN TRANSACTION", BEGIN, "BEGIN", "BEGIN TRANSACTION", [LONG], NOTHING, OWN,
        "begins a transaction, or one within it";
    Commit "COMMIT", COMMIT, "COMMIT", "COMMIT TRANSACTION", [LONG], NOTHING, OWN,
        "ends a transaction, and its changes stay";
    Rollback "ROLLBACK", ROLLBACK, "ROLLBACK", "ROLLBACK TRANSACTION", [LONG], NOTHING, OWN,
        "takes back what a transaction has changed, or what came after a savepoint";
    Save "SAVE TRANSACTION", OTHER, "SAVE", "SAVE TRANSACTION", [LONG], NOTHING, OWN,
        "names a place to roll back to";
    LineNumber "LINENO", OTHER, "LINENO", "LINENO", [FUNCTION SHORT], NOTHING, OWN,
        "says which number the line has that it stands on";
}

impl Kind {
    /// Which row a statement has: without a default, so that a new one has its row.
    pub fn of(kind: &StatementKind) -> Kind {
        of(kind)
    }
}

fn of(kind: &StatementKind) -> Kind {
    match kind {
        StatementKind::Select(s) => match into_table(s) {
            Some(_) => Kind::SelectInto,
            None => Kind::Select,
        },
        StatementKind::Insert(_) => Kind::Insert,
        StatementKind::InsertBulk(_) => Kind::InsertBulk,
        StatementKind::Update(_) => Kind::Update,
        StatementKind::Delete(_) => Kind::Delete,
        StatementKind::Merge(_) => Kind::Merge,
        StatementKind::TruncateTable { .. } => Kind::TruncateTable,
        StatementKind::CreateTable(_) => Kind::CreateTable,
        StatementKind::AlterTable(_) => Kind::AlterTable,
        StatementKind::CreateIndex(_) => Kind::CreateIndex,
        StatementKind::AlterIndex(_) => Kind::AlterIndex,
        StatementKind::DropIndex { .. } => Kind::DropIndex,
        StatementKind::CreateStatistics(_) => Kind::CreateStatistics,
        StatementKind::UpdateStatistics { .. } => Kind::UpdateStatistics,
        StatementKind::Drop { kind, .. } => drop_row(*kind),
        StatementKind::CreateModule(s) => module_row(&s.kind, s.mode),
        StatementKind::CreateSchema { .. } => Kind::CreateSchema,
        StatementKind::AlterSchema { .. } => Kind::AlterSchema,
        StatementKind::AlterAuthorization { .. } => Kind::AlterAuthorization,
        StatementKind::Partition(s) => partition_row(s),
        StatementKind::CreateSequence(_) => Kind::CreateSequence,
        StatementKind::CreateType(_) => Kind::CreateType,
        StatementKind::CreateSynonym { .. } => Kind::CreateSynonym,
        StatementKind::Principal(s) => match (s.kind.as_str(), s.alter) {
            ("LOGIN", false) => Kind::CreateLogin,
            ("LOGIN", true) => Kind::AlterLogin,
            ("SERVER ROLE", false) => Kind::CreateServerRole,
            ("SERVER ROLE", true) => Kind::AlterServerRole,
            ("USER", false) => Kind::CreateUser,
            ("USER", true) => Kind::AlterUser,
            (_, false) => Kind::CreateRole,
            (_, true) => Kind::AlterRole,
        },
        StatementKind::Permission(s) => {
            let of_server = |p: &String| Right::named(p).is_some_and(Right::is_of_server);
            match s.on.is_none() && s.permissions.iter().any(of_server) {
                true => Kind::ServerPermission,
                false => Kind::Permission,
            }
        }
        StatementKind::CreateEventSession(_) => Kind::CreateEventSession,
        StatementKind::AlterEventSession(_) => Kind::AlterEventSession,
        StatementKind::DropEventSession { .. } => Kind::DropEventSession,
        StatementKind::CreateDatabase(_) => Kind::CreateDatabase,
        StatementKind::AlterDatabase(_) => Kind::AlterDatabase,
        StatementKind::DropDatabase { .. } => Kind::DropDatabase,
        StatementKind::AlterDatabaseScopedConfiguration(_) => Kind::ScopedConfiguration,
        StatementKind::Backup(s) => match s.log {
            true => Kind::BackupLog,
            false => Kind::BackupDatabase,
        },
        StatementKind::Restore(s) => match s.kind {
            RestoreKind::Database => Kind::RestoreDatabase,
            RestoreKind::Log => Kind::RestoreLog,
            RestoreKind::RewindOnly => Kind::RestoreRewindOnly,
            RestoreKind::VerifyOnly => Kind::RestoreVerifyOnly,
            RestoreKind::HeaderOnly => Kind::RestoreHeaderOnly,
            RestoreKind::FileListOnly => Kind::RestoreFileListOnly,
            RestoreKind::LabelOnly => Kind::RestoreLabelOnly,
        },
        StatementKind::Declare(_) | StatementKind::DeclareTable { .. } => Kind::Declare,
        StatementKind::DeclareCursor(_) => Kind::DeclareCursor,
        StatementKind::Cursor(_) => Kind::Cursor,
        StatementKind::SetVariable { .. } => Kind::SetVariable,
        StatementKind::SetOption(_) => Kind::SetOption,
        StatementKind::If { .. }
        | StatementKind::While { .. }
        | StatementKind::Block(_)
        | StatementKind::TryCatch { .. }
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => Kind::Flow,
        StatementKind::LineNumber(_) => Kind::LineNumber,
        StatementKind::Print(_) => Kind::Print,
        StatementKind::RaiseError(_) | StatementKind::Throw(_) => Kind::RaiseError,
        StatementKind::WaitFor { .. } => Kind::WaitFor,
        StatementKind::BeginTran { .. } => Kind::BeginTransaction,
        StatementKind::Commit { .. } => Kind::Commit,
        StatementKind::Rollback { .. } => Kind::Rollback,
        StatementKind::SaveTran { .. } => Kind::Save,
        StatementKind::Use(_) => Kind::Use,
        StatementKind::Exec(_) => Kind::Execute,
        StatementKind::ExecuteAs { .. } => Kind::ExecuteAs,
        StatementKind::Revert => Kind::Revert,
        StatementKind::Dbcc(_) => Kind::Dbcc,
        StatementKind::Checkpoint(_) => Kind::Checkpoint,
        StatementKind::Shutdown { .. } => Kind::Shutdown,
        StatementKind::Kill { .. } => Kind::Kill,
        StatementKind::Reconfigure { .. } => Kind::Reconfigure,
    }
}

fn drop_row(kind: DropKind) -> Kind {
    match kind {
        DropKind::Table => Kind::DropTable,
        DropKind::View => Kind::DropView,
        DropKind::Procedure => Kind::DropProcedure,
        DropKind::Function => Kind::DropFunction,
        DropKind::Trigger => Kind::DropTrigger,
        DropKind::Statistics => Kind::DropStatistics,
        DropKind::Schema => Kind::DropSchema,
        DropKind::Type => Kind::DropType,
        DropKind::Synonym => Kind::DropSynonym,
        DropKind::Login => Kind::DropLogin,
        DropKind::User => Kind::DropUser,
        DropKind::Role => Kind::DropRole,
        DropKind::Sequence => Kind::DropSequence,
        DropKind::Default => Kind::DropDefault,
        DropKind::Rule => Kind::DropRule,
    }
}

fn module_row(kind: &ModuleKind, mode: ModuleMode) -> Kind {
    let alter = mode == ModuleMode::Alter;
    match (kind, alter) {
        (ModuleKind::View { .. }, false) => Kind::CreateView,
        (ModuleKind::View { .. }, true) => Kind::AlterView,
        (ModuleKind::Procedure { .. }, false) => Kind::CreateProcedure,
        (ModuleKind::Procedure { .. }, true) => Kind::AlterProcedure,
        (ModuleKind::Trigger { .. }, false) => Kind::CreateTrigger,
        (ModuleKind::Trigger { .. }, true) => Kind::AlterTrigger,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            false,
        ) => Kind::CreateFunction,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            true,
        ) => Kind::AlterFunction,
    }
}

fn partition_row(stmt: &PartitionStmt) -> Kind {
    match stmt {
        PartitionStmt::CreateFunction { .. } => Kind::CreatePartitionFunction,
        PartitionStmt::AlterFunction { .. } => Kind::AlterPartitionFunction,
        PartitionStmt::DropFunction(_) => Kind::DropPartitionFunction,
        PartitionStmt::CreateScheme { .. } => Kind::CreatePartitionScheme,
        PartitionStmt::AlterScheme { .. } => Kind::AlterPartitionScheme,
        PartitionStmt::DropScheme(_) => Kind::DropPartitionScheme,
    }
}

/// The table that SELECT ... INTO makes.
pub fn into_table(stmt: &ast::SelectStmt) -> Option<&ast::ObjectName> {
    match &stmt.body {
        ast::QueryExpr::Select(spec) => spec.into.as_ref(),
        // SELECT ... INTO ... UNION ...: the first SELECT names the table.
        ast::QueryExpr::SetOp { left, .. } => {
            let mut at = left;
            loop {
                match &**at {
                    ast::QueryExpr::SetOp { left, .. } => at = left,
                    ast::QueryExpr::Select(spec) => return spec.into.as_ref(),
                    ast::QueryExpr::Values(_) => return None,
                }
            }
        }
        ast::QueryExpr::Values(_) => None,
    }
}
