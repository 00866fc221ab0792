//! The kinds of statements, each with what makes it or why nothing does. A kind of the parser's that has no place here
//! does not build.

use duramen_tsql::ast::{
    AlterTableAction, DropKind, InsertSource, PartitionStmt, QueryExpr, SelectStmt, Statement,
    StatementKind,
};
use duramen_tsql::{ParseOptions, parse_batch};

use super::matrix::Ending;

/// Who makes statements of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cover {
    /// The generator's part with this name.
    By(&'static str),
    /// Nobody, and why.
    Not(&'static str),
}

/// What can become of statements of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Everything: it changes rows or names, in a transaction or as one.
    Change,
    /// It runs in transactions, and has nothing to be undone or to be refused.
    Beside,
    /// It cannot be in a transaction.
    Alone,
    /// It begins or ends transactions.
    Flow,
}

pub struct Kind {
    pub name: &'static str,
    pub cover: Cover,
    pub fate: Fate,
}

impl Kind {
    /// Why statements of this kind cannot come to this end.
    pub fn impossible(&self, ending: Ending) -> Option<&'static str> {
        use Ending::*;
        match (self.fate, ending) {
            (Fate::Change, _) => None,
            (Fate::Beside, CrashInside | Caught | Attention) => {
                Some("it commits nothing and is over at once")
            }
            (Fate::Beside, _) => None,
            (Fate::Alone, Commit | CrashAfter | CrashInRecovery) => None,
            (Fate::Alone, _) => Some("it is not in transactions"),
            (Fate::Flow, Commit | CrashAfter | CrashInRecovery | CrashBefore) => None,
            (Fate::Flow, _) => Some("it is itself the beginning or the end"),
        }
    }
}

macro_rules! kinds {
    ($($variant:ident $name:literal $cover:expr, $fate:ident;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum K { $($variant),* }

        /// In the order of `K`.
        pub const KINDS: &[Kind] = &[$(Kind { name: $name, cover: $cover, fate: Fate::$fate }),*];
    };
}

use Cover::{By, Not};

kinds! {
    Select "SELECT" By("look"), Beside;
    SelectInto "SELECT INTO" By("into"), Change;
    Insert "INSERT" By("rows"), Change;
    InsertSelect "INSERT SELECT" By("loads"), Change;
    InsertBulk "INSERT BULK" By("bulk"), Change;
    Update "UPDATE" By("rows"), Change;
    Delete "DELETE" By("rows"), Change;
    Merge "MERGE" Not("the server does not run it (40517)"), Change;
    Truncate "TRUNCATE TABLE" By("tables"), Change;
    CreateTable "CREATE TABLE" By("tables"), Change;
    AlterAdd "ALTER TABLE ADD" By("columns"), Change;
    AlterDropColumn "ALTER TABLE DROP COLUMN" By("columns"), Change;
    AlterDropConstraint "ALTER TABLE DROP CONSTRAINT" By("columns"), Change;
    AlterColumn "ALTER TABLE ALTER COLUMN" By("columns"), Change;
    AlterCheck "ALTER TABLE CHECK CONSTRAINT" By("columns"), Change;
    AlterTrigger "ALTER TABLE ENABLE TRIGGER" By("modules"), Change;
    AlterRebuild "ALTER TABLE REBUILD" Not("the server does not run it (40517)"), Change;
    AlterSwitch "ALTER TABLE SWITCH" By("partitions"), Change;
    AlterSet "ALTER TABLE SET" Not("no option of it changes what is stored"), Change;
    CreateIndex "CREATE INDEX" By("indexes"), Change;
    AlterIndex "ALTER INDEX" By("indexes"), Change;
    DropIndex "DROP INDEX" By("indexes"), Change;
    CreateStatistics "CREATE STATISTICS" By("indexes"), Change;
    UpdateStatistics "UPDATE STATISTICS" By("indexes"), Change;
    DropTable "DROP TABLE" By("tables"), Change;
    DropModule "DROP PROCEDURE, VIEW, FUNCTION, TRIGGER" By("modules"), Change;
    DropStatistics "DROP STATISTICS" By("indexes"), Change;
    DropOther "DROP TYPE, SCHEMA, SYNONYM, USER, ROLE" By("modules"), Change;
    DropUnsupported "DROP SEQUENCE, DEFAULT, RULE" Not("the server has no such objects (40517)"), Change;
    CreateModule "CREATE PROCEDURE, VIEW, ..." By("modules"), Change;
    CreateSchema "CREATE SCHEMA" By("modules"), Change;
    AlterAuthorization "ALTER AUTHORIZATION" Not("of schemas and objects the server refuses it (40517); of databases it is a row of master"), Change;
    AlterSchema "ALTER SCHEMA TRANSFER" By("modules"), Change;
    Partition "PARTITION FUNCTION, SCHEME" By("partitions"), Change;
    CreateSequence "CREATE SEQUENCE" Not("the server does not run it (40517)"), Change;
    CreateType "CREATE TYPE" By("modules"), Change;
    CreateSynonym "CREATE SYNONYM" By("modules"), Change;
    Principal "CREATE USER, ROLE" By("modules"), Change;
    Permission "GRANT, DENY, REVOKE" By("modules"), Change;
    EventSession "EVENT SESSION" Not("kept in master as text; the crash stories of sessions do not follow them"), Alone;
    CreateDatabase "CREATE DATABASE" By("databases"), Alone;
    AlterDatabase "ALTER DATABASE" By("databases"), Alone;
    DropDatabase "DROP DATABASE" By("databases"), Alone;
    ScopedConfiguration "ALTER DATABASE SCOPED CONFIGURATION" By("databases"), Alone;
    Backup "BACKUP" By("databases"), Alone;
    Restore "RESTORE" By("databases"), Alone;
    Declare "DECLARE" By("blocks"), Beside;
    DeclareTable "DECLARE TABLE" By("blocks"), Beside;
    Cursor "cursors" Not("the server does not run them (40517)"), Beside;
    SetVariable "SET @variable" By("blocks"), Beside;
    SetOption "SET option" By("flow"), Beside;
    If "IF" By("blocks"), Beside;
    While "WHILE" By("blocks"), Beside;
    Block "BEGIN END" By("blocks"), Beside;
    TryCatch "TRY CATCH" By("flow"), Beside;
    Jump "BREAK, CONTINUE, GOTO, RETURN" By("blocks"), Beside;
    Print "PRINT" By("blocks"), Beside;
    RaiseError "RAISERROR, THROW" By("blocks"), Beside;
    WaitFor "WAITFOR" By("blocks"), Beside;
    BeginTran "BEGIN TRANSACTION" By("flow"), Flow;
    Commit "COMMIT" By("flow"), Flow;
    Rollback "ROLLBACK" By("flow"), Flow;
    SaveTran "SAVE TRANSACTION" By("flow"), Flow;
    Use "USE" By("blocks"), Beside;
    Exec "EXECUTE" By("modules"), Beside;
    ExecuteAs "EXECUTE AS, REVERT" Not("the server does not run them (40517)"), Beside;
    Dbcc "DBCC" By("admin"), Beside;
    Checkpoint "CHECKPOINT" By("admin"), Beside;
    Shutdown "SHUTDOWN" Not("every story ends with a shutdown; an embedded server refuses the statement"), Alone;
    Kill "KILL" By("flow"), Alone;
    Reconfigure "RECONFIGURE" By("admin"), Alone;
}

/// The number of the kind with this name.
pub fn number(name: &str) -> usize {
    KINDS.iter().position(|k| k.name == name).unwrap_or(0)
}

/// The kinds of a text's statements, those inside others too.
pub fn of(sql: &str) -> Vec<usize> {
    let mut out = Vec::new();
    if let Ok(batch) = parse_batch(sql, &ParseOptions::default()) {
        batch.statements.iter().for_each(|s| walk(s, &mut out));
    }
    out
}

/// The kinds of what is written around the statements of a batch.
pub fn around(sql: &str) -> Vec<usize> {
    let mut all = of(sql);
    all.retain(|k| KINDS[*k].fate == Fate::Beside && KINDS[*k].name != "SELECT");
    all
}

fn walk(s: &Statement, out: &mut Vec<usize>) {
    out.push(place(&s.kind) as usize);
    match &s.kind {
        StatementKind::If {
            then, otherwise, ..
        } => {
            walk(then, out);
            otherwise.iter().for_each(|s| walk(s, out));
        }
        StatementKind::While { body, .. } => walk(body, out),
        StatementKind::Block(all) => all.iter().for_each(|s| walk(s, out)),
        StatementKind::TryCatch { body, catch } => {
            body.iter().chain(catch).for_each(|s| walk(s, out));
        }
        _ => {}
    }
}

/// Where a kind belongs. Without `_`: whoever adds a kind decides who makes it.
fn place(kind: &StatementKind) -> K {
    match kind {
        StatementKind::Select(s) if is_into(s) => K::SelectInto,
        StatementKind::Select(_) => K::Select,
        StatementKind::Insert(s) if is_values(&s.source) => K::Insert,
        StatementKind::Insert(_) => K::InsertSelect,
        StatementKind::InsertBulk(_) => K::InsertBulk,
        StatementKind::Update(_) => K::Update,
        StatementKind::Delete(_) => K::Delete,
        StatementKind::Merge(_) => K::Merge,
        StatementKind::TruncateTable { .. } => K::Truncate,
        StatementKind::CreateTable(_) => K::CreateTable,
        StatementKind::AlterTable(s) => altered(&s.action),
        StatementKind::CreateIndex(_) => K::CreateIndex,
        StatementKind::AlterIndex(_) => K::AlterIndex,
        StatementKind::CreateStatistics(_) => K::CreateStatistics,
        StatementKind::UpdateStatistics { .. } => K::UpdateStatistics,
        StatementKind::Drop { kind, .. } => dropped(*kind),
        StatementKind::DropIndex { .. } => K::DropIndex,
        StatementKind::CreateModule(_) => K::CreateModule,
        StatementKind::CreateSchema { .. } => K::CreateSchema,
        StatementKind::AlterAuthorization { .. } => K::AlterAuthorization,
        StatementKind::AlterSchema { .. } => K::AlterSchema,
        StatementKind::Partition(s) => partition(s),
        StatementKind::CreateSequence(_) => K::CreateSequence,
        StatementKind::CreateType(_) => K::CreateType,
        StatementKind::CreateSynonym { .. } => K::CreateSynonym,
        StatementKind::Principal(_) => K::Principal,
        StatementKind::Permission(_) => K::Permission,
        StatementKind::CreateEventSession(_)
        | StatementKind::AlterEventSession(_)
        | StatementKind::DropEventSession { .. } => K::EventSession,
        StatementKind::CreateDatabase(_) => K::CreateDatabase,
        StatementKind::AlterDatabase(_) => K::AlterDatabase,
        StatementKind::DropDatabase { .. } => K::DropDatabase,
        StatementKind::AlterDatabaseScopedConfiguration(_) => K::ScopedConfiguration,
        StatementKind::Backup(_) => K::Backup,
        StatementKind::Restore(_) => K::Restore,
        StatementKind::Declare(_) => K::Declare,
        StatementKind::DeclareTable { .. } => K::DeclareTable,
        StatementKind::DeclareCursor(_) | StatementKind::Cursor(_) => K::Cursor,
        StatementKind::SetVariable { .. } => K::SetVariable,
        StatementKind::SetOption(_) => K::SetOption,
        StatementKind::If { .. } => K::If,
        StatementKind::While { .. } => K::While,
        StatementKind::Block(_) => K::Block,
        StatementKind::TryCatch { .. } => K::TryCatch,
        StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => K::Jump,
        StatementKind::Print(_) => K::Print,
        StatementKind::RaiseError(_) | StatementKind::Throw(_) => K::RaiseError,
        StatementKind::WaitFor { .. } => K::WaitFor,
        StatementKind::BeginTran { .. } => K::BeginTran,
        StatementKind::Commit { .. } => K::Commit,
        StatementKind::Rollback { .. } => K::Rollback,
        StatementKind::SaveTran { .. } => K::SaveTran,
        StatementKind::Use(_) => K::Use,
        StatementKind::Exec(_) => K::Exec,
        StatementKind::ExecuteAs { .. } | StatementKind::Revert => K::ExecuteAs,
        StatementKind::Dbcc(_) => K::Dbcc,
        StatementKind::Checkpoint(_) => K::Checkpoint,
        StatementKind::Shutdown { .. } => K::Shutdown,
        StatementKind::Kill { .. } => K::Kill,
        StatementKind::Reconfigure { .. } => K::Reconfigure,
    }
}

fn altered(action: &AlterTableAction) -> K {
    match action {
        AlterTableAction::Add { .. } => K::AlterAdd,
        AlterTableAction::DropColumns { .. } => K::AlterDropColumn,
        AlterTableAction::DropConstraints { .. } => K::AlterDropConstraint,
        AlterTableAction::AlterColumn { .. } => K::AlterColumn,
        AlterTableAction::Check { .. } => K::AlterCheck,
        AlterTableAction::Trigger { .. } => K::AlterTrigger,
        AlterTableAction::Rebuild { .. } => K::AlterRebuild,
        AlterTableAction::Switch { .. } => K::AlterSwitch,
        AlterTableAction::Set { .. } => K::AlterSet,
    }
}

fn dropped(kind: DropKind) -> K {
    match kind {
        DropKind::Table => K::DropTable,
        DropKind::View | DropKind::Procedure | DropKind::Function | DropKind::Trigger => {
            K::DropModule
        }
        DropKind::Statistics => K::DropStatistics,
        DropKind::Type
        | DropKind::Schema
        | DropKind::Synonym
        | DropKind::Login
        | DropKind::User
        | DropKind::Role => K::DropOther,
        DropKind::Sequence | DropKind::Default | DropKind::Rule => K::DropUnsupported,
    }
}

fn partition(stmt: &PartitionStmt) -> K {
    match stmt {
        PartitionStmt::CreateFunction { .. }
        | PartitionStmt::CreateScheme { .. }
        | PartitionStmt::AlterFunction { .. }
        | PartitionStmt::AlterScheme { .. }
        | PartitionStmt::DropFunction(_)
        | PartitionStmt::DropScheme(_) => K::Partition,
    }
}

fn is_into(stmt: &SelectStmt) -> bool {
    match &stmt.body {
        QueryExpr::Select(spec) => spec.into.is_some(),
        QueryExpr::SetOp { .. } | QueryExpr::Values(_) => false,
    }
}

fn is_values(source: &InsertSource) -> bool {
    match source {
        InsertSource::Query(q) => matches!(q.body, QueryExpr::Values(_)),
        InsertSource::DefaultValues => true,
        InsertSource::Exec(_) => false,
    }
}
