//! Queries: CTEs, set operations, the SELECT list and the clauses around it.

use duramen_base::{SqlResult, messages};

use super::expr::Wanted;
use super::{Holds, Parser};
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    /// Whether a query starts `ahead` places on.
    pub(super) fn starts_query_at(&self, ahead: usize) -> bool {
        self.is_word_at(ahead, "SELECT")
    }

    /// `(query)`: a subquery with its parentheses.
    pub(super) fn subquery(&mut self) -> SqlResult<SelectStmt> {
        if self.holds != Holds::Anything {
            return Err(self.raise(&messages::SUBQUERY_NOT_ALLOWED, &[]));
        }
        self.expect_op('(')?;
        let query = self.query(false)?;
        self.expect_op(')')?;
        Ok(query)
    }

    /// A statement's query: CTEs in front, OPTION behind.
    pub(super) fn select_statement(&mut self, ctes: Vec<Cte>) -> SqlResult<SelectStmt> {
        let mut query = self.query(true)?;
        query.ctes = ctes;
        Ok(query)
    }

    /// A query expression with ORDER BY, OFFSET and FOR; OPTION only for a whole statement.
    pub(super) fn query(&mut self, statement: bool) -> SqlResult<SelectStmt> {
        self.nested(|p| {
            let (line, start) = (p.line(), p.start());
            let body = p.union_level()?;
            p.query_tail(body, line, start, statement)
        })
    }

    fn query_tail(
        &mut self,
        body: QueryExpr,
        line: u32,
        start: u32,
        statement: bool,
    ) -> SqlResult<SelectStmt> {
        let mut query = SelectStmt {
            ctes: Vec::new(),
            body,
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            hints: Vec::new(),
            for_clause: None,
            line,
            span: Span::default(),
        };
        if self.is_word("ORDER") {
            query.order_by = self.order_by()?;
            self.offset_fetch(&mut query)?;
        }
        if self.is_word("FOR") && (self.is_word_at(1, "XML") || self.is_word_at(1, "JSON")) {
            return Err(self.not_supported(&format!("FOR {}", self.text(1).to_ascii_uppercase())));
        }
        if self.eat_words(&["FOR", "BROWSE"]) {
            query.for_clause = Some(ForClause::Browse);
        }
        if statement {
            query.hints = self.query_hints()?;
        } else {
            self.check_ordered(&query)?;
        }
        query.span = self.span_from(start);
        Ok(query)
    }

    /// 1033: the order of rows within a statement means nothing unless it decides which rows there are.
    pub(super) fn check_ordered(&self, query: &SelectStmt) -> SqlResult<()> {
        let top = matches!(&query.body, QueryExpr::Select(s) if s.top.is_some());
        match query.order_by.is_empty() || top || query.offset.is_some() {
            true => Ok(()),
            false => Err(self.raise(&messages::ORDER_BY_IN_SUBQUERY, &[])),
        }
    }

    fn offset_fetch(&mut self, query: &mut SelectStmt) -> SqlResult<()> {
        if !self.is_word("OFFSET") {
            return Ok(());
        }
        if let QueryExpr::Select(spec) = &query.body
            && spec.top.is_some()
        {
            return Err(self.raise(&messages::TOP_WITH_OFFSET, &[]).with_state(2));
        }
        self.advance();
        query.offset = Some(self.expr()?);
        self.rows_word()?;
        if self.eat_word("FETCH") {
            if !self.eat_word("NEXT") {
                self.expect_word("FIRST")?;
            }
            query.fetch = Some(self.expr()?);
            self.rows_word()?;
            self.expect_word("ONLY")?;
        }
        Ok(())
    }

    fn rows_word(&mut self) -> SqlResult<()> {
        match self.eat_word("ROWS") {
            true => Ok(()),
            false => self.expect_word("ROW"),
        }
    }

    /// Goes on after a first operand that stood in parentheses of its own.
    pub(super) fn continue_query(&mut self, first: SelectStmt) -> SqlResult<SelectStmt> {
        let (line, start) = (first.line, first.span.start);
        let body = self.set_operand_body(first)?;
        let body = self.intersect_tail(body)?;
        let body = self.union_tail(body)?;
        self.query_tail(body, line, start, false)
    }

    /// An operand in parentheses may not carry clauses of a whole query, except as the only one.
    fn set_operand_body(&self, query: SelectStmt) -> SqlResult<QueryExpr> {
        match query.order_by.is_empty() {
            true => Ok(query.body),
            false => Err(self.unexpected()),
        }
    }

    fn union_level(&mut self) -> SqlResult<QueryExpr> {
        let first = self.query_operand()?;
        let left = self.intersect_tail(first)?;
        self.union_tail(left)
    }

    /// UNION and EXCEPT, from the left.
    fn union_tail(&mut self, mut left: QueryExpr) -> SqlResult<QueryExpr> {
        loop {
            let op = match () {
                () if self.is_word("UNION") => SetOp::Union,
                () if self.is_word("EXCEPT") => SetOp::Except,
                () => return Ok(left),
            };
            let all = self.set_op_word(op)?;
            let right = self.query_operand()?;
            let right = self.intersect_tail(right)?;
            left = self.set_op(op, all, left, right)?;
        }
    }

    /// INTERSECT binds tighter.
    fn intersect_tail(&mut self, mut left: QueryExpr) -> SqlResult<QueryExpr> {
        while self.is_word("INTERSECT") {
            let all = self.set_op_word(SetOp::Intersect)?;
            let right = self.query_operand()?;
            left = self.set_op(SetOp::Intersect, all, left, right)?;
        }
        Ok(left)
    }

    fn set_op_word(&mut self, op: SetOp) -> SqlResult<bool> {
        let word = self.text(0).to_ascii_uppercase();
        self.advance();
        let all = self.is_word("ALL");
        if all && op != SetOp::Union {
            return Err(self.raise(&messages::SET_OP_ALL_NOT_SUPPORTED, &[&word]));
        }
        Ok(self.eat_word("ALL"))
    }

    fn set_op(
        &mut self,
        op: SetOp,
        all: bool,
        left: QueryExpr,
        right: QueryExpr,
    ) -> SqlResult<QueryExpr> {
        self.grow(1)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(QueryExpr::SetOp {
            op,
            all,
            left,
            right,
        })
    }

    fn query_operand(&mut self) -> SqlResult<QueryExpr> {
        if self.eat_op('(') {
            let body = self.nested(Self::union_level)?;
            self.expect_op(')')?;
            return Ok(body);
        }
        let spec = self.nested(Self::query_spec)?;
        Ok(QueryExpr::Select(Box::new(spec)))
    }

    fn query_spec(&mut self) -> SqlResult<QuerySpec> {
        let line = self.line();
        // Not those within its items and sources, nor those behind it in a UNION.
        let may_have_into = std::mem::take(&mut self.may_have_into);
        self.expect_word("SELECT")?;
        let distinct = self.eat_word("DISTINCT");
        if !distinct {
            self.eat_word("ALL");
        }
        let top = self.top()?;
        let items = self.list(Self::select_item)?;
        let mut spec = QuerySpec {
            distinct,
            top,
            items,
            into: None,
            from: Vec::new(),
            where_: None,
            group_by: None,
            having: None,
            windows: Vec::new(),
            line,
        };
        if self.is_word("INTO") && !may_have_into {
            return Err(self.unexpected());
        }
        if self.eat_word("INTO") {
            spec.into = Some(self.object_name()?);
            if self.eat_word("ON") {
                return Err(self.not_supported("SELECT INTO ... ON filegroup"));
            }
        }
        if self.eat_word("FROM") {
            spec.from = self.source_list()?;
        }
        if self.eat_word("WHERE") {
            spec.where_ = Some(self.condition()?);
        }
        if self.eat_words(&["GROUP", "BY"]) {
            spec.group_by = Some(self.group_by()?);
        }
        if self.eat_word("HAVING") {
            spec.having = Some(self.condition()?);
        }
        if self.is_word("WINDOW") && self.is_word_at(2, "AS") {
            self.advance();
            spec.windows = self.list(|p| {
                let name = p.name()?;
                p.expect_word("AS")?;
                Ok((name, p.window()?))
            })?;
        }
        Ok(spec)
    }

    /// `TOP (expr) [PERCENT]` of a statement that changes rows: the parentheses must be there.
    pub(super) fn top_of_change(&mut self) -> SqlResult<Option<Top>> {
        if self.is_word("TOP") && !self.is_op_at(1, '(') {
            self.advance();
            return Err(self.unexpected());
        }
        self.top()
    }

    /// `TOP n | TOP (expr) [PERCENT] [WITH TIES]`.
    pub(super) fn top(&mut self) -> SqlResult<Option<Top>> {
        let line = self.line();
        if !self.eat_word("TOP") {
            return Ok(None);
        }
        let count = if self.eat_op('(') {
            let count = self.expr()?;
            self.expect_op(')')?;
            count
        } else {
            let kind = match self.kind() {
                Tok::Int(_) | Tok::Decimal(_) | Tok::Float(_) => match self.literal() {
                    Some(literal) => ExprKind::Literal(literal),
                    None => return Err(self.unexpected()),
                },
                Tok::Variable => ExprKind::Variable(self.variable()?),
                _ => return Err(self.unexpected()),
            };
            Expr { kind, line }
        };
        let percent = self.eat_word("PERCENT");
        let with_ties = self.eat_words(&["WITH", "TIES"]);
        Ok(Some(Top {
            count,
            percent,
            with_ties,
        }))
    }

    /// The operator of `x += e` and its like, when the two characters are here; consumed with the `=`.
    pub(super) fn assign_op(&mut self) -> SqlResult<Option<BinaryOp>> {
        if self.eat_op('=') {
            return Ok(None);
        }
        let op = match self.kind() {
            Tok::Op('+') => BinaryOp::Add,
            Tok::Op('-') => BinaryOp::Sub,
            Tok::Op('*') => BinaryOp::Mul,
            Tok::Op('/') => BinaryOp::Div,
            Tok::Op('%') => BinaryOp::Mod,
            Tok::Op('&') => BinaryOp::BitAnd,
            Tok::Op('|') => BinaryOp::BitOr,
            Tok::Op('^') => BinaryOp::BitXor,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect_op('=')?;
        Ok(Some(op))
    }

    /// Whether `ahead` places on stands `=` or a compound assignment.
    pub(super) fn is_assign_at(&self, ahead: usize) -> bool {
        match self.at(ahead).kind {
            Tok::Op('=') => true,
            Tok::Op('+' | '-' | '*' | '/' | '%' | '&' | '|' | '^') => {
                self.is_op_at(ahead + 1, '=') && self.at(ahead).end == self.at(ahead + 1).start
            }
            _ => false,
        }
    }

    pub(super) fn select_item(&mut self) -> SqlResult<SelectItem> {
        let line = self.line();
        if self.eat_op('*') {
            return Ok(SelectItem::Star {
                qualifier: None,
                line,
            });
        }
        if *self.kind() == Tok::Variable && self.is_assign_at(1) {
            let variable = self.variable_as(VariableRole::Assigned)?;
            let op = self.assign_op()?;
            let expr = self.expr()?;
            self.assigned = (self.assigned.0 + 1, line);
            return Ok(SelectItem::Assign {
                variable,
                op,
                expr,
                line,
            });
        }
        // `alias = expr`; a string may be the alias too.
        if self.is_op_at(1, '=') && (self.is_name_at(0) || self.is_string_at(0)) {
            let alias = Some(self.name_or_string()?);
            self.advance();
            let expr = self.expr()?;
            return Ok(SelectItem::Expr { expr, alias });
        }
        if let Some(qualifier) = self.qualified_star()? {
            return Ok(SelectItem::Star {
                qualifier: Some(qualifier),
                line,
            });
        }
        let expr = self.expr()?;
        let alias = self.column_alias()?;
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `t.*`, `dbo.t.*`: looks ahead over names and dots.
    fn qualified_star(&mut self) -> SqlResult<Option<ObjectName>> {
        let mut ahead = 0;
        while ahead < 10 && (self.is_name_at(ahead) || self.is_op_at(ahead, '.')) {
            if self.is_op_at(ahead, '.') && self.is_op_at(ahead + 1, '*') {
                let name = self.object_name()?;
                self.expect_op('.')?;
                self.expect_op('*')?;
                return Ok(Some(name));
            }
            ahead += 1;
        }
        Ok(None)
    }

    /// `[AS] alias`; a string may be one. A word before a colon is a label instead.
    fn column_alias(&mut self) -> SqlResult<Option<String>> {
        if self.eat_word("AS") {
            return self.name_or_string().map(Some);
        }
        if self.is_string_at(0) || (self.is_name_at(0) && !self.is_label()) {
            return self.name_or_string().map(Some);
        }
        Ok(None)
    }

    /// `name:` (but not `name::`).
    pub(super) fn is_label(&self) -> bool {
        self.is_name_at(0) && self.is_op_at(1, ':') && !self.is_op_at(2, ':')
    }

    pub(super) fn order_by(&mut self) -> SqlResult<Vec<OrderItem>> {
        self.expect_words(&["ORDER", "BY"])?;
        self.list(|p| {
            let expr = p.nested(|p| p.additive(Wanted::Value))?;
            let desc = p.eat_word("DESC");
            if !desc {
                p.eat_word("ASC");
            }
            Ok(OrderItem { expr, desc })
        })
    }

    fn group_by(&mut self) -> SqlResult<GroupBy> {
        let all = self.eat_word("ALL");
        let items = self.list(Self::group_item)?;
        let mut with = None;
        if self.eat_words(&["WITH", "ROLLUP"]) {
            with = Some(GroupWith::Rollup);
        } else if self.eat_words(&["WITH", "CUBE"]) {
            with = Some(GroupWith::Cube);
        }
        Ok(GroupBy { items, all, with })
    }

    fn group_item(&mut self) -> SqlResult<GroupItem> {
        if self.is_word("ROLLUP") && self.is_op_at(1, '(') {
            self.advance();
            return Ok(GroupItem::Rollup(self.parenthesized(Self::composite)?));
        }
        if self.is_word("CUBE") && self.is_op_at(1, '(') {
            self.advance();
            return Ok(GroupItem::Cube(self.parenthesized(Self::composite)?));
        }
        if self.is_words(&["GROUPING", "SETS"]) {
            self.advance();
            self.advance();
            let sets = self.parenthesized(|p| {
                p.nested(|p| match p.is_op('(') {
                    true => p.composite().map(GroupItem::Set),
                    false => p.group_item(),
                })
            })?;
            return Ok(GroupItem::GroupingSets(sets));
        }
        if self.is_op('(') && self.is_op_at(1, ')') {
            return self.composite().map(GroupItem::Set);
        }
        self.expr().map(GroupItem::Expr)
    }

    /// `a` or `(a, b)` or `()`.
    fn composite(&mut self) -> SqlResult<Vec<Expr>> {
        if self.is_op('(') && self.is_op_at(1, ')') {
            self.advance();
            self.advance();
            return Ok(Vec::new());
        }
        if self.is_op('(') {
            return self.parenthesized(Self::expr);
        }
        Ok(vec![self.expr()?])
    }

    /// `WITH name [(columns)] AS (query), ...`.
    pub(super) fn ctes(&mut self) -> SqlResult<Vec<Cte>> {
        self.expect_word("WITH")?;
        if self.is_word("XMLNAMESPACES") && self.is_op_at(1, '(') {
            self.xml_namespaces()?;
            if !self.eat_op(',') {
                return Ok(Vec::new());
            }
        }
        self.list(|p| {
            let line = p.line();
            let name = p.name()?;
            let mut columns = Vec::new();
            if p.is_op('(') {
                columns = p.name_list()?;
            }
            p.expect_word("AS")?;
            let query = p.subquery()?;
            Ok(Cte {
                name,
                columns,
                query,
                line,
            })
        })
    }

    /// `OPTION (hint, ...)`, if there.
    pub(super) fn query_hints(&mut self) -> SqlResult<Vec<QueryHint>> {
        if !self.eat_word("OPTION") {
            return Ok(Vec::new());
        }
        self.parenthesized(|p| {
            let mut words = Vec::new();
            while matches!(p.kind(), Tok::Word { .. }) && !p.is_word("NULL") {
                words.push(p.text(0).to_ascii_uppercase());
                p.advance();
            }
            if words.is_empty() {
                return Err(p.unexpected());
            }
            let name = words.join(" ");
            if name == "TABLE HINT" {
                return Err(p.not_supported("OPTION (TABLE HINT (...))"));
            }
            if p.is_op('(') && matches!(name.as_str(), "OPTIMIZE FOR" | "USE HINT" | "USE PLAN") {
                return p.hint_list(name);
            }
            p.eat_op('=');
            Ok(QueryHint {
                name,
                value: p.literal(),
            })
        })
    }

    /// `USE HINT ('a', 'b')` comes with the texts joined by commas; `OPTIMIZE FOR (...)` with none.
    fn hint_list(&mut self, name: String) -> SqlResult<QueryHint> {
        let mut texts = Vec::new();
        self.expect_op('(')?;
        while !self.is_op(')') {
            if self.at_end() || self.is_op('(') {
                return Err(self.unexpected());
            }
            if self.is_string_at(0) {
                texts.push(self.string()?.value);
            } else {
                self.advance();
            }
        }
        self.expect_op(')')?;
        let value = match texts.is_empty() {
            true => None,
            false => Some(Literal::String(StringLiteral {
                value: texts.join(","),
                national: false,
                namespaces: String::new(),
            })),
        };
        Ok(QueryHint { name, value })
    }
}
