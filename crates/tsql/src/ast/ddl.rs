//! Definitions of tables, indexes, modules and principals.

use super::*;

#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    pub name: ObjectName,
    pub elements: Vec<TableElement>,
    pub on: Option<DataSpace>,
    pub textimage_on: Option<String>,
    /// `WITH (DATA_COMPRESSION = PAGE, ...)`.
    pub options: Vec<NamedOption>,
}

/// What follows ON: a filegroup, or a partition scheme with the columns whose values decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSpace {
    pub name: String,
    pub columns: Vec<String>,
}

/// CREATE, ALTER and DROP of partition functions and schemes.
#[derive(Clone, PartialEq, Debug)]
pub enum PartitionStmt {
    CreateFunction {
        name: String,
        types: Vec<DataType>,
        /// RANGE RIGHT: a boundary belongs to the partition above it.
        right: bool,
        values: Vec<Expr>,
    },
    CreateScheme {
        name: String,
        function: String,
        /// ALL TO
        all: bool,
        filegroups: Vec<String>,
    },
    /// SPLIT RANGE (value) or MERGE RANGE (value).
    AlterFunction {
        name: String,
        split: bool,
        value: Option<Expr>,
    },
    /// NEXT USED [filegroup]
    AlterScheme {
        name: String,
        next_used: Option<String>,
    },
    DropFunction(String),
    DropScheme(String),
}

#[derive(Clone, PartialEq, Debug)]
pub enum TableElement {
    Column(Box<ColumnDef>),
    Constraint(TableConstraint),
    /// Inline `INDEX name ...`.
    Index(CreateIndex),
}

#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    pub name: String,
    /// `None` for a computed column. `timestamp` without a name comes as a column `timestamp` of that type.
    pub ty: Option<DataType>,
    pub computed: Option<Computed>,
    pub collation: Option<String>,
    /// `None`: not stated.
    pub nullable: Option<bool>,
    pub identity: Option<IdentitySpec>,
    pub default: Option<DefaultSpec>,
    /// DEFAULT is written more than once.
    pub second_default: bool,
    /// NULL or NOT NULL is.
    pub second_nullable: bool,
    pub rowguidcol: bool,
    pub sparse: bool,
    /// PRIMARY KEY, UNIQUE, CHECK and REFERENCES written at the column; keys then name this column.
    pub constraints: Vec<TableConstraint>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Computed {
    pub expr: Expr,
    /// The text between the parentheses' outside, parentheses included as written.
    pub source: Span,
    pub persisted: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct IdentitySpec {
    /// As text, sign included: numeric identities may exceed i64.
    pub seed: String,
    pub increment: String,
    pub not_for_replication: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct DefaultSpec {
    /// Constraint name.
    pub name: Option<String>,
    pub expr: Expr,
    /// Text of the expression.
    pub source: Span,
    /// `WITH VALUES` (ALTER TABLE ADD).
    pub with_values: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TableConstraint {
    pub name: Option<String>,
    pub kind: ConstraintKind,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ConstraintKind {
    /// PRIMARY KEY or UNIQUE.
    Key {
        primary: bool,
        /// `None`: default (clustered for a primary key).
        clustered: Option<bool>,
        columns: Vec<IndexColumn>,
        options: Vec<NamedOption>,
        on: Option<DataSpace>,
    },
    Check {
        expr: Expr,
        source: Span,
        not_for_replication: bool,
    },
    ForeignKey {
        columns: Vec<String>,
        table: ObjectName,
        referenced: Vec<String>,
        on_delete: ReferenceAction,
        on_update: ReferenceAction,
        not_for_replication: bool,
    },
    /// `DEFAULT expr FOR column` (ALTER TABLE ADD).
    Default { spec: DefaultSpec, column: String },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceAction {
    NoAction,
    Cascade,
    SetNull,
    SetDefault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    pub name: String,
    pub desc: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AlterTable {
    pub table: ObjectName,
    pub action: AlterTableAction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AlterTableAction {
    /// `ADD ...`; `with_check` from `WITH CHECK | NOCHECK`.
    Add {
        elements: Vec<TableElement>,
        with_check: Option<bool>,
    },
    DropColumns {
        if_exists: bool,
        names: Vec<String>,
    },
    DropConstraints {
        if_exists: bool,
        names: Vec<String>,
    },
    AlterColumn {
        name: String,
        ty: DataType,
        collation: Option<String>,
        nullable: Option<bool>,
    },
    /// `[WITH CHECK] CHECK|NOCHECK CONSTRAINT ALL|names`; `None` names: ALL.
    Check {
        enable: bool,
        with_check: Option<bool>,
        names: Option<Vec<String>>,
    },
    /// `ENABLE|DISABLE TRIGGER`.
    Trigger {
        enable: bool,
        names: Option<Vec<String>>,
    },
    Rebuild {
        /// `PARTITION = n`; `None`: ALL, or nothing said.
        partition: Option<Expr>,
        options: Vec<NamedOption>,
    },
    /// `SWITCH [PARTITION n] TO table [PARTITION n]`.
    Switch {
        partition: Option<Expr>,
        target: ObjectName,
        target_partition: Option<Expr>,
    },
    Set {
        options: Vec<NamedOption>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateIndex {
    pub name: String,
    /// `None` when inline in CREATE TABLE.
    pub table: Option<ObjectName>,
    pub unique: bool,
    /// `None`: not stated (nonclustered).
    pub clustered: Option<bool>,
    pub columnstore: bool,
    pub columns: Vec<IndexColumn>,
    pub include: Vec<String>,
    pub filter: Option<Expr>,
    pub filter_source: Option<Span>,
    pub options: Vec<NamedOption>,
    pub on: Option<DataSpace>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AlterIndex {
    /// `None`: ALL.
    pub name: Option<String>,
    pub table: ObjectName,
    pub action: AlterIndexAction,
    /// `PARTITION = n`; `None`: ALL, or nothing said.
    pub partition: Option<Expr>,
    pub options: Vec<NamedOption>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AlterIndexAction {
    Rebuild,
    Reorganize,
    Disable,
    Set,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateStatistics {
    pub name: String,
    pub table: ObjectName,
    pub columns: Vec<String>,
    pub filter: Option<Expr>,
    pub options: Vec<NamedOption>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropKind {
    Table,
    View,
    Procedure,
    Function,
    Trigger,
    Schema,
    Sequence,
    Synonym,
    Type,
    Statistics,
    Login,
    User,
    Role,
    Default,
    Rule,
}

/// CREATE, ALTER or CREATE OR ALTER of a procedure, function, view or trigger.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateModule {
    pub mode: ModuleMode,
    pub name: ObjectName,
    pub kind: ModuleKind,
    /// WITH options: ENCRYPTION, SCHEMABINDING, RECOMPILE, `EXECUTE AS ...`, upper-cased.
    pub options: Vec<String>,
    /// The whole batch text: what `sys.sql_modules.definition` shows.
    pub source: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModuleMode {
    Create,
    Alter,
    CreateOrAlter,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ModuleKind {
    Procedure {
        params: Vec<Parameter>,
        body: Vec<Statement>,
    },
    View {
        columns: Vec<String>,
        query: Box<SelectStmt>,
        check_option: bool,
    },
    ScalarFunction {
        params: Vec<Parameter>,
        returns: DataType,
        body: Vec<Statement>,
    },
    InlineFunction {
        params: Vec<Parameter>,
        query: Box<SelectStmt>,
    },
    TableFunction {
        params: Vec<Parameter>,
        variable: String,
        elements: Vec<TableElement>,
        body: Vec<Statement>,
    },
    Trigger {
        table: ObjectName,
        instead_of: bool,
        /// INSERT, UPDATE, DELETE.
        events: Vec<String>,
        body: Vec<Statement>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// With the `@`.
    pub name: String,
    pub ty: DataType,
    pub default: Option<Expr>,
    pub output: bool,
    pub readonly: bool,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateSequence {
    /// ALTER SEQUENCE.
    pub alter: bool,
    pub name: ObjectName,
    pub ty: Option<DataType>,
    /// START WITH, RESTART WITH, INCREMENT BY, MINVALUE, MAXVALUE, CYCLE, CACHE and the NO forms.
    pub options: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CreateType {
    pub name: ObjectName,
    pub kind: CreateTypeKind,
    /// From its name to its end.
    pub source: Span,
}

#[derive(Clone, PartialEq, Debug)]
pub enum CreateTypeKind {
    Alias {
        base: DataType,
        nullable: Option<bool>,
    },
    Table(Vec<TableElement>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct PrincipalStmt {
    pub alter: bool,
    /// LOGIN, USER, ROLE, SERVER ROLE.
    pub kind: String,
    pub name: String,
    /// PASSWORD, DEFAULT_DATABASE, `FOR LOGIN`, `ADD MEMBER`, ENABLE, DISABLE, ...
    pub options: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct PermissionStmt {
    pub action: PermissionAction,
    /// Upper-cased, e.g. `VIEW SERVER STATE`.
    pub permissions: Vec<String>,
    /// Class word before `::` and the name.
    pub on: Option<(Option<String>, ObjectName)>,
    pub principals: Vec<String>,
    pub grant_option: bool,
    pub cascade: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PermissionAction {
    Grant,
    Deny,
    Revoke,
}
