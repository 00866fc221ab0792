//! The tree of a T-SQL batch.
//!
//! Plain data, made by [`crate::parse_batch`] and read by the binder and the session. Nothing here is resolved: names
//! are as written (delimiters removed), literals are text where their type needs the binder (decimals, money).
//!
//! Invariants:
//! 1. `line` is 1-based within the batch text given to the parser; spans are byte offsets into that text.
//!    [test: errors_name_the_token_and_its_line; test: source_spans_hold_the_text_of_defaults]
//! 2. A condition (comparison, AND, EXISTS, ...) never stands where a value is needed, nor the other way round: the
//!    parser refuses both, so the binder may treat a mismatch as a bug. [test: conditions_bind_not_and_or]
//! 3. Trees are at most [`crate::MAX_HEIGHT`] high, so recursive walks are safe. Chains of AND and of OR are balanced.
//!    [test: deep_nesting_is_error_191_on_a_small_stack]

mod database;
mod ddl;
mod statement;
pub mod walk;

pub use database::*;
pub use ddl::*;
pub use statement::*;

/// Byte offsets `start..end` into the batch text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

/// A name of one to four parts (columns: up to five), outermost first; a part left out (`db..t`) is an empty string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectName {
    pub parts: Vec<String>,
    pub line: u32,
}

impl ObjectName {
    pub fn single(name: &str, line: u32) -> ObjectName {
        ObjectName {
            parts: vec![name.to_string()],
            line,
        }
    }

    fn part_from_end(&self, n: usize) -> Option<&str> {
        let index = self.parts.len().checked_sub(n + 1)?;
        Some(self.parts[index].as_str()).filter(|p| !p.is_empty())
    }

    /// The last part.
    pub fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    pub fn schema(&self) -> Option<&str> {
        self.part_from_end(1)
    }

    pub fn database(&self) -> Option<&str> {
        self.part_from_end(2)
    }

    pub fn server(&self) -> Option<&str> {
        self.part_from_end(3)
    }

    /// The name as messages show it: parts joined by dots.
    pub fn display(&self) -> String {
        self.parts.join(".")
    }
}

/// A name as an identifier in brackets.
pub fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A type as written: `int`, `nvarchar(max)`, `decimal(15,2)`, `dbo.MyType`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataType {
    pub name: ObjectName,
    pub args: Vec<TypeArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeArg {
    Number(u32),
    Max,
}

/// An expression: a value or, where the grammar asks for one, a condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: ExprKind,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Literal(Literal),
    /// A column, `name` possibly qualified. `$action`, `$identity`, `$rowguid` come as columns with the `$`.
    Column(ObjectName),
    /// `@x` as written, or a global `@@rowcount`, which is lower-cased.
    Variable(String),
    Unary {
        op: UnaryOp,
        expr: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Function(Box<FunctionCall>),
    Cast(Box<Cast>),
    Case {
        operand: Option<Box<Expr>>,
        /// With an operand the first of the pair is a value, else a condition.
        whens: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// A scalar subquery.
    Subquery(Box<SelectStmt>),
    Collate {
        expr: Box<Expr>,
        collation: String,
    },
    AtTimeZone {
        expr: Box<Expr>,
        zone: Box<Expr>,
    },
    /// `DEFAULT` in VALUES, SET and procedure arguments; nowhere else.
    Default,

    // Conditions.
    Compare {
        op: CompareOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `left op ALL|ANY (subquery)`; SOME is ANY.
    CompareQuantified {
        op: CompareOp,
        all: bool,
        left: Box<Expr>,
        query: Box<SelectStmt>,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] DISTINCT FROM`.
    IsDistinct {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    Between {
        expr: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        expr: Box<Expr>,
        query: Box<SelectStmt>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Exists(Box<SelectStmt>),
    /// `UPDATE(column)` in a trigger.
    UpdateColumn(String),
}

impl ExprKind {
    /// Whether this is a condition rather than a value.
    pub fn is_condition(&self) -> bool {
        use ExprKind::*;
        matches!(
            self,
            Compare { .. }
                | CompareQuantified { .. }
                | And(..)
                | Or(..)
                | Not(..)
                | IsNull { .. }
                | IsDistinct { .. }
                | Between { .. }
                | InList { .. }
                | InQuery { .. }
                | Like { .. }
                | Exists(..)
                | UpdateColumn(..)
        )
    }
}

/// A literal; the sign is never part of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    Null,
    /// Fits i32.
    Int(i32),
    /// Digits with at most one point, no exponent; leading zeros of the integer part are removed (`0.5` and `.5` are
    /// both `.5`), fraction zeros are kept: precision is the number of digits, scale those after the point.
    Decimal(String),
    Float(f64),
    /// Ten-thousandths.
    Money(i64),
    String(StringLiteral),
    Binary(Vec<u8>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StringLiteral {
    pub value: String,
    /// Written `N'...'`.
    pub national: bool,
    /// Of an argument of what may be a method of xml: the declarations of WITH XMLNAMESPACES, to stand before it.
    pub namespaces: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Plus,
    Minus,
    BitNot,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// The first part of a call's name when it is a method of an xml value that is no column: `@x.value(...)`. The value is
/// the first argument. Methods of columns come as functions, `c.value(...)`: only binding can tell.
pub const XML_METHOD: &str = "\0xml";

/// The methods of xml values; their letter case counts.
pub const XML_METHODS: &[&str] = &["exist", "modify", "nodes", "query", "value"];

/// `name(args)`. Functions spelt without parentheses (CURRENT_TIMESTAMP, SESSION_USER, ...) come with no args, as do
/// COALESCE, NULLIF, LEFT, RIGHT, TRIM (`TRIM(a FROM b)` is TRIM(b, a)), IDENTITY(type, seed, step). IIF comes as CASE.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionCall {
    pub name: ObjectName,
    pub args: Vec<Expr>,
    /// First argument when it is a bare word of date functions (`DATEADD(day, ...)`), lower-cased; not in `args`.
    pub datepart: Option<String>,
    /// Type argument of `IDENTITY(int, 1, 1)`.
    pub type_arg: Option<DataType>,
    /// `COUNT(*)`.
    pub star: bool,
    pub distinct: bool,
    pub over: Option<Over>,
    /// `WITHIN GROUP (ORDER BY ...)`.
    pub within_group: Vec<OrderItem>,
    /// `IGNORE NULLS` is true, `RESPECT NULLS` false.
    pub ignore_nulls: Option<bool>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Over {
    /// `OVER window_name`.
    pub window: Option<String>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// ROWS, else RANGE.
    pub rows: bool,
    pub start: FrameBound,
    /// `None`: CURRENT ROW.
    pub end: Option<FrameBound>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// CAST, CONVERT, PARSE and their TRY_ forms.
#[derive(Clone, PartialEq, Debug)]
pub struct Cast {
    pub kind: CastKind,
    pub expr: Expr,
    pub ty: DataType,
    /// CONVERT's style, PARSE's culture.
    pub style: Option<Expr>,
    /// TRY_CAST, TRY_CONVERT, TRY_PARSE.
    pub try_: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastKind {
    Cast,
    Convert,
    Parse,
}

/// A whole query: CTEs, the query expression, and what follows it.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectStmt {
    pub ctes: Vec<Cte>,
    pub body: QueryExpr,
    pub order_by: Vec<OrderItem>,
    pub offset: Option<Expr>,
    pub fetch: Option<Expr>,
    /// OPTION (...); only at the end of a statement.
    pub hints: Vec<QueryHint>,
    pub for_clause: Option<ForClause>,
    pub line: u32,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForClause {
    Browse,
    Xml,
    Json,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Cte {
    pub name: String,
    pub columns: Vec<String>,
    pub query: SelectStmt,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum QueryExpr {
    Select(Box<QuerySpec>),
    SetOp {
        op: SetOp,
        all: bool,
        left: Box<QueryExpr>,
        right: Box<QueryExpr>,
    },
    /// `VALUES (..),(..)` as the source of an INSERT, a MERGE or a derived table.
    Values(Vec<Vec<Expr>>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

/// One SELECT ... FROM ... HAVING.
#[derive(Clone, PartialEq, Debug)]
pub struct QuerySpec {
    pub distinct: bool,
    pub top: Option<Top>,
    pub items: Vec<SelectItem>,
    pub into: Option<ObjectName>,
    /// Comma-separated sources; empty: no FROM clause.
    pub from: Vec<TableSource>,
    pub where_: Option<Expr>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Expr>,
    /// `WINDOW w AS (...)`.
    pub windows: Vec<(String, Over)>,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Top {
    pub count: Expr,
    pub percent: bool,
    pub with_ties: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SelectItem {
    /// `*` (`None`) or `t.*`, `dbo.t.*`.
    Star {
        qualifier: Option<ObjectName>,
        line: u32,
    },
    /// `expr`, `expr AS alias`, `alias = expr`.
    Expr { expr: Expr, alias: Option<String> },
    /// `@x = expr`, `@x += expr` (`op` then holds the operator).
    Assign {
        variable: String,
        op: Option<BinaryOp>,
        expr: Expr,
        line: u32,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct GroupBy {
    pub items: Vec<GroupItem>,
    pub all: bool,
    /// Legacy `WITH ROLLUP` / `WITH CUBE`.
    pub with: Option<GroupWith>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupWith {
    Rollup,
    Cube,
}

#[derive(Clone, PartialEq, Debug)]
pub enum GroupItem {
    Expr(Expr),
    Rollup(Vec<Vec<Expr>>),
    Cube(Vec<Vec<Expr>>),
    GroupingSets(Vec<GroupItem>),
    /// A composite item inside GROUPING SETS; empty: `()`.
    Set(Vec<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct OrderItem {
    pub expr: Expr,
    pub desc: bool,
}

/// `OPTION (name value)`: words upper-cased and joined by one blank, e.g. `RECOMPILE`, `MAXDOP`, `HASH JOIN`.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryHint {
    pub name: String,
    pub value: Option<Literal>,
}

/// What stands in FROM.
#[derive(Clone, PartialEq, Debug)]
pub enum TableSource {
    Table(TableRef),
    Derived {
        query: Box<SelectStmt>,
        alias: String,
        columns: Vec<String>,
        line: u32,
    },
    /// `fn_dblog(NULL, NULL)`, `sys.dm_db_log_info(d.database_id) AS li`.
    Function {
        name: ObjectName,
        args: Vec<Expr>,
        alias: Option<String>,
        columns: Vec<String>,
        /// `WITH (name type, ...)` of OPENJSON.
        with_columns: Vec<(String, DataType)>,
        line: u32,
    },
    /// `@t AS x`.
    Variable {
        name: String,
        alias: Option<String>,
        hints: Vec<TableHint>,
        line: u32,
    },
    Join(Box<Join>),
    Pivot(Box<Pivot>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct TableRef {
    pub name: ObjectName,
    pub alias: Option<String>,
    pub hints: Vec<TableHint>,
    /// `TABLESAMPLE (n PERCENT|ROWS)`: the number and whether it is a percentage.
    pub sample: Option<(Expr, bool)>,
    pub line: u32,
}

/// `NOLOCK`, `INDEX(1, ix)`, `FORCESEEK`...; the name upper-cased.
#[derive(Clone, PartialEq, Debug)]
pub struct TableHint {
    pub name: String,
    pub args: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    pub kind: JoinKind,
    /// `HASH`, `MERGE`, `LOOP`, `REMOTE`.
    pub hint: Option<String>,
    pub left: TableSource,
    pub right: TableSource,
    /// `None` for CROSS JOIN and APPLY.
    pub on: Option<Expr>,
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Pivot {
    pub source: TableSource,
    pub kind: PivotKind,
    pub alias: String,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PivotKind {
    Pivot {
        aggregate: Box<FunctionCall>,
        column: ObjectName,
        values: Vec<String>,
    },
    Unpivot {
        value: String,
        column: String,
        sources: Vec<ObjectName>,
    },
}
