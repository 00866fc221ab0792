//! Names in values: columns, function calls, windows, casts, and the expressions spelt with reserved words.

use duramen_base::{SqlError, SqlResult, messages};

use super::{Holds, Parser};
use crate::ast::*;
use crate::lexer::Tok;

/// Functions whose first argument is a bare date part.
const DATEPART_FUNCTIONS: &[&str] = &[
    "DATEADD",
    "DATEDIFF",
    "DATEDIFF_BIG",
    "DATENAME",
    "DATEPART",
    "DATETRUNC",
    "DATE_BUCKET",
];

/// Reserved words that are functions without parentheses.
const BARE_FUNCTIONS: &[&str] = &[
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "USER",
];

/// Reserved words that are functions with ordinary arguments.
const RESERVED_FUNCTIONS: &[&str] = &["COALESCE", "LEFT", "NULLIF", "RIGHT"];

impl Parser<'_> {
    /// An expression that starts with a reserved word.
    pub(super) fn keyword_expr(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if self.is_word("CASE") {
            return self.case();
        }
        if self.is_any(&["CONVERT", "TRY_CONVERT"]) {
            return self.convert();
        }
        if self.is_any(BARE_FUNCTIONS) {
            let name = ObjectName::single(self.text(0), line);
            self.advance();
            return Ok(function(name, Vec::new()));
        }
        if self.is_any(RESERVED_FUNCTIONS) && self.is_op_at(1, '(') {
            let name = ObjectName::single(self.text(0), line);
            self.advance();
            return self.call(name);
        }
        if self.is_word("IDENTITY") && self.is_op_at(1, '(') {
            self.advance();
            return self.identity_function(line);
        }
        if self.eat_word("IDENTITYCOL") {
            return self.column(ObjectName::single("$identity", line));
        }
        if self.eat_word("ROWGUIDCOL") {
            return self.column(ObjectName::single("$rowguid", line));
        }
        Err(self.unexpected())
    }

    /// `IDENTITY(type [, seed, step])` of SELECT INTO.
    fn identity_function(&mut self, line: u32) -> SqlResult<Expr> {
        self.expect_op('(')?;
        let ty = self.data_type()?;
        let mut args = Vec::new();
        while self.eat_op(',') {
            args.push(self.expr()?);
        }
        self.expect_op(')')?;
        let mut call = new_call(ObjectName::single("IDENTITY", line));
        call.args = args;
        call.type_arg = Some(ty);
        Ok(call_expr(call))
    }

    /// `a.b.c` or `a.b(...)`.
    pub(super) fn column_or_call(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if self.is_words(&["NEXT", "VALUE", "FOR"]) {
            return self.next_value();
        }
        let delimited = !matches!(self.kind(), Tok::Word { .. });
        let name = self.dotted_name(5, "column")?;
        self.check_name(name.name())?;
        if !self.is_op('(') {
            return self.column(name);
        }
        if delimited || name.parts.len() > 1 {
            return self.call(name);
        }
        match name.name().to_ascii_uppercase().as_str() {
            "CAST" => self.cast(CastKind::Cast, false, line),
            "TRY_CAST" => self.cast(CastKind::Cast, true, line),
            "PARSE" => self.cast(CastKind::Parse, false, line),
            "TRY_PARSE" => self.cast(CastKind::Parse, true, line),
            "IIF" => self.iif(line),
            "TRIM" => self.trim(name),
            _ => self.call(name),
        }
    }

    /// A name that is no function's.
    fn column(&self, name: ObjectName) -> SqlResult<Expr> {
        let line = name.line;
        if self.holds == Holds::Constants {
            let error = SqlError::new(&messages::NAME_NOT_PERMITTED, &[&name.display()]);
            return Err(error.at_line(line as i32));
        }
        Ok(Expr {
            kind: ExprKind::Column(name),
            line,
        })
    }

    fn next_value(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        self.expect_words(&["NEXT", "VALUE", "FOR"])?;
        let sequence = self.object_name()?;
        let mut call = new_call(ObjectName::single("NEXT VALUE FOR", line));
        call.args = vec![Expr {
            kind: ExprKind::Column(sequence),
            line,
        }];
        if self.eat_word("OVER") {
            call.over = Some(self.over()?);
        }
        Ok(call_expr(call))
    }

    /// The arguments and the windows after a function's name.
    pub(super) fn call(&mut self, name: ObjectName) -> SqlResult<Expr> {
        let call = self.function_call(name)?;
        if self.is_op('.') && !self.is_xml_method() {
            return Err(self.not_supported("method calls"));
        }
        Ok(call_expr(call))
    }

    /// Whether `.value(` or another method of xml values is here.
    pub(super) fn is_xml_method(&self) -> bool {
        self.is_op('.') && self.is_op_at(2, '(') && XML_METHODS.contains(&self.text(1))
    }

    /// `.value(...)` behind `input`.
    pub(super) fn xml_method(&mut self, input: Expr) -> SqlResult<FunctionCall> {
        self.expect_op('.')?;
        let line = self.line();
        let parts = vec![XML_METHOD.to_owned(), self.name()?];
        let mut call = self.function_call(ObjectName { parts, line })?;
        call.args.insert(0, input);
        Ok(call)
    }

    pub(super) fn function_call(&mut self, name: ObjectName) -> SqlResult<FunctionCall> {
        self.note_server(&name);
        let takes_datepart = name.parts.len() == 1
            && DATEPART_FUNCTIONS
                .iter()
                .any(|f| f.eq_ignore_ascii_case(name.name()));
        let mut call = new_call(name);
        self.expect_op('(')?;
        if self.is_op('*') && self.is_op_at(1, ')') {
            self.advance();
            call.star = true;
        } else if !self.is_op(')') {
            call.distinct = self.eat_word("DISTINCT");
            if !call.distinct {
                self.eat_word("ALL");
            }
            if takes_datepart && matches!(self.kind(), Tok::Word { .. }) {
                call.datepart = Some(self.text(0).to_ascii_lowercase());
                self.advance();
                if !self.is_op(')') {
                    self.expect_op(',')?;
                }
            }
            if !self.is_op(')') {
                call.args = self.list(Self::expr_or_default)?;
                self.with_namespaces(&call.name, &mut call.args);
            }
        }
        self.expect_op(')')?;
        self.call_suffix(&mut call)?;
        Ok(call)
    }

    /// `WITHIN GROUP (...)`, `IGNORE NULLS`, `OVER (...)`.
    fn call_suffix(&mut self, call: &mut FunctionCall) -> SqlResult<()> {
        if self.eat_words(&["WITHIN", "GROUP"]) {
            self.expect_op('(')?;
            call.within_group = self.order_by()?;
            self.expect_op(')')?;
        }
        if self.eat_words(&["IGNORE", "NULLS"]) {
            call.ignore_nulls = Some(true);
        } else if self.eat_words(&["RESPECT", "NULLS"]) {
            call.ignore_nulls = Some(false);
        }
        if self.eat_word("OVER") {
            call.over = Some(self.nested(Self::over)?);
        }
        Ok(())
    }

    /// What follows OVER: a window's name or its definition.
    fn over(&mut self) -> SqlResult<Over> {
        if !self.is_op('(') {
            return Ok(Over {
                window: Some(self.name()?),
                ..Over::default()
            });
        }
        self.window()
    }

    /// `([name] [PARTITION BY ...] [ORDER BY ...] [ROWS|RANGE ...])`.
    pub(super) fn window(&mut self) -> SqlResult<Over> {
        let mut over = Over::default();
        self.expect_op('(')?;
        if self.is_name_at(0) && !self.is_any(&["PARTITION", "ROWS", "RANGE"]) {
            over.window = Some(self.name()?);
        }
        if self.eat_word("PARTITION") {
            self.expect_word("BY")?;
            over.partition_by = self.list(Self::expr)?;
        }
        if self.is_word("ORDER") {
            over.order_by = self.order_by()?;
        }
        if self.is_any(&["ROWS", "RANGE"]) {
            over.frame = Some(self.frame()?);
        }
        self.expect_op(')')?;
        Ok(over)
    }

    fn frame(&mut self) -> SqlResult<Frame> {
        let rows = self.is_word("ROWS");
        self.advance();
        if self.eat_word("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect_word("AND")?;
            let end = Some(self.frame_bound()?);
            return Ok(Frame { rows, start, end });
        }
        Ok(Frame {
            rows,
            start: self.frame_bound()?,
            end: None,
        })
    }

    fn frame_bound(&mut self) -> SqlResult<FrameBound> {
        if self.eat_words(&["CURRENT", "ROW"]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat_word("UNBOUNDED") {
            return match self.eat_word("PRECEDING") {
                true => Ok(FrameBound::UnboundedPreceding),
                false => self
                    .expect_word("FOLLOWING")
                    .map(|()| FrameBound::UnboundedFollowing),
            };
        }
        let line = self.line();
        let count = match self.kind() {
            Tok::Int(_) | Tok::Decimal(_) | Tok::Float(_) => self.literal(),
            _ => None,
        };
        let kind = ExprKind::Literal(count.ok_or_else(|| self.unexpected())?);
        let offset = Box::new(Expr { kind, line });
        match self.eat_word("PRECEDING") {
            true => Ok(FrameBound::Preceding(offset)),
            false => self
                .expect_word("FOLLOWING")
                .map(|()| FrameBound::Following(offset)),
        }
    }

    /// `(expr AS type [USING culture])`.
    fn cast(&mut self, kind: CastKind, try_: bool, line: u32) -> SqlResult<Expr> {
        self.expect_op('(')?;
        let expr = self.expr()?;
        self.expect_word("AS")?;
        let ty = self.data_type()?;
        let mut style = None;
        if kind == CastKind::Parse && self.eat_word("USING") {
            style = Some(self.expr()?);
        }
        self.expect_op(')')?;
        let cast = Cast {
            kind,
            expr,
            ty,
            style,
            try_,
        };
        Ok(Expr {
            kind: ExprKind::Cast(Box::new(cast)),
            line,
        })
    }

    /// `CONVERT(type, expr [, style])`.
    fn convert(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        let try_ = self.is_word("TRY_CONVERT");
        self.advance();
        self.expect_op('(')?;
        let ty = self.data_type()?;
        self.expect_op(',')?;
        let expr = self.expr()?;
        let mut style = None;
        if self.eat_op(',') {
            style = Some(self.expr()?);
        }
        self.expect_op(')')?;
        let cast = Cast {
            kind: CastKind::Convert,
            expr,
            ty,
            style,
            try_,
        };
        Ok(Expr {
            kind: ExprKind::Cast(Box::new(cast)),
            line,
        })
    }

    /// `IIF(condition, a, b)` is `CASE WHEN condition THEN a ELSE b END`.
    fn iif(&mut self, line: u32) -> SqlResult<Expr> {
        self.expect_op('(')?;
        let condition = self.condition()?;
        self.expect_op(',')?;
        let then = self.expr()?;
        self.expect_op(',')?;
        let otherwise = Some(Box::new(self.expr()?));
        self.expect_op(')')?;
        let whens = vec![(condition, then)];
        Ok(Expr {
            kind: ExprKind::Case {
                operand: None,
                whens,
                otherwise,
            },
            line,
        })
    }

    /// `TRIM([LEADING|TRAILING|BOTH] [characters FROM] string)`: LEADING and TRAILING come as LTRIM and RTRIM.
    fn trim(&mut self, mut name: ObjectName) -> SqlResult<Expr> {
        self.expect_op('(')?;
        for (word, function) in [
            ("LEADING", "LTRIM"),
            ("TRAILING", "RTRIM"),
            ("BOTH", "TRIM"),
        ] {
            if self.is_word(word) && !self.is_op_at(1, ')') && !self.is_op_at(1, '.') {
                self.advance();
                name = ObjectName::single(function, name.line);
                break;
            }
        }
        let mut args = vec![self.expr()?];
        if self.eat_word("FROM") {
            args.insert(0, self.expr()?);
        }
        self.expect_op(')')?;
        Ok(function(name, args))
    }

    /// `{d '...'}`, `{t '...'}`, `{ts '...'}`, `{guid '...'}`, `{fn f(...)}`.
    pub(super) fn odbc_escape(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        self.expect_op('{')?;
        let expr = if self.eat_word("fn") {
            super::odbc::scalar(self.expr()?)
        } else {
            let ty = match () {
                () if self.is_any(&["d", "t", "ts"]) => "datetime",
                () if self.is_word("guid") => "uniqueidentifier",
                () => return Err(self.unexpected()),
            };
            self.advance();
            let literal = Literal::String(self.string()?);
            let cast = Cast {
                kind: CastKind::Cast,
                expr: Expr {
                    kind: ExprKind::Literal(literal),
                    line,
                },
                ty: DataType {
                    name: ObjectName::single(ty, line),
                    args: Vec::new(),
                },
                style: None,
                try_: false,
            };
            Expr {
                kind: ExprKind::Cast(Box::new(cast)),
                line,
            }
        };
        self.expect_op('}')?;
        Ok(expr)
    }

    /// A type's name and sizes. `double precision`, `national char varying(n)` and their like come under their usual
    /// names.
    pub(super) fn data_type(&mut self) -> SqlResult<DataType> {
        let line = self.line();
        let mut name = if self.eat_words(&["DOUBLE", "PRECISION"]) {
            ObjectName::single("float", line)
        } else if self.eat_word("NATIONAL") {
            let text = self.eat_word("TEXT");
            let base = match text {
                true => "ntext",
                false => "nchar",
            };
            if !text && !self.eat_word("CHARACTER") {
                self.expect_word("CHAR")?;
            }
            ObjectName::single(base, line)
        } else {
            self.dotted_name(3, "type")?
        };
        if self.eat_word("VARYING") {
            let base = match name.name().to_ascii_lowercase().as_str() {
                "char" | "character" => "varchar",
                "nchar" => "nvarchar",
                "binary" => "varbinary",
                _ => return Err(self.unexpected()),
            };
            name = ObjectName::single(base, line);
        }
        let mut args = Vec::new();
        if self.is_op('(') && name.name().eq_ignore_ascii_case("xml") {
            return Err(self.not_supported("xml with a schema collection"));
        }
        if self.is_op('(') {
            args = self.parenthesized(|p| match p.eat_word("MAX") {
                true => Ok(TypeArg::Max),
                false => p.integer_u32().map(TypeArg::Number),
            })?;
        }
        Ok(DataType { name, args })
    }
}

pub(super) fn new_call(name: ObjectName) -> FunctionCall {
    FunctionCall {
        name,
        args: Vec::new(),
        datepart: None,
        type_arg: None,
        star: false,
        distinct: false,
        over: None,
        within_group: Vec::new(),
        ignore_nulls: None,
    }
}

pub(super) fn call_expr(call: FunctionCall) -> Expr {
    let line = call.name.line;
    Expr {
        kind: ExprKind::Function(Box::new(call)),
        line,
    }
}

fn function(name: ObjectName, args: Vec<Expr>) -> Expr {
    let mut call = new_call(name);
    call.args = args;
    call_expr(call)
}
