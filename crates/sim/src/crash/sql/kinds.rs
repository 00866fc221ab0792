//! The kinds of statements, each with what makes it or why nothing does, and the row of the session's list of statements
//! that it belongs to. A kind of the parser's that has no place here does not build; a row without a kind fails the tests.

use duramen_tsql::ast::{
    AlterTableAction, DropKind, InsertSource, ModuleKind, ModuleMode, PartitionStmt, PrincipalStmt,
    QueryExpr, RestoreKind, SelectStmt, Statement, StatementKind,
};
use duramen_tsql::{ParseOptions, parse_batch};

use super::matrix::Ending;

/// Whether statements of a kind are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cover {
    Made,
    /// This text is all there is to make: it changes nothing, whenever it runs.
    Text(&'static str),
    /// Nobody makes them, and why.
    Not(&'static str),
}

/// What can become of statements of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It changes rows or names, in a transaction or as one.
    Change,
    /// It runs in transactions, and has nothing to be undone: it comes to what its transaction comes to.
    Beside,
    /// No transaction takes it.
    Alone,
    /// It begins or ends transactions; within another one it comes to what that comes to.
    Flow,
}

pub struct Kind {
    pub name: &'static str,
    /// The session's row.
    pub row: &'static str,
    pub cover: Cover,
    pub fate: Fate,
}

impl Cover {
    pub fn is_made(&self) -> bool {
        !matches!(self, Cover::Not(_))
    }
}

impl Kind {
    /// Why statements of this kind cannot come to this end.
    pub fn impossible(&self, ending: Ending) -> Option<&'static str> {
        if let Cover::Not(why) = self.cover {
            return Some(why);
        }
        let rows = IMPOSSIBLE.iter();
        let mut rows = rows.filter(|r| r.of.is(self) && r.endings.contains(&ending));
        rows.next().map(|r| r.why)
    }
}

/// Whom a row of [`IMPOSSIBLE`] is about.
pub enum Of {
    Fate(Fate),
    /// By name.
    Kinds(&'static [&'static str]),
}

impl Of {
    fn is(&self, kind: &Kind) -> bool {
        match self {
            Of::Fate(fate) => kind.fate == *fate,
            Of::Kinds(names) => names.contains(&kind.name),
        }
    }
}

impl std::fmt::Display for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = KINDS
            .iter()
            .filter(|k| k.cover.is_made() && self.is(k))
            .map(|k| k.name)
            .collect();
        f.write_str(&names.join(", "))
    }
}

/// Ends that statements cannot come to, and why.
pub struct Impossible {
    pub of: Of,
    pub endings: &'static [Ending],
    pub why: &'static str,
}

use Ending::*;

/// Ends of transactions.
const OF_TRANSACTIONS: &[Ending] = &[Rollback, Savepoint, XactAbort, CrashBefore];

/// Whoever comes to one of these cells all the same fails at once ([`super::matrix::Matrix::count`]), and that the statements
/// of these rows are refused in a transaction every story tries (`generate::alone`).
pub const IMPOSSIBLE: &[Impossible] = &[
    Impossible {
        of: Of::Kinds(&[
            "CREATE DATABASE",
            "ALTER DATABASE",
            "DROP DATABASE",
            "ALTER DATABASE SCOPED CONFIGURATION",
        ]),
        endings: OF_TRANSACTIONS,
        why: "a transaction refuses it (226): it is in none that could end so",
    },
    Impossible {
        of: Of::Kinds(&["BACKUP DATABASE", "BACKUP LOG", "RESTORE", "RESTORE LOG"]),
        endings: OF_TRANSACTIONS,
        why: "a transaction refuses it (3021): it is in none that could end so",
    },
    Impossible {
        of: Of::Kinds(&["KILL"]),
        endings: OF_TRANSACTIONS,
        why: "a transaction refuses it (6115): it is in none that could end so",
    },
    Impossible {
        of: Of::Kinds(&["RECONFIGURE"]),
        endings: OF_TRANSACTIONS,
        why: "a transaction refuses it (574): it is in none that could end so",
    },
    Impossible {
        of: Of::Fate(Fate::Alone),
        endings: &[Deadlock],
        why: "without a transaction it holds nothing that another waits for while it waits itself",
    },
];

macro_rules! kinds {
    ($($variant:ident $name:literal in $row:literal $cover:expr, $fate:ident;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum K { $($variant),* }

        /// All of them.
        pub const ALL: &[K] = &[$(K::$variant),*];

        /// In the order of `K`.
        pub const KINDS: &[Kind] =
            &[$(Kind { name: $name, row: $row, cover: $cover, fate: Fate::$fate }),*];
    };
}

use Cover::{Made, Not, Text};

/// Refused for everybody.
const NOT_HERE: Cover = Not("the server does not run it (40517)");

kinds! {
    Select "SELECT" in "SELECT" Made, Beside;
    SelectInto "SELECT INTO" in "SELECT INTO" Made, Change;
    Insert "INSERT VALUES" in "INSERT" Made, Change;
    InsertSelect "INSERT SELECT" in "INSERT" Made, Change;
    InsertBulk "INSERT BULK" in "INSERT BULK" Made, Change;
    Update "UPDATE" in "UPDATE" Made, Change;
    Delete "DELETE" in "DELETE" Made, Change;
    Merge "MERGE" in "MERGE" NOT_HERE, Change;
    Truncate "TRUNCATE TABLE" in "TRUNCATE TABLE" Made, Change;
    CreateTable "CREATE TABLE" in "CREATE TABLE" Made, Change;
    AlterAdd "ALTER TABLE ADD" in "ALTER TABLE" Made, Change;
    AlterDropColumn "ALTER TABLE DROP COLUMN" in "ALTER TABLE" Made, Change;
    AlterDropConstraint "ALTER TABLE DROP CONSTRAINT" in "ALTER TABLE" Made, Change;
    AlterColumn "ALTER TABLE ALTER COLUMN" in "ALTER TABLE" Made, Change;
    AlterCheck "ALTER TABLE CHECK CONSTRAINT" in "ALTER TABLE" Made, Change;
    EnableTrigger "ALTER TABLE ENABLE TRIGGER" in "ALTER TABLE" Made, Change;
    AlterRebuild "ALTER TABLE REBUILD" in "ALTER TABLE" NOT_HERE, Change;
    AlterSwitch "ALTER TABLE SWITCH" in "ALTER TABLE" Made, Change;
    AlterSet "ALTER TABLE SET" in "ALTER TABLE" NOT_HERE, Change;
    CreateIndex "CREATE INDEX" in "CREATE INDEX" Made, Change;
    AlterIndex "ALTER INDEX" in "ALTER INDEX" Made, Change;
    DropIndex "DROP INDEX" in "DROP INDEX" Made, Change;
    CreateStatistics "CREATE STATISTICS" in "CREATE STATISTICS" Made, Change;
    UpdateStatistics "UPDATE STATISTICS" in "UPDATE STATISTICS" Made, Change;
    DropStatistics "DROP STATISTICS" in "DROP STATISTICS" Made, Change;
    DropTable "DROP TABLE" in "DROP TABLE" Made, Change;
    CreateView "CREATE VIEW" in "CREATE VIEW" Made, Change;
    AlterView "ALTER VIEW" in "ALTER VIEW" Made, Change;
    DropView "DROP VIEW" in "DROP VIEW" Made, Change;
    CreateProcedure "CREATE PROCEDURE" in "CREATE PROCEDURE" Made, Change;
    AlterProcedure "ALTER PROCEDURE" in "ALTER PROCEDURE" Made, Change;
    DropProcedure "DROP PROCEDURE" in "DROP PROCEDURE" Made, Change;
    CreateFunction "CREATE FUNCTION" in "CREATE FUNCTION" Made, Change;
    AlterFunction "ALTER FUNCTION" in "ALTER FUNCTION" Made, Change;
    DropFunction "DROP FUNCTION" in "DROP FUNCTION" Made, Change;
    CreateTrigger "CREATE TRIGGER" in "CREATE TRIGGER" Made, Change;
    AlterTrigger "ALTER TRIGGER" in "ALTER TRIGGER" Made, Change;
    DropTrigger "DROP TRIGGER" in "DROP TRIGGER" Made, Change;
    CreateSchema "CREATE SCHEMA" in "CREATE SCHEMA" Made, Change;
    AlterSchema "ALTER SCHEMA" in "ALTER SCHEMA" Made, Change;
    DropSchema "DROP SCHEMA" in "DROP SCHEMA" Made, Change;
    CreateType "CREATE TYPE" in "CREATE TYPE" Made, Change;
    DropType "DROP TYPE" in "DROP TYPE" Made, Change;
    CreateSynonym "CREATE SYNONYM" in "CREATE SYNONYM" Made, Change;
    DropSynonym "DROP SYNONYM" in "DROP SYNONYM" Made, Change;
    CreatePartitionFunction "CREATE PARTITION FUNCTION" in "CREATE PARTITION FUNCTION" Made, Change;
    AlterPartitionFunction "ALTER PARTITION FUNCTION" in "ALTER PARTITION FUNCTION" Made, Change;
    DropPartitionFunction "DROP PARTITION FUNCTION" in "DROP PARTITION FUNCTION" Made, Change;
    CreatePartitionScheme "CREATE PARTITION SCHEME" in "CREATE PARTITION SCHEME" Made, Change;
    AlterPartitionScheme "ALTER PARTITION SCHEME" in "ALTER PARTITION SCHEME" Made, Change;
    DropPartitionScheme "DROP PARTITION SCHEME" in "DROP PARTITION SCHEME" Made, Change;
    CreateSequence "CREATE SEQUENCE" in "CREATE SEQUENCE" NOT_HERE, Change;
    DropSequence "DROP SEQUENCE" in "DROP SEQUENCE" NOT_HERE, Change;
    DropDefault "DROP DEFAULT" in "DROP DEFAULT" NOT_HERE, Change;
    DropRule "DROP RULE" in "DROP RULE" NOT_HERE, Change;
    CreateLogin "CREATE LOGIN" in "CREATE LOGIN" Made, Change;
    AlterLogin "ALTER LOGIN" in "ALTER LOGIN" Made, Change;
    DropLogin "DROP LOGIN" in "DROP LOGIN" Made, Change;
    CreateUser "CREATE USER" in "CREATE USER" Made, Change;
    AlterUser "ALTER USER" in "ALTER USER" Made, Change;
    DropUser "DROP USER" in "DROP USER" Made, Change;
    CreateRole "CREATE ROLE" in "CREATE ROLE" Made, Change;
    AlterRole "ALTER ROLE" in "ALTER ROLE" Made, Change;
    DropRole "DROP ROLE" in "DROP ROLE" Made, Change;
    CreateServerRole "CREATE SERVER ROLE" in "CREATE SERVER ROLE" NOT_HERE, Change;
    AlterServerRole "ALTER SERVER ROLE" in "ALTER SERVER ROLE" Made, Change;
    Permission "GRANT, DENY, REVOKE" in "GRANT, DENY, REVOKE" Made, Change;
    ServerPermission "GRANT, DENY, REVOKE on the server" in "GRANT, DENY, REVOKE on the server" Made, Change;
    AlterAuthorization "ALTER AUTHORIZATION" in "ALTER AUTHORIZATION" Text("ALTER AUTHORIZATION ON DATABASE::a TO sa"), Change;
    CreateEventSession "CREATE EVENT SESSION" in "CREATE EVENT SESSION" Not("kept in master as text, as logins are; what they gather is not what this story is about"), Alone;
    AlterEventSession "ALTER EVENT SESSION" in "ALTER EVENT SESSION" Not("kept in master as text, as logins are; what they gather is not what this story is about"), Alone;
    DropEventSession "DROP EVENT SESSION" in "DROP EVENT SESSION" Not("kept in master as text, as logins are; what they gather is not what this story is about"), Alone;
    CreateDatabase "CREATE DATABASE" in "CREATE DATABASE" Made, Alone;
    AlterDatabase "ALTER DATABASE" in "ALTER DATABASE" Made, Alone;
    DropDatabase "DROP DATABASE" in "DROP DATABASE" Made, Alone;
    ScopedConfiguration "ALTER DATABASE SCOPED CONFIGURATION" in "ALTER DATABASE SCOPED CONFIGURATION" Text("ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2"), Alone;
    BackupDatabase "BACKUP DATABASE" in "BACKUP DATABASE" Made, Alone;
    BackupLog "BACKUP LOG" in "BACKUP LOG" Made, Alone;
    Restore "RESTORE" in "RESTORE DATABASE" Made, Alone;
    RestoreLog "RESTORE LOG" in "RESTORE LOG" Made, Alone;
    RestoreShows "RESTORE VERIFYONLY, HEADERONLY, ..." in "RESTORE HEADERONLY" Made, Beside;
    Checkpoint "CHECKPOINT" in "CHECKPOINT" Text("CHECKPOINT"), Beside;
    Kill "KILL" in "KILL" Made, Alone;
    Shutdown "SHUTDOWN" in "SHUTDOWN" Not("every story ends with a shutdown; an embedded server refuses the statement"), Alone;
    Reconfigure "RECONFIGURE" in "RECONFIGURE" Text("RECONFIGURE"), Alone;
    Dbcc "DBCC" in "DBCC" Text("DBCC FREEPROCCACHE WITH NO_INFOMSGS"), Beside;
    Use "USE" in "USE" Made, Beside;
    Exec "EXECUTE" in "EXECUTE" Made, Beside;
    ExecuteAs "EXECUTE AS" in "EXECUTE AS" NOT_HERE, Beside;
    Revert "REVERT" in "REVERT" NOT_HERE, Beside;
    DeclareCursor "DECLARE CURSOR" in "DECLARE CURSOR" NOT_HERE, Beside;
    Cursor "OPEN, FETCH, CLOSE, DEALLOCATE" in "OPEN, FETCH, CLOSE, DEALLOCATE" NOT_HERE, Beside;
    SetOption "SET option" in "SET" Text("SET NOCOUNT OFF"), Beside;
    Declare "DECLARE" in "DECLARE" Made, Beside;
    DeclareTable "DECLARE TABLE" in "DECLARE" Made, Beside;
    SetVariable "SET @variable" in "SET @variable" Made, Beside;
    If "IF" in "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" Made, Beside;
    While "WHILE" in "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" Made, Beside;
    Block "BEGIN END" in "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" Made, Beside;
    TryCatch "TRY CATCH" in "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" Made, Beside;
    Jump "BREAK, CONTINUE, GOTO, RETURN" in "IF, WHILE, BEGIN, BREAK, CONTINUE, RETURN, GOTO, TRY" Made, Beside;
    Print "PRINT" in "PRINT" Made, Beside;
    RaiseError "RAISERROR, THROW" in "RAISERROR, THROW" Made, Beside;
    WaitFor "WAITFOR" in "WAITFOR" Made, Beside;
    LineNumber "LINENO" in "LINENO" Text("LINENO 7 PRINT 'x'"), Beside;
    BeginTran "BEGIN TRANSACTION" in "BEGIN TRANSACTION" Made, Flow;
    Commit "COMMIT" in "COMMIT" Made, Flow;
    Rollback "ROLLBACK" in "ROLLBACK" Made, Flow;
    SaveTran "SAVE TRANSACTION" in "SAVE TRANSACTION" Made, Flow;
}

/// The number of the kind with this name.
pub fn number(name: &str) -> usize {
    KINDS.iter().position(|k| k.name == name).unwrap_or(0)
}

/// The kinds of a text's statements, those inside others too.
pub fn of(sql: &str) -> Vec<usize> {
    let mut out = Vec::new();
    if let Some(inner) = sql.strip_prefix("EXEC('") {
        out.extend(of(&inner.trim_end_matches("')").replace("''", "'")));
    }
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
        StatementKind::CreateModule(s) => module(&s.kind, s.mode == ModuleMode::Alter),
        StatementKind::CreateSchema { .. } => K::CreateSchema,
        StatementKind::AlterAuthorization { .. } => K::AlterAuthorization,
        StatementKind::AlterSchema { .. } => K::AlterSchema,
        StatementKind::Partition(s) => partition(s),
        StatementKind::CreateSequence(_) => K::CreateSequence,
        StatementKind::CreateType(_) => K::CreateType,
        StatementKind::CreateSynonym { .. } => K::CreateSynonym,
        StatementKind::Principal(s) => principal(s),
        StatementKind::Permission(s) => match s.on.is_none() && is_of_server(&s.permissions) {
            true => K::ServerPermission,
            false => K::Permission,
        },
        StatementKind::CreateEventSession(_) => K::CreateEventSession,
        StatementKind::AlterEventSession(_) => K::AlterEventSession,
        StatementKind::DropEventSession { .. } => K::DropEventSession,
        StatementKind::CreateDatabase(_) => K::CreateDatabase,
        StatementKind::AlterDatabase(_) => K::AlterDatabase,
        StatementKind::DropDatabase { .. } => K::DropDatabase,
        StatementKind::AlterDatabaseScopedConfiguration(_) => K::ScopedConfiguration,
        StatementKind::Backup(s) if s.log => K::BackupLog,
        StatementKind::Backup(_) => K::BackupDatabase,
        StatementKind::Restore(s) => match s.kind {
            RestoreKind::Database => K::Restore,
            RestoreKind::Log => K::RestoreLog,
            RestoreKind::RewindOnly
            | RestoreKind::VerifyOnly
            | RestoreKind::HeaderOnly
            | RestoreKind::FileListOnly
            | RestoreKind::LabelOnly => K::RestoreShows,
        },
        StatementKind::Declare(_) => K::Declare,
        StatementKind::DeclareTable { .. } => K::DeclareTable,
        StatementKind::DeclareCursor(_) => K::DeclareCursor,
        StatementKind::Cursor(_) => K::Cursor,
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
        StatementKind::LineNumber(_) => K::LineNumber,
        StatementKind::Print(_) => K::Print,
        StatementKind::RaiseError(_) | StatementKind::Throw(_) => K::RaiseError,
        StatementKind::WaitFor { .. } => K::WaitFor,
        StatementKind::BeginTran { .. } => K::BeginTran,
        StatementKind::Commit { .. } => K::Commit,
        StatementKind::Rollback { .. } => K::Rollback,
        StatementKind::SaveTran { .. } => K::SaveTran,
        StatementKind::Use(_) => K::Use,
        StatementKind::Exec(_) => K::Exec,
        StatementKind::ExecuteAs { .. } => K::ExecuteAs,
        StatementKind::Revert => K::Revert,
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
        AlterTableAction::Trigger { .. } => K::EnableTrigger,
        AlterTableAction::Rebuild { .. } => K::AlterRebuild,
        AlterTableAction::Switch { .. } => K::AlterSwitch,
        AlterTableAction::Set { .. } => K::AlterSet,
    }
}

fn dropped(kind: DropKind) -> K {
    match kind {
        DropKind::Table => K::DropTable,
        DropKind::View => K::DropView,
        DropKind::Procedure => K::DropProcedure,
        DropKind::Function => K::DropFunction,
        DropKind::Trigger => K::DropTrigger,
        DropKind::Statistics => K::DropStatistics,
        DropKind::Type => K::DropType,
        DropKind::Schema => K::DropSchema,
        DropKind::Synonym => K::DropSynonym,
        DropKind::Login => K::DropLogin,
        DropKind::User => K::DropUser,
        DropKind::Role => K::DropRole,
        DropKind::Sequence => K::DropSequence,
        DropKind::Default => K::DropDefault,
        DropKind::Rule => K::DropRule,
    }
}

fn module(kind: &ModuleKind, alter: bool) -> K {
    let (create, change) = match kind {
        ModuleKind::View { .. } => (K::CreateView, K::AlterView),
        ModuleKind::Procedure { .. } => (K::CreateProcedure, K::AlterProcedure),
        ModuleKind::Trigger { .. } => (K::CreateTrigger, K::AlterTrigger),
        ModuleKind::ScalarFunction { .. }
        | ModuleKind::InlineFunction { .. }
        | ModuleKind::TableFunction { .. } => (K::CreateFunction, K::AlterFunction),
    };
    if alter { change } else { create }
}

fn principal(s: &PrincipalStmt) -> K {
    let (create, alter) = match s.kind.as_str() {
        "LOGIN" => (K::CreateLogin, K::AlterLogin),
        "SERVER ROLE" => (K::CreateServerRole, K::AlterServerRole),
        "USER" => (K::CreateUser, K::AlterUser),
        _ => (K::CreateRole, K::AlterRole),
    };
    if s.alter { alter } else { create }
}

/// Of the permissions that are granted here those of the server have its name in theirs.
fn is_of_server(permissions: &[String]) -> bool {
    permissions.iter().any(|p| p.contains("SERVER"))
}

fn partition(stmt: &PartitionStmt) -> K {
    match stmt {
        PartitionStmt::CreateFunction { .. } => K::CreatePartitionFunction,
        PartitionStmt::AlterFunction { .. } => K::AlterPartitionFunction,
        PartitionStmt::DropFunction(_) => K::DropPartitionFunction,
        PartitionStmt::CreateScheme { .. } => K::CreatePartitionScheme,
        PartitionStmt::AlterScheme { .. } => K::AlterPartitionScheme,
        PartitionStmt::DropScheme(_) => K::DropPartitionScheme,
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use duramen_inspect::reference::permissions;

    use super::*;

    /// Rows whose statements are made, and counted, as those of another row are; REWINDONLY is refused whatever it names (3216).
    const WITH: [(&str, &str); 4] = [
        ("RESTORE FILELISTONLY", "RESTORE HEADERONLY"),
        ("RESTORE LABELONLY", "RESTORE HEADERONLY"),
        ("RESTORE REWINDONLY", "RESTORE HEADERONLY"),
        ("RESTORE VERIFYONLY", "RESTORE HEADERONLY"),
    ];

    fn counted_with(row: &str) -> &str {
        let with = WITH.iter().find(|(own, _)| *own == row);
        with.map_or(row, |(_, other)| other)
    }

    /// Every row of the session's list of statements has kinds here, and those are made unless it refuses them.
    #[test]
    fn the_grammar_follows_the_statement_rows() {
        let all = permissions().into_iter().filter(|p| p.kind == "statement");
        let rows: BTreeMap<String, bool> = all.map(|p| (p.name, p.right == "refused")).collect();
        let mine: BTreeSet<String> = KINDS.iter().map(|k| k.row.to_owned()).collect();
        let theirs: BTreeSet<String> = rows.keys().map(|r| counted_with(r).to_owned()).collect();
        assert_eq!(theirs, mine);
        for kind in KINDS {
            let refused = rows[kind.row];
            assert_eq!(
                refused,
                kind.cover == NOT_HERE && kind.row != "ALTER TABLE",
                "{}",
                kind.name
            );
        }
        let made = |row: &str| {
            let row = counted_with(row);
            KINDS.iter().any(|k| k.row == row && k.cover.is_made())
        };
        let idle: Vec<&String> = rows.keys().filter(|r| !rows[*r] && !made(r)).collect();
        let known = [
            "ALTER EVENT SESSION",
            "CREATE EVENT SESSION",
            "DROP EVENT SESSION",
            "SHUTDOWN",
        ];
        assert_eq!(idle, known, "these rows have no generator");
    }
}
