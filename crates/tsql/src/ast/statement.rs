//! Statements that run: data changes, control of flow, session settings.

use super::*;

/// One parsed batch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    pub statements: Vec<Statement>,
    /// The servers that names of four parts name, with their lines; what a synonym stands for is not looked at before it is
    /// used.
    pub servers: Vec<(String, u32)>,
    /// Where the text declares and uses variables, in its order.
    pub variables: Vec<VariableUse>,
}

/// A variable at one place of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableUse {
    /// With the `@`.
    pub name: String,
    pub role: VariableRole,
    /// Where it stands; for a declaration where its statement ends, which is where it begins to hold.
    pub at: u32,
    pub line: u32,
}

/// What a text does with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableRole {
    Declared,
    DeclaredTable,
    Read,
    Assigned,
    /// It stands for a table.
    Table,
    /// Handed over to a procedure: a value or a table.
    Argument,
    /// `@@name`, which is nobody's to declare.
    Global,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub kind: StatementKind,
    /// The line of its first token: what run-time errors report.
    pub line: u32,
    pub span: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    Select(Box<SelectStmt>),
    Insert(Box<InsertStmt>),
    InsertBulk(Box<InsertBulk>),
    Update(Box<UpdateStmt>),
    Delete(Box<DeleteStmt>),
    Merge(Box<MergeStmt>),
    TruncateTable {
        table: ObjectName,
        /// `WITH (PARTITIONS (n, a TO b))`; empty: the whole table.
        partitions: Vec<(Expr, Option<Expr>)>,
    },

    // Definitions: see `ddl` and `database`.
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    AlterIndex(Box<AlterIndex>),
    CreateStatistics(Box<CreateStatistics>),
    UpdateStatistics {
        table: ObjectName,
        names: Vec<String>,
        options: Vec<NamedOption>,
    },
    /// DROP of anything but databases and indexes.
    Drop {
        kind: DropKind,
        if_exists: bool,
        names: Vec<ObjectName>,
    },
    DropIndex {
        if_exists: bool,
        /// (index, table)
        indexes: Vec<(String, ObjectName)>,
    },
    CreateModule(Box<CreateModule>),
    CreateSchema {
        name: String,
        authorization: Option<String>,
    },
    /// `ALTER AUTHORIZATION ON [class::]name TO principal`; no principal: SCHEMA OWNER.
    AlterAuthorization {
        class: Option<String>,
        name: ObjectName,
        to: Option<String>,
    },
    /// `ALTER SCHEMA schema TRANSFER [class::]name`.
    AlterSchema {
        schema: String,
        class: Option<String>,
        name: ObjectName,
    },
    Partition(Box<PartitionStmt>),
    CreateSequence(Box<CreateSequence>),
    CreateType(Box<CreateType>),
    CreateSynonym {
        name: ObjectName,
        target: ObjectName,
    },
    /// CREATE/ALTER LOGIN, USER, ROLE, and ADD/DROP MEMBER.
    Principal(Box<PrincipalStmt>),
    Permission(Box<PermissionStmt>),
    CreateEventSession(Box<EventSession>),
    AlterEventSession(Box<AlterEventSession>),
    DropEventSession {
        name: String,
    },

    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase {
        if_exists: bool,
        names: Vec<String>,
    },
    AlterDatabaseScopedConfiguration(ScopedConfiguration),
    Backup(Box<Backup>),
    Restore(Box<Restore>),

    Declare(Vec<Declaration>),
    DeclareTable {
        name: String,
        elements: Vec<TableElement>,
    },
    DeclareCursor(Box<DeclareCursor>),
    Cursor(CursorStmt),
    /// `SET @x = expr`, `SET @x += expr`.
    SetVariable {
        name: String,
        op: Option<BinaryOp>,
        value: Expr,
    },
    SetOption(SetOption),

    If {
        condition: Expr,
        then: Box<Statement>,
        otherwise: Option<Box<Statement>>,
    },
    While {
        condition: Expr,
        body: Box<Statement>,
    },
    Block(Vec<Statement>),
    TryCatch {
        body: Vec<Statement>,
        catch: Vec<Statement>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Goto(String),
    Label(String),
    /// `LINENO n`: the line that it stands on has this number, and those behind it count on from there.
    LineNumber(u32),
    Print(Expr),
    RaiseError(Box<RaiseError>),
    /// `THROW` (`None`) or `THROW number, message, state`.
    Throw(Option<Box<(Expr, Expr, Expr)>>),
    WaitFor {
        kind: WaitForKind,
        value: Expr,
    },

    BeginTran {
        name: Option<TranName>,
        /// `WITH MARK ['description']`.
        mark: Option<Option<String>>,
        distributed: bool,
    },
    Commit {
        name: Option<TranName>,
        /// `WITH (DELAYED_DURABILITY = ON|OFF)`.
        delayed_durability: Option<bool>,
    },
    Rollback {
        name: Option<TranName>,
    },
    SaveTran {
        name: TranName,
    },

    Use(String),
    Exec(Box<ExecStmt>),
    /// `EXECUTE AS ...`; the login or user name, `None` for CALLER.
    ExecuteAs {
        kind: String,
        name: Option<String>,
    },
    Revert,
    Dbcc(Box<Dbcc>),
    /// `CHECKPOINT [seconds]`.
    Checkpoint(Option<Expr>),
    Shutdown {
        nowait: bool,
    },
    Kill {
        session: Expr,
        status_only: bool,
    },
    Reconfigure {
        with_override: bool,
    },
}

/// A transaction name: an identifier or a variable holding it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TranName {
    Name(String),
    Variable(String),
}

impl TranName {
    /// Characters at most; of a variable's value only the first ones count.
    pub const MAX: usize = 32;
}

/// What INSERT, UPDATE, DELETE or MERGE changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    pub kind: TargetKind,
    pub hints: Vec<TableHint>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TargetKind {
    /// A table, a view, or (UPDATE and DELETE) an alias of FROM.
    Table(ObjectName),
    /// `@t`.
    Variable(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct InsertStmt {
    pub ctes: Vec<Cte>,
    pub top: Option<Top>,
    pub target: Target,
    pub columns: Vec<String>,
    pub output: Option<Output>,
    pub source: InsertSource,
    pub hints: Vec<QueryHint>,
}

/// `INSERT BULK`: rows of these columns follow, as a message of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct InsertBulk {
    pub table: ObjectName,
    /// Empty: all of the table's.
    pub columns: Vec<BulkColumn>,
    /// In upper case; what ROWS_PER_BATCH and its like are set to is not kept.
    pub options: Vec<String>,
    /// ORDER: columns, and whether each descends.
    pub order: Vec<(String, bool)>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BulkColumn {
    pub name: String,
    pub ty: DataType,
}

#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// VALUES comes as `QueryExpr::Values`, whose expressions may be `Default`.
    Query(Box<SelectStmt>),
    DefaultValues,
    Exec(Box<ExecStmt>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    pub items: Vec<SelectItem>,
    pub into: Option<(TargetKind, Vec<String>)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct UpdateStmt {
    pub ctes: Vec<Cte>,
    pub top: Option<Top>,
    pub target: Target,
    pub set: Vec<SetClause>,
    pub output: Option<Output>,
    pub from: Vec<TableSource>,
    pub where_: Option<DmlWhere>,
    pub hints: Vec<QueryHint>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DmlWhere {
    Condition(Expr),
    /// `WHERE CURRENT OF cursor`.
    CurrentOf(String),
}

#[derive(Clone, PartialEq, Debug)]
pub enum SetClause {
    /// `col = e`, `col += e`, `@v = col = e`.
    Column {
        variable: Option<String>,
        column: ObjectName,
        op: Option<BinaryOp>,
        value: Expr,
        line: u32,
    },
    /// `@v = e`.
    Variable {
        name: String,
        op: Option<BinaryOp>,
        value: Expr,
        line: u32,
    },
    /// `col.WRITE(expr, offset, length)`.
    Write {
        column: String,
        args: Vec<Expr>,
        line: u32,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct DeleteStmt {
    pub ctes: Vec<Cte>,
    pub top: Option<Top>,
    pub target: Target,
    pub output: Option<Output>,
    pub from: Vec<TableSource>,
    pub where_: Option<DmlWhere>,
    pub hints: Vec<QueryHint>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct MergeStmt {
    pub ctes: Vec<Cte>,
    pub top: Option<Top>,
    pub target: Target,
    pub target_alias: Option<String>,
    pub source: TableSource,
    pub on: Expr,
    pub clauses: Vec<MergeClause>,
    pub output: Option<Output>,
    pub hints: Vec<QueryHint>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct MergeClause {
    pub kind: MergeKind,
    pub condition: Option<Expr>,
    pub action: MergeAction,
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeKind {
    Matched,
    NotMatched,
    NotMatchedBySource,
}

#[derive(Clone, PartialEq, Debug)]
pub enum MergeAction {
    Update(Vec<SetClause>),
    Delete,
    /// `None` values: DEFAULT VALUES.
    Insert {
        columns: Vec<String>,
        values: Option<Vec<Expr>>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    pub name: String,
    /// `None`: `DECLARE @c CURSOR`.
    pub ty: Option<DataType>,
    pub init: Option<Expr>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct DeclareCursor {
    /// Identifier, or `@c` for `SET @c = CURSOR ...`.
    pub name: String,
    /// LOCAL, GLOBAL, FORWARD_ONLY, SCROLL, STATIC, KEYSET, DYNAMIC, FAST_FORWARD, READ_ONLY, ... upper-cased.
    pub options: Vec<String>,
    pub query: SelectStmt,
    /// `FOR UPDATE [OF columns]`.
    pub for_update: Option<Vec<String>>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CursorStmt {
    Open(CursorName),
    Close(CursorName),
    Deallocate(CursorName),
    Fetch {
        direction: FetchDirection,
        cursor: CursorName,
        into: Vec<String>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CursorName {
    /// With the `@` when it is a variable.
    pub name: String,
    pub global: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FetchDirection {
    Next,
    Prior,
    First,
    Last,
    Absolute(Expr),
    Relative(Expr),
}

/// SET statements about the session; names upper-cased.
#[derive(Clone, PartialEq, Debug)]
pub enum SetOption {
    /// `SET NOCOUNT, XACT_ABORT ON`.
    OnOff {
        names: Vec<String>,
        on: bool,
    },
    /// `SET STATISTICS IO, TIME ON`.
    Statistics {
        names: Vec<String>,
        on: bool,
    },
    IdentityInsert {
        table: ObjectName,
        on: bool,
    },
    IsolationLevel(IsolationLevel),
    /// `SET LOCK_TIMEOUT 100`, `SET ROWCOUNT @n`, `SET DATEFORMAT dmy` (a bare word comes as a string literal).
    Value {
        name: String,
        value: Expr,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RaiseError {
    /// Number, text or variable.
    pub message: Expr,
    pub severity: Expr,
    pub state: Expr,
    pub args: Vec<Expr>,
    /// LOG, NOWAIT, SETERROR.
    pub options: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitForKind {
    Delay,
    Time,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ExecStmt {
    /// `EXEC @rc = ...`.
    pub result: Option<String>,
    pub call: ExecCall,
    /// WITH RECOMPILE, RESULT SETS NONE, ...: upper-cased words.
    pub options: Vec<String>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExecCall {
    Procedure {
        name: ObjectName,
        /// `p;2`.
        number: Option<u32>,
        args: Vec<ExecArg>,
    },
    /// `EXEC @name args`.
    ProcedureVariable {
        variable: String,
        args: Vec<ExecArg>,
    },
    /// `EXEC ('text' + @x) [AS LOGIN|USER = 'x'] [AT server]`.
    Text {
        text: Expr,
        args: Vec<Expr>,
        at: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct ExecArg {
    /// With the `@`.
    pub name: Option<String>,
    /// A literal, variable or `Default`; a bare word comes as a string literal.
    pub value: Expr,
    pub output: bool,
}

/// `DBCC name (args) WITH options`; the name and the options upper-cased.
#[derive(Clone, PartialEq, Debug)]
pub struct Dbcc {
    pub name: String,
    pub args: Vec<DbccArg>,
    pub options: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DbccArg {
    /// A bare word (`CLEAR`, `RESEED`, `[Credit]`, `dbo.t`), as written with delimiters removed.
    Word(String),
    /// Literal, signed number or variable.
    Value(Expr),
}

/// `NAME`, `NAME = value`; the name upper-cased, several words joined by one blank.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedOption {
    pub name: String,
    pub value: Option<OptionValue>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum OptionValue {
    /// ON, OFF or another bare word, as written.
    Word(String),
    Int(i64),
    Decimal(String),
    String(StringLiteral),
    Variable(String),
    Size(Size),
    Binary(Vec<u8>),
    List(Vec<NamedOption>),
}

impl OptionValue {
    /// `ON` is true, `OFF` is false.
    pub fn as_on_off(&self) -> Option<bool> {
        match self {
            OptionValue::Word(w) if w.eq_ignore_ascii_case("ON") => Some(true),
            OptionValue::Word(w) if w.eq_ignore_ascii_case("OFF") => Some(false),
            _ => None,
        }
    }
}

/// `200MB`, `10%`, `UNLIMITED`; without a unit MB is meant for files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub value: u64,
    pub unit: SizeUnit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeUnit {
    /// None written.
    Default,
    KB,
    MB,
    GB,
    TB,
    Percent,
    Pages,
    Unlimited,
}

impl Size {
    /// Bytes; `None` for a percentage, for UNLIMITED, and on overflow.
    pub fn bytes(&self) -> Option<u64> {
        let unit = match self.unit {
            SizeUnit::KB => 1 << 10,
            SizeUnit::Default | SizeUnit::MB => 1 << 20,
            SizeUnit::GB => 1 << 30,
            SizeUnit::TB => 1 << 40,
            SizeUnit::Pages => 8192,
            SizeUnit::Percent | SizeUnit::Unlimited => return None,
        };
        self.value.checked_mul(unit)
    }
}
