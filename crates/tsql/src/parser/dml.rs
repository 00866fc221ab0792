//! INSERT, UPDATE, DELETE, MERGE, OUTPUT.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// The most rows of VALUES in an INSERT.
const ROW_VALUES_MAX: usize = 1000;

impl Parser<'_> {
    fn target(&mut self) -> SqlResult<Target> {
        let line = self.line();
        if self.is_any(&["OPENROWSET", "OPENQUERY", "OPENDATASOURCE"]) {
            return Err(self.not_supported(&self.text(0).to_ascii_uppercase()));
        }
        let kind = self.target_kind()?;
        let hints = self.table_hints()?;
        Ok(Target { kind, hints, line })
    }

    fn target_kind(&mut self) -> SqlResult<TargetKind> {
        match self.kind() {
            Tok::Variable => self
                .variable_as(VariableRole::Table)
                .map(TargetKind::Variable),
            _ => self.object_name().map(TargetKind::Table),
        }
    }

    pub(super) fn insert(&mut self, ctes: Vec<Cte>) -> SqlResult<StatementKind> {
        self.expect_word("INSERT")?;
        if self.is_word("BULK") {
            return self.insert_bulk();
        }
        let top = self.top_of_change()?;
        self.eat_word("INTO");
        let target = self.target()?;
        let mut columns = Vec::new();
        if self.is_op('(') && !self.parenthesis_starts_query() {
            columns = self.parenthesized(|p| Ok(p.object_name()?.name().to_string()))?;
        }
        let output = self.output()?;
        let source = self.insert_source()?;
        let mut hints = Vec::new();
        if !matches!(source, InsertSource::Query(_)) {
            hints = self.query_hints()?;
        }
        let mut insert = InsertStmt {
            ctes,
            top,
            target,
            columns,
            output,
            source,
            hints,
        };
        // OPTION belongs to the statement, but is read with its query.
        if let InsertSource::Query(query) = &mut insert.source {
            insert.hints = std::mem::take(&mut query.hints);
        }
        Ok(StatementKind::Insert(Box::new(insert)))
    }

    fn parenthesis_starts_query(&self) -> bool {
        let mut ahead = 0;
        while self.is_op_at(ahead, '(') {
            ahead += 1;
        }
        self.is_word_at(ahead, "SELECT")
    }

    fn insert_source(&mut self) -> SqlResult<InsertSource> {
        if self.eat_words(&["DEFAULT", "VALUES"]) {
            return Ok(InsertSource::DefaultValues);
        }
        if self.is_word("VALUES") {
            let mut query = self.nested(Self::values_query)?;
            if let QueryExpr::Values(rows) = &query.body
                && rows.len() > ROW_VALUES_MAX
            {
                return Err(self.raise(&messages::TOO_MANY_ROW_VALUES, &[&ROW_VALUES_MAX]));
            }
            query.hints = self.query_hints()?;
            return Ok(InsertSource::Query(Box::new(query)));
        }
        if self.is_any(&["EXEC", "EXECUTE"]) {
            self.advance();
            return self.exec_call().map(|e| InsertSource::Exec(Box::new(e)));
        }
        if self.is_word("SELECT") || self.is_op('(') {
            return self.query(true).map(|q| InsertSource::Query(Box::new(q)));
        }
        if self.is_word("WITH") {
            let ctes = self.ctes()?;
            let query = self.select_statement(ctes)?;
            return Ok(InsertSource::Query(Box::new(query)));
        }
        Err(self.unexpected())
    }

    /// `OUTPUT items [INTO target [(columns)]]`.
    fn output(&mut self) -> SqlResult<Option<Output>> {
        if !self.eat_word("OUTPUT") {
            return Ok(None);
        }
        let items = self.list(Self::select_item)?;
        let mut into = None;
        if self.eat_word("INTO") {
            let target = self.target_kind()?;
            let mut columns = Vec::new();
            if self.is_op('(') && !self.parenthesis_starts_query() {
                columns = self.name_list()?;
            }
            into = Some((target, columns));
        }
        if self.is_word("OUTPUT") {
            return Err(self.not_supported("two OUTPUT clauses"));
        }
        Ok(Some(Output { items, into }))
    }

    pub(super) fn update(&mut self, ctes: Vec<Cte>) -> SqlResult<StatementKind> {
        self.expect_word("UPDATE")?;
        let top = self.top_of_change()?;
        let target = self.target()?;
        self.expect_word("SET")?;
        let set = self.list(Self::set_clause)?;
        let output = self.output()?;
        let mut from = Vec::new();
        if self.eat_word("FROM") {
            from = self.source_list()?;
        }
        let where_ = self.dml_where()?;
        let hints = self.query_hints()?;
        let update = UpdateStmt {
            ctes,
            top,
            target,
            set,
            output,
            from,
            where_,
            hints,
        };
        Ok(StatementKind::Update(Box::new(update)))
    }

    fn dml_where(&mut self) -> SqlResult<Option<DmlWhere>> {
        if !self.eat_word("WHERE") {
            return Ok(None);
        }
        if self.eat_words(&["CURRENT", "OF"]) {
            self.eat_word("GLOBAL");
            let cursor = match self.kind() {
                Tok::Variable => self.variable()?,
                _ => self.name()?,
            };
            return Ok(Some(DmlWhere::CurrentOf(cursor)));
        }
        self.condition().map(|c| Some(DmlWhere::Condition(c)))
    }

    pub(super) fn set_clause(&mut self) -> SqlResult<SetClause> {
        let line = self.line();
        if *self.kind() == Tok::Variable {
            let name = self.variable_as(VariableRole::Assigned)?;
            let op = self.assign_op()?;
            // `@v = column = expr`.
            if op.is_none() && self.names_then_assign() {
                let column = self.dotted_name(4, "column")?;
                let op = self.assign_op()?;
                let value = self.expr_or_default()?;
                return Ok(SetClause::Column {
                    variable: Some(name),
                    column,
                    op,
                    value,
                    line,
                });
            }
            let value = self.expr()?;
            return Ok(SetClause::Variable {
                name,
                op,
                value,
                line,
            });
        }
        let column = self.dotted_name(4, "column")?;
        if self.is_op('(') && column.name().eq_ignore_ascii_case("WRITE") && column.parts.len() > 1
        {
            let args = self.parenthesized(Self::expr)?;
            let column = column.parts[column.parts.len() - 2].clone();
            return Ok(SetClause::Write { column, args, line });
        }
        if self.is_op('(') && column.parts.len() > 1 {
            return Err(self.not_supported("method calls"));
        }
        let op = self.assign_op()?;
        let value = self.expr_or_default()?;
        Ok(SetClause::Column {
            variable: None,
            column,
            op,
            value,
            line,
        })
    }

    /// Whether a dotted name followed by an assignment stands here.
    fn names_then_assign(&self) -> bool {
        let mut ahead = 0;
        while ahead < 8 && (self.is_name_at(ahead) || self.is_op_at(ahead, '.')) {
            ahead += 1;
        }
        ahead > 0 && self.is_assign_at(ahead)
    }

    pub(super) fn delete(&mut self, ctes: Vec<Cte>) -> SqlResult<StatementKind> {
        self.expect_word("DELETE")?;
        let top = self.top_of_change()?;
        self.eat_word("FROM");
        let target = self.target()?;
        let output = self.output()?;
        let mut from = Vec::new();
        if self.eat_word("FROM") {
            from = self.source_list()?;
        }
        let where_ = self.dml_where()?;
        let hints = self.query_hints()?;
        let delete = DeleteStmt {
            ctes,
            top,
            target,
            output,
            from,
            where_,
            hints,
        };
        Ok(StatementKind::Delete(Box::new(delete)))
    }

    pub(super) fn merge(&mut self, ctes: Vec<Cte>) -> SqlResult<StatementKind> {
        self.expect_word("MERGE")?;
        let top = self.top_of_change()?;
        self.eat_word("INTO");
        let mut target = self.target()?;
        let target_alias = self.table_alias()?;
        if target.hints.is_empty() {
            target.hints = self.table_hints()?;
        }
        self.expect_word("USING")?;
        let source = self.table_source()?;
        self.expect_word("ON")?;
        let on = self.condition()?;
        let mut clauses = Vec::new();
        while self.is_word("WHEN") {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.unexpected());
        }
        let output = self.output()?;
        let hints = self.query_hints()?;
        if !self.is_op(';') {
            return Err(self.raise(&messages::MERGE_NEEDS_SEMICOLON, &[]));
        }
        let merge = MergeStmt {
            ctes,
            top,
            target,
            target_alias,
            source,
            on,
            clauses,
            output,
            hints,
        };
        Ok(StatementKind::Merge(Box::new(merge)))
    }

    fn merge_clause(&mut self) -> SqlResult<MergeClause> {
        let line = self.line();
        self.expect_word("WHEN")?;
        let negated = self.eat_word("NOT");
        self.expect_word("MATCHED")?;
        let mut kind = match negated {
            true => MergeKind::NotMatched,
            false => MergeKind::Matched,
        };
        if negated && self.eat_words(&["BY", "SOURCE"]) {
            kind = MergeKind::NotMatchedBySource;
        } else if negated {
            self.eat_words(&["BY", "TARGET"]);
        }
        let mut condition = None;
        if self.eat_word("AND") {
            condition = Some(self.condition()?);
        }
        self.expect_word("THEN")?;
        let action = self.merge_action()?;
        Ok(MergeClause {
            kind,
            condition,
            action,
            line,
        })
    }

    fn merge_action(&mut self) -> SqlResult<MergeAction> {
        if self.eat_word("DELETE") {
            return Ok(MergeAction::Delete);
        }
        if self.eat_word("UPDATE") {
            self.expect_word("SET")?;
            return self.list(Self::set_clause).map(MergeAction::Update);
        }
        self.expect_word("INSERT")?;
        let mut columns = Vec::new();
        if self.is_op('(') {
            columns = self.name_list()?;
        }
        if self.eat_words(&["DEFAULT", "VALUES"]) {
            return Ok(MergeAction::Insert {
                columns,
                values: None,
            });
        }
        self.expect_word("VALUES")?;
        let values = Some(self.parenthesized(Self::expr_or_default)?);
        Ok(MergeAction::Insert { columns, values })
    }
}
