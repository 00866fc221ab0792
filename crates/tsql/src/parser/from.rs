//! What stands in FROM: tables, functions, derived tables, joins, hints.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// Table hints; the ones that may stand alone in parentheses without WITH are those of old (`true`).
const TABLE_HINTS: &[(&str, bool)] = &[
    ("FASTFIRSTROW", true),
    ("FORCESCAN", false),
    ("FORCESEEK", false),
    ("HOLDLOCK", true),
    ("IGNORE_CONSTRAINTS", false),
    ("IGNORE_TRIGGERS", false),
    ("INDEX", true),
    ("KEEPDEFAULTS", false),
    ("KEEPIDENTITY", false),
    ("NOEXPAND", false),
    ("NOLOCK", true),
    ("NOWAIT", true),
    ("PAGLOCK", true),
    ("READCOMMITTED", true),
    ("READCOMMITTEDLOCK", true),
    ("READPAST", true),
    ("READUNCOMMITTED", true),
    ("REPEATABLEREAD", true),
    ("ROWLOCK", true),
    ("SERIALIZABLE", true),
    ("SNAPSHOT", true),
    ("SPATIAL_WINDOW_MAX_CELLS", false),
    ("TABLOCK", true),
    ("TABLOCKX", true),
    ("UPDLOCK", true),
    ("XLOCK", true),
];

/// Words that are names but, behind a source, start what follows it.
const NOT_AN_ALIAS: &[&str] = &["WINDOW", "USING", "OFFSET"];

impl Parser<'_> {
    pub(super) fn source_list(&mut self) -> SqlResult<Vec<TableSource>> {
        self.list(Self::table_source)
    }

    /// One source with the joins behind it.
    pub(super) fn table_source(&mut self) -> SqlResult<TableSource> {
        self.nested(Self::join_chain)
    }

    fn join_chain(&mut self) -> SqlResult<TableSource> {
        let mut left = self.primary_source()?;
        loop {
            let line = self.line();
            if self.is_any(&["PIVOT", "UNPIVOT"]) {
                left = self.pivot(left)?;
                self.grow(1)?;
                continue;
            }
            let Some((kind, hint)) = self.join_word()? else {
                return Ok(left);
            };
            self.grow(1)?;
            let has_on = matches!(
                kind,
                JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full
            );
            // `a JOIN b JOIN c ON .. ON ..`: joins behind the right side belong to it while an ON is still owed.
            let mut right = self.primary_source()?;
            let mut on = None;
            if has_on {
                if !self.is_word("ON") {
                    right = self.nested(|p| p.owed_joins(right))?;
                }
                self.expect_word("ON")?;
                on = Some(self.condition()?);
            }
            left = TableSource::Join(Box::new(Join {
                kind,
                hint,
                left,
                right,
                on,
                line,
            }));
        }
    }

    /// Joins on the right side of one whose ON has not come yet.
    fn owed_joins(&mut self, mut left: TableSource) -> SqlResult<TableSource> {
        while !self.is_word("ON") {
            let line = self.line();
            let Some((kind, hint)) = self.join_word()? else {
                return Err(self.unexpected());
            };
            self.grow(1)?;
            let mut right = self.primary_source()?;
            let mut on = None;
            if matches!(
                kind,
                JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full
            ) {
                if !self.is_word("ON") {
                    right = self.nested(|p| p.owed_joins(right))?;
                }
                self.expect_word("ON")?;
                on = Some(self.condition()?);
            }
            left = TableSource::Join(Box::new(Join {
                kind,
                hint,
                left,
                right,
                on,
                line,
            }));
        }
        Ok(left)
    }

    fn join_word(&mut self) -> SqlResult<Option<(JoinKind, Option<String>)>> {
        if self.eat_words(&["CROSS", "JOIN"]) {
            return Ok(Some((JoinKind::Cross, None)));
        }
        if self.eat_words(&["CROSS", "APPLY"]) {
            return Ok(Some((JoinKind::CrossApply, None)));
        }
        if self.eat_words(&["OUTER", "APPLY"]) {
            return Ok(Some((JoinKind::OuterApply, None)));
        }
        if self.eat_word("JOIN") {
            return Ok(Some((JoinKind::Inner, None)));
        }
        let kind = match () {
            () if self.is_word("INNER") => JoinKind::Inner,
            () if self.is_word("LEFT") => JoinKind::Left,
            () if self.is_word("RIGHT") => JoinKind::Right,
            () if self.is_word("FULL") => JoinKind::Full,
            () => return Ok(None),
        };
        self.advance();
        if kind != JoinKind::Inner {
            self.eat_word("OUTER");
        }
        let mut hint = None;
        if self.is_any(&["HASH", "LOOP", "MERGE", "REMOTE"]) {
            hint = Some(self.text(0).to_ascii_uppercase());
            self.advance();
        }
        self.expect_word("JOIN")?;
        Ok(Some((kind, hint)))
    }

    fn primary_source(&mut self) -> SqlResult<TableSource> {
        let line = self.line();
        if self.is_op('{') {
            // ODBC's {oj left LEFT OUTER JOIN right ON condition}.
            self.expect_op('{')?;
            self.expect_word("oj")?;
            let joined = self.table_source()?;
            self.expect_op('}')?;
            return Ok(joined);
        }
        if self.is_op('(') {
            return self.parenthesized_source();
        }
        if *self.kind() == Tok::Variable {
            let at = self.variables.len();
            let name = self.variable_as(VariableRole::Table)?;
            if self.is_xml_method() {
                self.variables[at].role = VariableRole::Read;
                let kind = ExprKind::Variable(name);
                let call = self.xml_method(Expr { kind, line })?;
                return self.called_table(call.name, call.args, line);
            }
            if self.is_op('.') {
                return Err(self.not_supported("method calls"));
            }
            let alias = self.table_alias()?;
            let hints = self.table_hints()?;
            return Ok(TableSource::Variable {
                name,
                alias,
                hints,
                line,
            });
        }
        if self.is_any(&[
            "OPENROWSET",
            "OPENQUERY",
            "OPENDATASOURCE",
            "OPENXML",
            "CHANGETABLE",
            "CONTAINSTABLE",
            "FREETEXTTABLE",
            "PREDICT",
        ]) && self.is_op_at(1, '(')
        {
            return Err(self.not_supported(&self.text(0).to_ascii_uppercase()));
        }
        let name = if self.eat_op(':') {
            // `::fn_x(...)`, the old way to name system functions.
            self.expect_op(':')?;
            self.object_name()?
        } else {
            self.object_name()?
        };
        if self.is_op('(') && !self.is_hint_parenthesis() {
            return self.table_function(name, line);
        }
        let mut table = TableRef {
            name,
            alias: None,
            hints: Vec::new(),
            sample: None,
            line,
        };
        if self.is_words(&["FOR", "SYSTEM_TIME"]) {
            return Err(self.not_supported("FOR SYSTEM_TIME"));
        }
        table.alias = self.table_alias()?;
        if self.is_word("TABLESAMPLE") {
            table.sample = Some(self.table_sample()?);
        }
        table.hints = self.table_hints()?;
        if table.alias.is_none() && !table.hints.is_empty() {
            table.alias = self.table_alias()?;
        }
        Ok(TableSource::Table(table))
    }

    fn table_sample(&mut self) -> SqlResult<(Expr, bool)> {
        self.advance();
        self.eat_word("SYSTEM");
        self.expect_op('(')?;
        let number = self.expr()?;
        let rows = self.eat_word("ROWS");
        if !rows {
            self.eat_word("PERCENT");
        }
        self.expect_op(')')?;
        if self.eat_word("REPEATABLE") {
            self.parenthesized(Self::expr)?;
        }
        Ok((number, !rows))
    }

    fn table_function(&mut self, name: ObjectName, line: u32) -> SqlResult<TableSource> {
        self.expect_op('(')?;
        let mut args = Vec::new();
        if !self.is_op(')') {
            args = self.list(Self::expr_or_default)?;
            self.with_namespaces(&name, &mut args);
        }
        self.expect_op(')')?;
        self.called_table(name, args, line)
    }

    /// What follows the call of a table-valued function.
    fn called_table(
        &mut self,
        name: ObjectName,
        args: Vec<Expr>,
        line: u32,
    ) -> SqlResult<TableSource> {
        let mut with_columns = Vec::new();
        if self.is_word("WITH") && self.is_op_at(1, '(') {
            self.advance();
            with_columns = self.parenthesized(|p| {
                let column = p.name()?;
                let ty = p.data_type()?;
                if p.is_string_at(0) || p.is_word("AS") {
                    return Err(p.not_supported("column paths"));
                }
                Ok((column, ty))
            })?;
        }
        let alias = self.table_alias()?;
        let columns = self.alias_columns(alias.is_some())?;
        Ok(TableSource::Function {
            name,
            args,
            alias,
            columns,
            with_columns,
            line,
        })
    }

    /// `(query) AS t (columns)`, `(VALUES ...) AS t (columns)`, or joins in parentheses.
    fn parenthesized_source(&mut self) -> SqlResult<TableSource> {
        let line = self.line();
        let query = if self.is_word_at(1, "VALUES") {
            self.advance();
            let query = self.nested(Self::values_query)?;
            self.expect_op(')')?;
            query
        } else if self.parenthesis_holds_query() {
            self.subquery()?
        } else {
            self.expect_op('(')?;
            if self.is_any(&["INSERT", "UPDATE", "DELETE", "MERGE"]) {
                let what = format!("{} in FROM", self.text(0).to_ascii_uppercase());
                return Err(self.not_supported(&what));
            }
            let source = self.table_source()?;
            self.expect_op(')')?;
            return Ok(source);
        };
        self.eat_word("AS");
        let alias = self.name()?;
        let columns = self.alias_columns(true)?;
        Ok(TableSource::Derived {
            query: Box::new(query),
            alias,
            columns,
            line,
        })
    }

    /// Whether the parenthesis here holds a query rather than joins: `((SELECT ..) UNION ..)` against
    /// `((SELECT ..) AS a JOIN ..)`. What follows the innermost query's parenthesis decides.
    fn parenthesis_holds_query(&self) -> bool {
        let mut ahead = 0;
        while self.is_op_at(ahead, '(') {
            ahead += 1;
        }
        if !self.is_word_at(ahead, "SELECT") {
            return false;
        }
        if ahead == 1 {
            return true;
        }
        let mut depth = 1usize;
        while depth > 0 {
            match self.at(ahead).kind {
                Tok::Op('(') => depth += 1,
                Tok::Op(')') => depth -= 1,
                Tok::End => return true,
                _ => {}
            }
            ahead += 1;
        }
        let set_op = ["UNION", "EXCEPT", "INTERSECT"];
        self.is_op_at(ahead, ')') || set_op.iter().any(|w| self.is_word_at(ahead, w))
    }

    /// `VALUES (...), (...)` as a query.
    pub(super) fn values_query(&mut self) -> SqlResult<SelectStmt> {
        let (line, start) = (self.line(), self.start());
        self.expect_word("VALUES")?;
        let rows = self.list(|p| p.parenthesized(Self::expr_or_default))?;
        if let Some(first) = rows.first()
            && rows.iter().any(|r| r.len() != first.len())
        {
            return Err(self.raise(&messages::VALUES_ROW_LENGTHS_DIFFER, &[]));
        }
        Ok(SelectStmt {
            ctes: Vec::new(),
            body: QueryExpr::Values(rows),
            order_by: Vec::new(),
            offset: None,
            fetch: None,
            hints: Vec::new(),
            for_clause: None,
            line,
            span: self.span_from(start),
        })
    }

    /// `[AS] alias`.
    pub(super) fn table_alias(&mut self) -> SqlResult<Option<String>> {
        if self.eat_word("AS") {
            return self.name().map(Some);
        }
        if self.is_name_at(0) && !self.is_label() && !self.is_any(NOT_AN_ALIAS) {
            return self.name().map(Some);
        }
        Ok(None)
    }

    fn alias_columns(&mut self, has_alias: bool) -> SqlResult<Vec<String>> {
        match has_alias && self.is_op('(') {
            true => self.name_list(),
            false => Ok(Vec::new()),
        }
    }

    fn hint_at(&self, ahead: usize) -> Option<(&'static str, bool)> {
        TABLE_HINTS
            .iter()
            .copied()
            .find(|(name, _)| self.is_word_at(ahead, name))
    }

    /// `(nolock)`: hints without WITH.
    fn is_hint_parenthesis(&self) -> bool {
        self.hint_at(1).is_some_and(|(_, old)| old)
            && (self.is_op_at(2, ')') || self.is_op_at(2, ',') || self.is_word_at(1, "INDEX"))
    }

    /// `WITH (hint, ...)` or an old `(hint)`.
    pub(super) fn table_hints(&mut self) -> SqlResult<Vec<TableHint>> {
        if self.is_op('(') && self.is_hint_parenthesis() {
            if self.is_op_at(2, ',') {
                self.advance();
                self.advance();
                return Err(self.error(&messages::TABLE_HINT_NEEDS_WITH));
            }
            self.advance();
            let hint = self.table_hint()?;
            self.expect_op(')')?;
            return Ok(vec![hint]);
        }
        if !self.is_word("WITH") || !self.is_op_at(1, '(') {
            return Ok(Vec::new());
        }
        self.advance();
        self.expect_op('(')?;
        let mut hints = vec![self.table_hint()?];
        while !self.is_op(')') {
            // Commas between hints are optional.
            self.eat_op(',');
            hints.push(self.table_hint()?);
        }
        self.expect_op(')')?;
        Ok(hints)
    }

    fn table_hint(&mut self) -> SqlResult<TableHint> {
        let Some((name, _)) = self.hint_at(0) else {
            return match self.kind() {
                Tok::Word { reserved: false } => Err(self.raise(
                    &messages::UNRECOGNIZED_OPTION,
                    &[&self.text(0), &"table hints"],
                )),
                _ => Err(self.unexpected()),
            };
        };
        self.advance();
        if name == "SPATIAL_WINDOW_MAX_CELLS" {
            return Err(self.not_supported(name));
        }
        let mut args = Vec::new();
        if name == "INDEX" && self.eat_op('=') && !self.is_op('(') {
            args.push(self.hint_arg()?);
        } else if self.is_op('(') && matches!(name, "INDEX" | "FORCESEEK") {
            self.expect_op('(')?;
            args = self.list(Self::hint_arg)?;
            // FORCESEEK(index(columns)): the columns are advice only to the chosen index's key.
            if self.is_op('(') {
                args.extend(self.name_list()?);
            }
            self.expect_op(')')?;
        }
        Ok(TableHint {
            name: name.to_string(),
            args,
        })
    }

    fn hint_arg(&mut self) -> SqlResult<String> {
        match self.kind() {
            Tok::Int(_) => Ok(self.integer()?.to_string()),
            _ => self.name(),
        }
    }

    fn pivot(&mut self, source: TableSource) -> SqlResult<TableSource> {
        let line = self.line();
        let pivot = self.is_word("PIVOT");
        self.advance();
        self.expect_op('(')?;
        let kind = if pivot {
            let name = self.object_name()?;
            let aggregate = Box::new(self.nested(|p| p.function_call(name))?);
            self.expect_word("FOR")?;
            let column = self.object_name()?;
            self.expect_word("IN")?;
            let values = self.name_list()?;
            PivotKind::Pivot {
                aggregate,
                column,
                values,
            }
        } else {
            let value = self.name()?;
            self.expect_word("FOR")?;
            let column = self.name()?;
            self.expect_word("IN")?;
            let sources = self.parenthesized(Self::object_name)?;
            PivotKind::Unpivot {
                value,
                column,
                sources,
            }
        };
        self.expect_op(')')?;
        self.eat_word("AS");
        let alias = self.name()?;
        Ok(TableSource::Pivot(Box::new(Pivot {
            source,
            kind,
            alias,
            line,
        })))
    }
}
