//! The statements: a row a kind, with all that is known of it before any of it runs. `find` says by one match without a default
//! which row a statement has; DONE tokens, `sys.dm_exec_requests.command`, the default trace, errors, rights and the generated
//! table of statements read the rows.
//!
//! Commands of DONE tokens are those that SQL Server sends, and 0xFD where no client is known to look at them. Rights are from
//! the sections "Permissions" of the statements' pages on Microsoft Learn; what is stricter here says so in `tests/rights.tsv`.

mod find;
pub use self::find::into_table;

use crate::event_classes::class;
use crate::rights::needs::{ASKS, CONTROL_SERVER, LOGINS, OWN, OWNER, SETTINGS};
use crate::rights::{Need, Needs, Of, Right};

/// What is known of a kind of statement.
#[derive(Debug)]
pub struct Statement {
    pub name: &'static str,
    /// `Type` in SHOWPLAN_ALL and `StatementType` in its XML.
    pub shown: &'static str,
    /// The command of its DONE token.
    pub done: u16,
    /// The name of the transaction that it begins where none is open.
    pub transaction: &'static str,
    /// `command` in `sys.dm_exec_requests`. *Assumed* where it is the name and no page shows it.
    pub request: &'static str,
    traits: u8,
    /// What it leaves in the default trace when it has succeeded.
    pub audit: Audit,
    pub needs: Needs,
    /// What it does, in a line for the reference.
    pub does: &'static str,
}

/// It says how many rows `@@ROWCOUNT` has; all others make it 0.
const COUNTS: u8 = 1;
/// It has a plan.
const PLAN: u8 = 1 << 1;
/// It changes definitions, in the open transaction if there is one: what it has found is asked anew until it is in no doubt.
const DEFINES: u8 = 1 << 2;
/// No transaction may be open (226).
const ALONE: u8 = 1 << 3;
/// No transaction may be open, and it says so in words of its own (3021, 574, 6115).
const APART: u8 = 1 << 7;
/// No trigger has it (287).
const NO_TRIGGER: u8 = 1 << 4;
/// A function may have it, of its own variables alone (443, 444).
const FUNCTION: u8 = 1 << 5;
/// A read-only database refuses it (3906).
const WRITES: u8 = 1 << 6;

/// The kind of row in the default trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audit {
    Nothing,
    /// A row of this class for each object that it names.
    Objects(u16),
    /// The same for databases.
    Databases(u16),
    Schema,
    /// Its text.
    Dbcc,
    /// Its text, and which of BACKUP, RESTORE and BACKUP LOG it is (1 to 3).
    Media(i64),
}

/// How a definition is called where it leaves a trace of its own.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The command of the DONE token.
    pub done: u16,
    /// The transaction's name.
    pub transaction: &'static str,
}

impl Definition {
    /// What a procedure of the system defines.
    pub const fn of_procedure(name: &'static str) -> Definition {
        Definition {
            done: OTHER,
            transaction: name,
        }
    }
}

/// Commands of DONE tokens that clients look at.
pub mod command {
    pub const SELECT: u16 = 0xC1;
    pub const INSERT: u16 = 0xC3;
    pub const DELETE: u16 = 0xC4;
    pub const UPDATE: u16 = 0xC5;
    pub const SET: u16 = 0xBE;
    pub const BEGIN: u16 = 0xD4;
    pub const COMMIT: u16 = 0xD5;
    pub const ROLLBACK: u16 = 0xD2;
    pub const EXECUTE: u16 = 0xE0;
    pub const OTHER: u16 = 0xFD;
}

use command::{BEGIN, COMMIT, DELETE, EXECUTE, INSERT, OTHER, ROLLBACK, SELECT, SET, UPDATE};

impl Kind {
    #[inline]
    pub fn row(self) -> &'static Statement {
        &ROWS[self as usize]
    }

    /// The kind with this number, as `kind as u8` gives it.
    pub fn numbered(number: u8) -> Option<&'static Statement> {
        ROWS.get(usize::from(number))
    }

    pub fn definition(self) -> Definition {
        let row = self.row();
        Definition {
            done: row.done,
            transaction: row.transaction,
        }
    }
}

impl Statement {
    const fn has(&self, wanted: u8) -> bool {
        self.traits & wanted != 0
    }

    pub fn counts_rows(&self) -> bool {
        self.has(COUNTS)
    }

    pub fn has_plan(&self) -> bool {
        self.has(PLAN)
    }

    pub fn defines(&self) -> bool {
        self.has(DEFINES)
    }

    pub fn stands_alone(&self) -> bool {
        self.has(ALONE)
    }

    pub fn refused_in_transactions(&self) -> bool {
        self.has(ALONE | APART)
    }

    pub fn refused_in_triggers(&self) -> bool {
        self.has(NO_TRIGGER)
    }

    pub fn allowed_in_functions(&self) -> bool {
        self.has(FUNCTION)
    }

    pub fn writes(&self) -> bool {
        self.has(WRITES)
    }
}

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
    Select "SELECT", SELECT, "SELECT", "SELECT", [COUNTS PLAN FUNCTION], NOTHING, ASKS,
        "reads rows";
    SelectInto "SELECT INTO", SELECT, "SELECT INTO", "SELECT INTO", [COUNTS PLAN WRITES], NOTHING,
        any!(CreateTable NewObject), "makes a table of the rows of a query";
    Insert "INSERT", INSERT, "INSERT", "INSERT", [COUNTS PLAN FUNCTION WRITES], NOTHING,
        any!(Insert Object), "adds rows";
    InsertBulk "INSERT BULK", INSERT, "INSERT BULK", "BULK INSERT", [COUNTS WRITES], NOTHING,
        any!(Insert Object), "takes the rows that a client sends next";
    Update "UPDATE", UPDATE, "UPDATE", "UPDATE", [COUNTS PLAN FUNCTION WRITES], NOTHING,
        any!(Update Object), "changes rows";
    Delete "DELETE", DELETE, "DELETE", "DELETE", [COUNTS PLAN FUNCTION WRITES], NOTHING,
        any!(Delete Object), "removes rows";
    Merge "MERGE", OTHER, "MERGE", "MERGE", [WRITES], NOTHING, Needs::NotHere,
        "adds, changes and removes rows by those of another table";
    TruncateTable "TRUNCATE TABLE", OTHER, "TRUNCATE TABLE", "TRUNCATE TABLE", [DEFINES WRITES], NOTHING,
        any!(Alter Object), "removes all rows of a table or of partitions, by the page";

    CreateTable "CREATE TABLE", 0xC6, "CREATE TABLE", "CREATE TABLE", [DEFINES WRITES], MADE,
        any!(CreateTable NewObject), "makes a table";
    AlterTable "ALTER TABLE", 0xD8, "ALTER TABLE", "ALTER TABLE", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "changes columns, constraints, triggers and partitions of a table";
    DropTable "DROP TABLE", 0xC7, "DROPOBJ", "DROP TABLE", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes tables";
    CreateIndex "CREATE INDEX", 0xC8, "CREATE INDEX", "CREATE INDEX", [DEFINES WRITES], MADE,
        any!(Alter Object), "makes an index";
    AlterIndex "ALTER INDEX", OTHER, "ALTER INDEX", "ALTER INDEX", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "rebuilds, reorganizes or disables indexes, or sets their options";
    DropIndex "DROP INDEX", 0xC9, "DROP INDEX", "DROP INDEX", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes indexes";
    CreateStatistics "CREATE STATISTICS", OTHER, "CREATE STATISTICS", "CREATE STATISTICS", [DEFINES WRITES], MADE,
        any!(Alter Object), "makes statistics of columns";
    UpdateStatistics "UPDATE STATISTICS", OTHER, "UPDATE STATISTICS", "UPDATE STATISTICS", [DEFINES WRITES], NOTHING,
        any!(Alter Object), "counts the statistics of a table anew";
    DropStatistics "DROP STATISTICS", OTHER, "DROP STATISTICS", "DROP STATISTICS", [DEFINES WRITES], NOTHING,
        any!(Alter Object), "removes statistics";
    CreateView "CREATE VIEW", OTHER, "CREATE MODULE", "CREATE VIEW", [DEFINES WRITES], MADE,
        any!(CreateView NewObject), "makes a view";
    AlterView "ALTER VIEW", OTHER, "CREATE MODULE", "ALTER VIEW", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "gives a view another text";
    DropView "DROP VIEW", OTHER, "DROPOBJ", "DROP VIEW", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes views";
    CreateProcedure "CREATE PROCEDURE", OTHER, "CREATE MODULE", "CREATE PROCEDURE", [DEFINES WRITES], MADE,
        any!(CreateProcedure NewObject), "makes a procedure";
    AlterProcedure "ALTER PROCEDURE", OTHER, "CREATE MODULE", "ALTER PROCEDURE", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "gives a procedure another text";
    DropProcedure "DROP PROCEDURE", OTHER, "DROPOBJ", "DROP PROCEDURE", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes procedures";
    CreateFunction "CREATE FUNCTION", OTHER, "CREATE MODULE", "CREATE FUNCTION", [DEFINES WRITES], MADE,
        any!(CreateFunction NewObject), "makes a function";
    AlterFunction "ALTER FUNCTION", OTHER, "CREATE MODULE", "ALTER FUNCTION", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "gives a function another text";
    DropFunction "DROP FUNCTION", OTHER, "DROPOBJ", "DROP FUNCTION", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes functions";
    CreateTrigger "CREATE TRIGGER", OTHER, "CREATE MODULE", "CREATE TRIGGER", [DEFINES WRITES], MADE,
        any!(Alter Object), "makes a trigger";
    AlterTrigger "ALTER TRIGGER", OTHER, "CREATE MODULE", "ALTER TRIGGER", [DEFINES WRITES], CHANGED,
        any!(Alter Object), "gives a trigger another text";
    DropTrigger "DROP TRIGGER", OTHER, "DROPOBJ", "DROP TRIGGER", [DEFINES WRITES], GONE,
        any!(Alter Object), "removes triggers";
    CreateSchema "CREATE SCHEMA", OTHER, "CREATE SCHEMA", "CREATE SCHEMA", [DEFINES WRITES], Audit::Schema,
        any!(CreateSchema CurrentDatabase), "makes a schema";
    AlterSchema "ALTER SCHEMA", OTHER, "ALTER SCHEMA", "ALTER SCHEMA", [DEFINES WRITES], NOTHING,
        any!(Control Object), "takes an object into a schema";
    DropSchema "DROP SCHEMA", OTHER, "DROP SCHEMA", "DROP SCHEMA", [DEFINES WRITES], NOTHING,
        any!(Control Schema, AlterAnySchema CurrentDatabase), "removes a schema";
    CreateType "CREATE TYPE", 0x111, "CREATE TYPE", "CREATE TYPE", [DEFINES WRITES], NOTHING,
        any!(CreateType NewObject), "makes an alias type or a table type";
    DropType "DROP TYPE", 0x110, "DROP TYPE", "DROP TYPE", [DEFINES WRITES], NOTHING,
        any!(Alter Schema), "removes types";
    CreateSynonym "CREATE SYNONYM", OTHER, "CREATE SYNONYM", "CREATE SYNONYM", [DEFINES WRITES], NOTHING,
        any!(CreateSynonym NewObject), "makes another name for an object";
    DropSynonym "DROP SYNONYM", OTHER, "DROPOBJ", "DROP SYNONYM", [DEFINES WRITES], NOTHING,
        any!(Alter Object), "removes synonyms";
    CreatePartitionFunction "CREATE PARTITION FUNCTION", OTHER, "CREATE PARTITION FUNCTION", "CREATE PARTITION FUNCTION",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says at which values partitions begin";
    AlterPartitionFunction "ALTER PARTITION FUNCTION", OTHER, "ALTER PARTITION FUNCTION", "ALTER PARTITION FUNCTION",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "splits a partition, or merges two";
    DropPartitionFunction "DROP PARTITION FUNCTION", OTHER, "DROP PARTITION FUNCTION", "DROP PARTITION FUNCTION",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "removes a partition function";
    CreatePartitionScheme "CREATE PARTITION SCHEME", OTHER, "CREATE PARTITION SCHEME", "CREATE PARTITION SCHEME",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says where partitions lie";
    AlterPartitionScheme "ALTER PARTITION SCHEME", OTHER, "ALTER PARTITION SCHEME", "ALTER PARTITION SCHEME",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "says where the next partition lies";
    DropPartitionScheme "DROP PARTITION SCHEME", OTHER, "DROP PARTITION SCHEME", "DROP PARTITION SCHEME",
        [DEFINES WRITES], NOTHING, any!(AlterAnyDataspace CurrentDatabase), "removes a partition scheme";
    CreateSequence "CREATE SEQUENCE", OTHER, "CREATE SEQUENCE", "CREATE SEQUENCE", [DEFINES WRITES], NOTHING,
        Needs::NotHere, "makes a sequence of numbers";
    DropSequence "DROP SEQUENCE", OTHER, "DROPOBJ", "DROP SEQUENCE", [DEFINES WRITES], NOTHING,
        Needs::NotHere, "removes sequences";
    DropDefault "DROP DEFAULT", OTHER, "DROPOBJ", "DROP DEFAULT", [DEFINES WRITES], NOTHING,
        Needs::NotHere, "removes defaults of the old kind";
    DropRule "DROP RULE", OTHER, "DROPOBJ", "DROP RULE", [DEFINES WRITES], NOTHING,
        Needs::NotHere, "removes rules";

    CreateLogin "CREATE LOGIN", OTHER, "CREATE LOGIN", "CREATE LOGIN", [DEFINES], NOTHING, LOGINS,
        "makes a login";
    AlterLogin "ALTER LOGIN", OTHER, "ALTER LOGIN", "ALTER LOGIN", [DEFINES], NOTHING, LOGINS,
        "changes a login";
    DropLogin "DROP LOGIN", OTHER, "DROP LOGIN", "DROP LOGIN", [DEFINES], NOTHING, LOGINS,
        "removes a login";
    CreateUser "CREATE USER", OTHER, "CREATE USER", "CREATE USER", [DEFINES WRITES], NOTHING,
        any!(AlterAnyUser Principals), "makes a user of a login in a database";
    AlterUser "ALTER USER", OTHER, "ALTER USER", "ALTER USER", [DEFINES WRITES], NOTHING,
        any!(AlterAnyUser Principals), "changes a user";
    DropUser "DROP USER", OTHER, "DROP USER", "DROP USER", [DEFINES WRITES], NOTHING,
        any!(AlterAnyUser Principals), "removes a user";
    CreateRole "CREATE ROLE", OTHER, "CREATE ROLE", "CREATE ROLE", [DEFINES WRITES], NOTHING,
        any!(CreateRole Principals), "makes a role of a database";
    AlterRole "ALTER ROLE", OTHER, "ALTER ROLE", "ALTER ROLE", [DEFINES WRITES], NOTHING,
        any!(AlterAnyRole Principals), "adds and drops members of a role, or names it";
    DropRole "DROP ROLE", OTHER, "DROP USER", "DROP ROLE", [DEFINES WRITES], NOTHING,
        any!(AlterAnyRole Principals), "removes a role";
    CreateServerRole "CREATE SERVER ROLE", OTHER, "CREATE SERVER ROLE", "CREATE SERVER ROLE", [DEFINES], NOTHING,
        Needs::NotHere, "makes a role of the server";
    AlterServerRole "ALTER SERVER ROLE", OTHER, "ALTER SERVER ROLE", "ALTER SERVER ROLE", [DEFINES], NOTHING,
        Needs::Members("the role that it changes"), "adds and drops members of a role of the server";
    Permission "GRANT, DENY, REVOKE", OTHER, "GRANT", "GRANT", [DEFINES WRITES], NOTHING, OWNER,
        "gives a right in a database, denies it or takes it back";
    ServerPermission "GRANT, DENY, REVOKE on the server", OTHER, "GRANT", "GRANT", [DEFINES], NOTHING, CONTROL_SERVER,
        "gives a right on the server, denies it or takes it back";
    AlterAuthorization "ALTER AUTHORIZATION", OTHER, "ALTER AUTHORIZATION", "ALTER AUTHORIZATION", [DEFINES WRITES], NOTHING,
        Needs::Sysadmin, "gives a database another owner";
    CreateEventSession "CREATE EVENT SESSION", OTHER, "CREATE EVENT SESSION", "CREATE EVENT SESSION", [ALONE], NOTHING,
        CONTROL_SERVER, "makes a session of Extended Events";
    AlterEventSession "ALTER EVENT SESSION", OTHER, "ALTER EVENT SESSION", "ALTER EVENT SESSION", [ALONE], NOTHING,
        CONTROL_SERVER, "changes, starts or stops a session of Extended Events";
    DropEventSession "DROP EVENT SESSION", OTHER, "DROP EVENT SESSION", "DROP EVENT SESSION", [ALONE], NOTHING,
        CONTROL_SERVER, "removes a session of Extended Events";

    CreateDatabase "CREATE DATABASE", 0xCB, "CREATE DATABASE", "CREATE DATABASE", [ALONE NO_TRIGGER],
        Audit::Databases(class::OBJECT_CREATED), any!(CreateAnyDatabase Server), "makes a database, or attaches its files";
    AlterDatabase "ALTER DATABASE", OTHER, "ALTER DATABASE", "ALTER DATABASE", [ALONE NO_TRIGGER],
        Audit::Databases(class::OBJECT_ALTERED), any!(Control NamedDatabase, AlterAnyDatabase Server),
        "changes files, options, name or collation of a database";
    DropDatabase "DROP DATABASE", 0xCC, "DROP DATABASE", "DROP DATABASE", [ALONE NO_TRIGGER],
        Audit::Databases(class::OBJECT_DELETED), any!(Control NamedDatabase, AlterAnyDatabase Server),
        "removes databases and their files";
    ScopedConfiguration "ALTER DATABASE SCOPED CONFIGURATION", OTHER, "ALTER DATABASE SCOPED CONFIGURATION",
        "ALTER DATABASE SCOPED CONFIGURATION", [ALONE], NOTHING, any!(AlterAnyScopedConfiguration CurrentDatabase),
        "sets COMMIT_WAIT, LOG_PROFILE, MAXDOP and the like for a database";
    BackupDatabase "BACKUP DATABASE", OTHER, "BACKUP DATABASE", "BACKUP DATABASE", [APART], Audit::Media(1),
        any!(BackupDatabase NamedDatabase), "copies a database while it is used";
    BackupLog "BACKUP LOG", OTHER, "BACKUP LOG", "BACKUP LOG", [APART], Audit::Media(3),
        any!(BackupLog NamedDatabase), "copies what the log has since the last copy, and lets it be reused";
    RestoreDatabase "RESTORE DATABASE", OTHER, "RESTORE DATABASE", "RESTORE DATABASE", [NO_TRIGGER APART], Audit::Media(2),
        any!(CreateAnyDatabase Server), "makes a database of a copy";
    RestoreLog "RESTORE LOG", OTHER, "RESTORE LOG", "RESTORE LOG", [NO_TRIGGER APART], Audit::Media(2),
        any!(CreateAnyDatabase Server), "brings a restored database further, by a copy of its log";
    RestoreHeaderOnly "RESTORE HEADERONLY", OTHER, "RESTORE HEADERONLY", "RESTORE HEADERONLY", [], NOTHING,
        any!(CreateAnyDatabase Server), "lists the copies on a medium";
    RestoreFileListOnly "RESTORE FILELISTONLY", OTHER, "RESTORE FILELISTONLY", "RESTORE FILELISTONLY", [], NOTHING,
        any!(CreateAnyDatabase Server), "lists the files of a copy";
    RestoreLabelOnly "RESTORE LABELONLY", OTHER, "RESTORE LABELONLY", "RESTORE LABELONLY", [], NOTHING,
        any!(CreateAnyDatabase Server), "tells of a medium";
    RestoreVerifyOnly "RESTORE VERIFYONLY", OTHER, "RESTORE VERIFYONLY", "RESTORE VERIFYONLY", [], NOTHING,
        any!(CreateAnyDatabase Server), "reads a copy to its end and restores nothing";
    RestoreRewindOnly "RESTORE REWINDONLY", OTHER, "RESTORE REWINDONLY", "RESTORE REWINDONLY", [], NOTHING,
        any!(CreateAnyDatabase Server), "rewinds a tape";
    Checkpoint "CHECKPOINT", OTHER, "CHECKPOINT", "CHECKPOINT", [], NOTHING, any!(Checkpoint CurrentDatabase),
        "writes the changed pages of the current database to its files";
    Kill "KILL", OTHER, "KILL", "KILL", [APART], NOTHING, any!(AlterAnyConnection Server),
        "ends a session and rolls its transaction back";
    Shutdown "SHUTDOWN", OTHER, "SHUTDOWN", "SHUTDOWN", [], NOTHING, any!(Shutdown Server),
        "ends the server";
    Reconfigure "RECONFIGURE", OTHER, "RECONFIGURE", "RECONFIGURE", [NO_TRIGGER APART], NOTHING, SETTINGS,
        "puts what sp_configure has set in force";
    Dbcc "DBCC", OTHER, "DBCC", "DBCC", [], Audit::Dbcc, ASKS,
        "checks, shows and sets what lies below SQL";

    Use "USE", OTHER, "USE", "USE DATABASE", [], NOTHING, any!(Connect NamedDatabase),
        "makes a database the current one";
    Execute "EXECUTE" as "EXECUTE PROC", EXECUTE, "EXECUTE", "EXECUTE", [], NOTHING, any!(Execute Object),
        "calls a procedure or runs a string";
    ExecuteAs "EXECUTE AS", OTHER, "EXECUTE AS", "EXECUTE AS", [], NOTHING, Needs::NotHere,
        "goes on with the rights of somebody else";
    Revert "REVERT", OTHER, "REVERT", "REVERT", [], NOTHING, Needs::NotHere,
        "goes on with the rights from before EXECUTE AS";
    DeclareCursor "DECLARE CURSOR", OTHER, "DECLARE CURSOR", "DECLARE CURSOR", [], NOTHING, Needs::NotHere,
        "names a cursor over a query";
    Cursor "OPEN, FETCH, CLOSE, DEALLOCATE", OTHER, "CURSOR", "FETCH CURSOR", [], NOTHING, Needs::NotHere,
        "opens a cursor, reads from it and ends it";
    SetOption "SET" as "SET ON/OFF", SET, "SET", "SET COMMAND", [], NOTHING, ASKS,
        "sets an option of the session";
    Declare "DECLARE", OTHER, "DECLARE", "DECLARE", [FUNCTION], NOTHING, OWN,
        "names variables and table variables";
    SetVariable "SET @variable", SELECT, "SET", "ASSIGN", [FUNCTION], NOTHING, OWN,
        "gives a variable a value";
    Flow "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY", OTHER, "IF", "CONDITIONAL", [FUNCTION], NOTHING, OWN,
        "says what runs next";
    Print "PRINT", OTHER, "PRINT", "PRINT", [], NOTHING, OWN,
        "sends a text";
    RaiseError "RAISERROR, THROW", OTHER, "RAISERROR", "RAISERROR", [], NOTHING, OWN,
        "raises an error";
    WaitFor "WAITFOR", OTHER, "WAITFOR", "WAITFOR", [], NOTHING, OWN,
        "waits for a time";
    BeginTransaction "BEGIN TRANSACTION", BEGIN, "BEGIN", "BEGIN TRANSACTION", [], NOTHING, OWN,
        "begins a transaction, or one within it";
    Commit "COMMIT", COMMIT, "COMMIT", "COMMIT TRANSACTION", [], NOTHING, OWN,
        "ends a transaction, and its changes stay";
    Rollback "ROLLBACK", ROLLBACK, "ROLLBACK", "ROLLBACK TRANSACTION", [], NOTHING, OWN,
        "takes back what a transaction has changed, or what came after a savepoint";
    Save "SAVE TRANSACTION", OTHER, "SAVE", "SAVE TRANSACTION", [], NOTHING, OWN,
        "names a place to roll back to";
}
