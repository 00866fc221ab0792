//! Values and conditions.
//!
//! Precedence, high to low: `~`; `* / %`; `+ - & ^ |` with unary minus; comparisons; NOT; AND; OR with the predicates.
//! Unary minus ranks below `*`: `-100/-100*10` is `-(100/(-(100*10)))`.
//!
//! A parenthesis in a condition may hold a condition or a value; only what follows decides. So the condition side
//! parses "either" and checks at each place which kind it got.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// What a parenthesis may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Value,
    Either,
}

impl Parser<'_> {
    /// A value.
    pub(super) fn expr(&mut self) -> SqlResult<Expr> {
        self.nested(|p| p.additive(Wanted::Value))
    }

    /// A value or the word DEFAULT.
    pub(super) fn expr_or_default(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        match self.eat_word("DEFAULT") {
            true => Ok(Expr {
                kind: ExprKind::Default,
                line,
            }),
            false => self.expr(),
        }
    }

    /// A condition; anything else is error 4145.
    pub(super) fn condition(&mut self) -> SqlResult<Expr> {
        let expr = self.either()?;
        match expr.kind.is_condition() {
            true => Ok(expr),
            false => Err(self.not_a_condition()),
        }
    }

    fn not_a_condition(&self) -> duramen_base::SqlError {
        self.error(&messages::NON_BOOLEAN_CONDITION)
    }

    fn either(&mut self) -> SqlResult<Expr> {
        self.nested(Self::or_chain)
    }

    fn or_chain(&mut self) -> SqlResult<Expr> {
        let first = self.and_chain()?;
        self.chain(first, "OR", Self::and_chain, ExprKind::Or)
    }

    fn and_chain(&mut self) -> SqlResult<Expr> {
        let first = self.not_level()?;
        self.chain(first, "AND", Self::not_level, ExprKind::And)
    }

    /// `first WORD next WORD next ...` as a balanced tree: the operator is associative and long lists are common.
    fn chain(
        &mut self,
        first: Expr,
        word: &str,
        next: fn(&mut Self) -> SqlResult<Expr>,
        make: fn(Box<Expr>, Box<Expr>) -> ExprKind,
    ) -> SqlResult<Expr> {
        if !self.is_word(word) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.is_word(word) {
            if operands.last().is_some_and(|e| !e.kind.is_condition()) {
                return Err(self.not_a_condition());
            }
            self.advance();
            // Operands stand side by side: the highest counts, not their sum.
            let highest = std::mem::replace(&mut self.height, 0);
            operands.push(next(self)?);
            self.height = self.height.max(highest);
        }
        if operands.last().is_some_and(|e| !e.kind.is_condition()) {
            return Err(self.not_a_condition());
        }
        self.grow(operands.len().ilog2() as usize + 1)?;
        while operands.len() > 1 {
            let mut paired = Vec::with_capacity(operands.len().div_ceil(2));
            let mut rest = operands.into_iter();
            while let Some(left) = rest.next() {
                let line = left.line;
                paired.push(match rest.next() {
                    Some(right) => Expr {
                        kind: make(Box::new(left), Box::new(right)),
                        line,
                    },
                    None => left,
                });
            }
            operands = paired;
        }
        operands.pop().ok_or_else(|| self.unexpected())
    }

    fn not_level(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if !self.eat_word("NOT") {
            return self.predicate();
        }
        let inner = self.nested(Self::not_level)?;
        if !inner.kind.is_condition() {
            return Err(self.not_a_condition());
        }
        Ok(Expr {
            kind: ExprKind::Not(Box::new(inner)),
            line,
        })
    }

    fn predicate(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if self.is_word("EXISTS") {
            self.advance();
            let query = self.subquery()?;
            return Ok(Expr {
                kind: ExprKind::Exists(Box::new(query)),
                line,
            });
        }
        if self.is_word("UPDATE") && self.is_op_at(1, '(') {
            self.advance();
            self.advance();
            let column = self.name()?;
            self.expect_op(')')?;
            return Ok(Expr {
                kind: ExprKind::UpdateColumn(column),
                line,
            });
        }
        let of_graph = self.is_word("MATCH") && self.is_op_at(1, '(');
        if of_graph || self.is_any(&["CONTAINS", "FREETEXT"]) {
            return Err(self.not_supported(&self.text(0).to_ascii_uppercase()));
        }
        let left = self.additive(Wanted::Either)?;
        if left.kind.is_condition() {
            return Ok(left);
        }
        self.grow(1)?;
        let kind = match self.predicate_tail(left)? {
            Ok(kind) => kind,
            Err(left) => return Ok(left),
        };
        Ok(Expr { kind, line })
    }

    /// What follows a value in a condition; the value itself when nothing does.
    fn predicate_tail(&mut self, left: Expr) -> SqlResult<Result<ExprKind, Expr>> {
        if let Some(op) = self.compare_op() {
            return self.comparison(op, left).map(Ok);
        }
        if self.eat_word("IS") {
            return self.is_predicate(left).map(Ok);
        }
        let negated = self.is_word("NOT")
            && ["BETWEEN", "IN", "LIKE"]
                .iter()
                .any(|w| self.is_word_at(1, w));
        if negated {
            self.advance();
        }
        let expr = Box::new(left);
        if self.eat_word("BETWEEN") {
            let low = Box::new(self.value()?);
            self.expect_word("AND")?;
            let high = Box::new(self.value()?);
            return Ok(Ok(ExprKind::Between {
                expr,
                low,
                high,
                negated,
            }));
        }
        if self.eat_word("LIKE") {
            let pattern = Box::new(self.value()?);
            let mut escape = None;
            if self.eat_word("ESCAPE") {
                escape = Some(Box::new(self.value()?));
            } else if self.is_op('{') {
                // ODBC's {escape '!'}.
                self.expect_op('{')?;
                self.expect_word("ESCAPE")?;
                escape = Some(Box::new(self.value()?));
                self.expect_op('}')?;
            }
            return Ok(Ok(ExprKind::Like {
                expr,
                pattern,
                escape,
                negated,
            }));
        }
        if self.eat_word("IN") {
            return self.in_predicate(expr, negated).map(Ok);
        }
        Ok(Err(*expr))
    }

    /// A value inside a condition: no new level, for its parentheses open their own.
    fn value(&mut self) -> SqlResult<Expr> {
        self.additive(Wanted::Value)
    }

    fn comparison(&mut self, op: CompareOp, left: Expr) -> SqlResult<ExprKind> {
        let left = Box::new(left);
        if self.is_any(&["ALL", "ANY", "SOME"]) && self.is_op_at(1, '(') {
            let all = self.is_word("ALL");
            self.advance();
            let query = Box::new(self.subquery()?);
            return Ok(ExprKind::CompareQuantified {
                op,
                all,
                left,
                query,
            });
        }
        let right = Box::new(self.value()?);
        if self.is_op('*') && self.is_op_at(1, '=') {
            return Err(self.raise(&messages::OLD_OUTER_JOIN, &[]));
        }
        Ok(ExprKind::Compare { op, left, right })
    }

    fn is_predicate(&mut self, left: Expr) -> SqlResult<ExprKind> {
        let negated = self.eat_word("NOT");
        if self.eat_words(&["DISTINCT", "FROM"]) {
            let right = Box::new(self.value()?);
            return Ok(ExprKind::IsDistinct {
                left: Box::new(left),
                right,
                negated,
            });
        }
        self.expect_word("NULL")?;
        Ok(ExprKind::IsNull {
            expr: Box::new(left),
            negated,
        })
    }

    fn in_predicate(&mut self, expr: Box<Expr>, negated: bool) -> SqlResult<ExprKind> {
        if self.is_op('(') && self.starts_query_at(1) {
            let query = Box::new(self.subquery()?);
            return Ok(ExprKind::InQuery {
                expr,
                query,
                negated,
            });
        }
        let mut list = self.parenthesized(Self::expr)?;
        if let [
            Expr {
                kind: ExprKind::Subquery(_),
                ..
            },
        ] = list[..]
            && let Some(Expr {
                kind: ExprKind::Subquery(query),
                ..
            }) = list.pop()
        {
            return Ok(ExprKind::InQuery {
                expr,
                query,
                negated,
            });
        }
        Ok(ExprKind::InList {
            expr,
            list,
            negated,
        })
    }

    /// A comparison operator; its two characters may have blanks between them.
    pub(super) fn compare_op(&mut self) -> Option<CompareOp> {
        let second = match self.at(1).kind {
            Tok::Op(c) => c,
            _ => ' ',
        };
        let Tok::Op(first) = *self.kind() else {
            return None;
        };
        let (op, tokens) = match (first, second) {
            ('=', '*') if self.is_name_at(2) && self.at(0).end == self.at(1).start => return None,
            ('=', _) => (CompareOp::Eq, 1),
            ('<', '=') | ('!', '>') => (CompareOp::Le, 2),
            ('>', '=') | ('!', '<') => (CompareOp::Ge, 2),
            ('<', '>') | ('!', '=') => (CompareOp::Ne, 2),
            ('<', _) => (CompareOp::Lt, 1),
            ('>', _) => (CompareOp::Gt, 1),
            _ => return None,
        };
        (0..tokens).for_each(|_| self.advance());
        Some(op)
    }

    // ---- values ----

    pub(super) fn additive(&mut self, wanted: Wanted) -> SqlResult<Expr> {
        let mut left = self.multiplicative(wanted)?;
        if left.kind.is_condition() {
            return Ok(left);
        }
        loop {
            let op = match self.kind() {
                Tok::Op('+') => BinaryOp::Add,
                Tok::Op('-') => BinaryOp::Sub,
                Tok::Op('&') => BinaryOp::BitAnd,
                Tok::Op('|') => BinaryOp::BitOr,
                Tok::Op('^') => BinaryOp::BitXor,
                Tok::Op('<' | '>') => return self.check_shift().map(|()| left),
                _ => return Ok(left),
            };
            self.advance();
            let right = self.multiplicative(Wanted::Value)?;
            left = self.binary(op, left, right)?;
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> SqlResult<Expr> {
        self.grow(1)?;
        let line = left.line;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Expr {
            kind: ExprKind::Binary { op, left, right },
            line,
        })
    }

    fn multiplicative(&mut self, wanted: Wanted) -> SqlResult<Expr> {
        if let Some(signed) = self.signed()? {
            return Ok(signed);
        }
        let mut left = self.factor(wanted)?;
        if left.kind.is_condition() {
            return Ok(left);
        }
        loop {
            let op = match self.kind() {
                // `a *= b` is the old outer join, refused by name in conditions.
                Tok::Op('*') if self.is_op_at(1, '=') => {
                    return Err(self.raise(&messages::OLD_OUTER_JOIN, &[]));
                }
                Tok::Op('*') => BinaryOp::Mul,
                Tok::Op('/') => BinaryOp::Div,
                Tok::Op('%') => BinaryOp::Mod,
                _ => return Ok(left),
            };
            self.advance();
            let right = match self.signed()? {
                Some(signed) => signed,
                None => self.factor(Wanted::Value)?,
            };
            left = self.binary(op, left, right)?;
        }
    }

    /// A sign and the whole product after it.
    fn signed(&mut self) -> SqlResult<Option<Expr>> {
        let line = self.line();
        let op = match self.kind() {
            Tok::Op('-') => UnaryOp::Minus,
            Tok::Op('+') => UnaryOp::Plus,
            _ => return Ok(None),
        };
        self.advance();
        let expr = Box::new(self.nested(|p| p.multiplicative(Wanted::Value))?);
        Ok(Some(Expr {
            kind: ExprKind::Unary { op, expr },
            line,
        }))
    }

    fn factor(&mut self, wanted: Wanted) -> SqlResult<Expr> {
        let line = self.line();
        if self.eat_op('~') {
            let expr = Box::new(self.nested(|p| match p.signed()? {
                Some(signed) => Ok(signed),
                None => p.factor(Wanted::Value),
            })?);
            let op = UnaryOp::BitNot;
            return Ok(Expr {
                kind: ExprKind::Unary { op, expr },
                line,
            });
        }
        let mut expr = self.primary(wanted)?;
        loop {
            if self.eat_word("COLLATE") {
                let collation = self.name_or_word()?;
                self.grow(1)?;
                let inner = Box::new(expr);
                expr = Expr {
                    kind: ExprKind::Collate {
                        expr: inner,
                        collation,
                    },
                    line,
                };
            } else if self.eat_words(&["AT", "TIME", "ZONE"]) {
                let zone = Box::new(self.nested(|p| p.primary(Wanted::Value))?);
                self.grow(1)?;
                let inner = Box::new(expr);
                expr = Expr {
                    kind: ExprKind::AtTimeZone { expr: inner, zone },
                    line,
                };
            } else if self.is_xml_method() && !expr.kind.is_condition() {
                self.grow(1)?;
                expr = super::function::call_expr(self.xml_method(expr)?);
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self, wanted: Wanted) -> SqlResult<Expr> {
        let line = self.line();
        if let Some(literal) = self.literal() {
            return Ok(Expr {
                kind: ExprKind::Literal(literal),
                line,
            });
        }
        let kind = match self.kind() {
            Tok::Variable => {
                let name = self.variable()?;
                if self.is_op('.') && !self.is_xml_method() {
                    return Err(self.not_supported("method calls"));
                }
                ExprKind::Variable(name)
            }
            Tok::Op('(') => return self.parenthesis(wanted),
            Tok::Op('{') => return self.odbc_escape(),
            Tok::Op('.') => return self.column_or_call(),
            Tok::Word { reserved: true } => return self.keyword_expr(),
            _ if self.is_name_at(0) => return self.column_or_call(),
            _ => return Err(self.unexpected()),
        };
        Ok(Expr { kind, line })
    }

    pub(super) fn literal(&mut self) -> Option<Literal> {
        let literal = match self.kind() {
            Tok::Int(v) => Literal::Int(*v),
            Tok::Decimal(text) => Literal::Decimal(text.clone()),
            Tok::Float(v) => Literal::Float(*v),
            Tok::Money(v) => Literal::Money(*v),
            Tok::Binary(bytes) => Literal::Binary(bytes.clone()),
            Tok::Word { .. } if self.is_word("NULL") => Literal::Null,
            _ if self.is_string_at(0) => return self.string().ok().map(Literal::String),
            _ => return None,
        };
        self.advance();
        Some(literal)
    }

    /// A literal, with a sign where it is a number: no expression.
    pub(super) fn signed_literal(&mut self) -> SqlResult<Option<Expr>> {
        let line = self.line();
        let signs = [('-', UnaryOp::Minus), ('+', UnaryOp::Plus)];
        let sign = signs.into_iter().find(|(sign, _)| self.eat_op(*sign));
        let literal = match sign.is_some() && (self.is_string_at(0) || self.is_word("NULL")) {
            true => None,
            false => self.literal(),
        };
        let literal = literal.map(|literal| Expr {
            kind: ExprKind::Literal(literal),
            line,
        });
        match (sign, literal) {
            (None, literal) => Ok(literal),
            (Some(_), None) => Err(self.unexpected()),
            (Some((_, op)), Some(expr)) => Ok(Some(Expr {
                kind: ExprKind::Unary {
                    op,
                    expr: Box::new(expr),
                },
                line,
            })),
        }
    }

    /// A literal or a variable, as statements take them that compute nothing: RAISERROR, THROW, SET, WAITFOR.
    pub(super) fn constant(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if *self.kind() == Tok::Variable {
            let kind = ExprKind::Variable(self.variable()?);
            return Ok(Expr { kind, line });
        }
        self.signed_literal()?.ok_or_else(|| self.unexpected())
    }

    fn parenthesis(&mut self, wanted: Wanted) -> SqlResult<Expr> {
        let line = self.line();
        if self.starts_query_at(1) {
            let query = Box::new(self.subquery()?);
            return Ok(Expr {
                kind: ExprKind::Subquery(query),
                line,
            });
        }
        self.expect_op('(')?;
        let inner = match wanted {
            Wanted::Either => self.either()?,
            Wanted::Value => self.expr()?,
        };
        // `((SELECT 1) UNION SELECT 2)`: the first query turned out to be an operand.
        if let ExprKind::Subquery(query) = inner.kind {
            let kind = match self.is_any(&["UNION", "EXCEPT", "INTERSECT"]) {
                true => ExprKind::Subquery(Box::new(self.continue_query(*query)?)),
                false => ExprKind::Subquery(query),
            };
            self.expect_op(')')?;
            return Ok(Expr { kind, line });
        }
        self.expect_op(')')?;
        Ok(inner)
    }

    pub(super) fn case(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        self.expect_word("CASE")?;
        let mut operand = None;
        if !self.is_word("WHEN") {
            operand = Some(Box::new(self.expr()?));
        }
        let mut whens = Vec::new();
        while self.eat_word("WHEN") {
            let when = match operand {
                Some(_) => self.expr()?,
                None => self.condition()?,
            };
            self.expect_word("THEN")?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let mut otherwise = None;
        if self.eat_word("ELSE") {
            otherwise = Some(Box::new(self.expr()?));
        }
        self.expect_word("END")?;
        Ok(Expr {
            kind: ExprKind::Case {
                operand,
                whens,
                otherwise,
            },
            line,
        })
    }
}
