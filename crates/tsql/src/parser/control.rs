//! The batch, statement lists and control of flow.

use duramen_base::{SqlError, SqlResult, messages};

use super::{Holds, Parser};
use crate::ast::*;
use crate::lexer::Tok;

/// Where a statement list ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    EndWord,
}

impl Parser<'_> {
    pub(super) fn batch(&mut self) -> SqlResult<Vec<Statement>> {
        while self.eat_op(';') {}
        let mut statements = Vec::new();
        // Only here may a procedure be called without EXEC.
        if self.starts_bare_call() {
            let (line, start) = (self.line(), self.start());
            let exec = self.exec_call()?;
            let span = self.span_from(start);
            statements.push(Statement {
                kind: StatementKind::Exec(Box::new(exec)),
                line,
                span,
            });
        }
        self.statement_list(&mut statements, Until::End)?;
        self.expect_end()?;
        self.check_labels()?;
        Ok(statements)
    }

    fn starts_bare_call(&self) -> bool {
        if self.is_op('.') {
            return true;
        }
        let statement_word = self.is_words(&["THROW"])
            || self.starts_refused()
            || (self.is_any(&["ENABLE", "DISABLE"]) && self.is_word_at(1, "TRIGGER"));
        self.is_name_at(0) && !self.is_label() && !statement_word
    }

    /// Statements up to the end of the text (a module's body).
    pub(super) fn body_to_end(&mut self) -> SqlResult<Vec<Statement>> {
        let mut body = Vec::new();
        self.statement_list(&mut body, Until::End)?;
        Ok(body)
    }

    fn statement_list(&mut self, out: &mut Vec<Statement>, until: Until) -> SqlResult<()> {
        let mut separated = out.is_empty();
        loop {
            while self.eat_op(';') {
                separated = true;
            }
            let ends = until == Until::EndWord && self.is_word("END");
            if self.at_end() || ends && !self.is_word_at(1, "CONVERSATION") {
                return Ok(());
            }
            if self.is_word("WITH") && !separated {
                return Err(self.raise(&messages::SYNTAX_NEAR_WITH, &[]));
            }
            if let Some(last) = out.last()
                && matches!(last.kind, StatementKind::CreateModule(_))
            {
                return Err(self.unexpected());
            }
            let module_first = out.is_empty() && until == Until::End && self.depth == 0;
            out.push(self.statement(module_first)?);
            separated = false;
        }
    }

    fn statement(&mut self, first: bool) -> SqlResult<Statement> {
        let (line, start) = (self.line(), self.start());
        self.namespaces.clear();
        let around = std::mem::take(&mut self.assigned);
        let kind = self.nested(|p| p.statement_kind(first))?;
        let (assigned, at) = std::mem::replace(&mut self.assigned, around);
        if assigned > 0 {
            self.may_assign(&kind, assigned, at)?;
        }
        let span = self.span_from(start);
        Ok(Statement { kind, line, span })
    }

    /// 10734, 194, 199 and 102: only the list of a SELECT statement itself assigns to variables.
    fn may_assign(&self, kind: &StatementKind, assigned: usize, line: u32) -> SqlResult<()> {
        let is_assign = |i: &&SelectItem| matches!(i, SelectItem::Assign { .. });
        let message = match kind {
            StatementKind::Select(s) => match &s.body {
                QueryExpr::Select(spec)
                    if spec.items.iter().filter(is_assign).count() == assigned =>
                {
                    match spec.into {
                        None => return Ok(()),
                        Some(_) => &messages::SELECT_INTO_ASSIGNS,
                    }
                }
                QueryExpr::SetOp { .. } => &messages::ASSIGN_IN_UNION,
                _ => &messages::SYNTAX_NEAR,
            },
            StatementKind::Insert(_) => &messages::INSERT_ASSIGNS,
            _ => &messages::SYNTAX_NEAR,
        };
        Err(SqlError::new(message, &[&"="]).at_line(line as i32))
    }

    fn statement_kind(&mut self, first: bool) -> SqlResult<StatementKind> {
        if self.is_op('(') {
            let query = self.query(true)?;
            return Ok(StatementKind::Select(Box::new(query)));
        }
        if self.is_label() {
            return self.label();
        }
        let Tok::Word { .. } = self.kind() else {
            return Err(self.unexpected());
        };
        match self.text(0).to_ascii_uppercase().as_str() {
            "SELECT" | "WITH" | "INSERT" | "UPDATE" | "DELETE" | "MERGE" => self.query_statement(),
            "IF" => self.if_statement(),
            "WHILE" => self.while_statement(),
            "BEGIN" => self.begin(),
            "BREAK" => self.break_or_continue(),
            "CONTINUE" => self.break_or_continue(),
            "RETURN" => self.return_statement(),
            "GOTO" => self.goto(),
            "PRINT" => {
                self.advance();
                let text = self.holding(Holds::Constants, Self::expr)?;
                Ok(StatementKind::Print(text))
            }
            "RAISERROR" => self.raiserror(),
            "THROW" => self.throw(),
            "WAITFOR" => self.waitfor(),
            "COMMIT" => self.commit(),
            "ROLLBACK" => self.rollback(),
            "SAVE" => self.save_tran(),
            "CREATE" | "ALTER" | "DROP" | "TRUNCATE" => self.definition(first),
            "ENABLE" | "DISABLE" if self.is_word_at(1, "TRIGGER") => self.switch_trigger(),
            "GRANT" | "DENY" | "REVOKE" => self.permission(),
            "DECLARE" | "SET" | "EXEC" | "EXECUTE" | "USE" | "OPEN" | "CLOSE" | "FETCH"
            | "DEALLOCATE" | "REVERT" => self.session_statement(),
            _ => {
                self.check_statement()?;
                self.admin_statement()
            }
        }
    }

    fn query_statement(&mut self) -> SqlResult<StatementKind> {
        let mut ctes = Vec::new();
        if self.is_word("WITH") {
            ctes = self.ctes()?;
        }
        match () {
            () if self.is_word("INSERT") => self.insert(ctes),
            () if self.is_word("UPDATE") && self.is_word_at(1, "STATISTICS") => {
                self.update_statistics()
            }
            () if self.is_word("UPDATE") => self.update(ctes),
            () if self.is_word("DELETE") => self.delete(ctes),
            () if self.is_word("MERGE") => self.merge(ctes),
            () => {
                self.may_have_into = true;
                let query = self.select_statement(ctes)?;
                Ok(StatementKind::Select(Box::new(query)))
            }
        }
    }

    fn if_statement(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("IF")?;
        let condition = self.condition()?;
        let then = Box::new(self.statement(false)?);
        // A semicolon ends the branch, and an ELSE may still follow one.
        if self.is_op(';') && self.is_word_at(1, "ELSE") {
            self.advance();
        }
        let mut otherwise = None;
        if self.eat_word("ELSE") {
            otherwise = Some(Box::new(self.statement(false)?));
        }
        Ok(StatementKind::If {
            condition,
            then,
            otherwise,
        })
    }

    fn while_statement(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("WHILE")?;
        let condition = self.condition()?;
        self.loops += 1;
        let body = self.statement(false).map(Box::new);
        self.loops -= 1;
        Ok(StatementKind::While {
            condition,
            body: body?,
        })
    }

    fn break_or_continue(&mut self) -> SqlResult<StatementKind> {
        let (kind, message) = match self.is_word("BREAK") {
            true => (StatementKind::Break, &messages::BREAK_OUTSIDE_WHILE),
            false => (StatementKind::Continue, &messages::CONTINUE_OUTSIDE_WHILE),
        };
        if self.loops == 0 {
            return Err(self.raise(message, &[]));
        }
        self.advance();
        Ok(kind)
    }

    fn begin(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("BEGIN")?;
        if self.is_any(&["TRAN", "TRANSACTION"]) {
            return self.begin_tran(false);
        }
        if self.is_word("DISTRIBUTED") {
            self.advance();
            return self.begin_tran(true);
        }
        if self.is_any(&["DIALOG", "CONVERSATION", "ATOMIC"]) {
            return Err(self.not_supported(&format!("BEGIN {}", self.text(0).to_ascii_uppercase())));
        }
        if self.eat_word("TRY") {
            return self.try_catch();
        }
        let body = self.block_body()?;
        self.expect_word("END")?;
        Ok(StatementKind::Block(body))
    }

    fn block_body(&mut self) -> SqlResult<Vec<Statement>> {
        let mut body = Vec::new();
        self.statement_list(&mut body, Until::EndWord)?;
        match body.is_empty() {
            true => Err(self.unexpected()),
            false => Ok(body),
        }
    }

    /// Either side may be empty.
    fn try_catch(&mut self) -> SqlResult<StatementKind> {
        let mut body = Vec::new();
        self.statement_list(&mut body, Until::EndWord)?;
        self.expect_words(&["END", "TRY"])?;
        while self.eat_op(';') {}
        self.expect_words(&["BEGIN", "CATCH"])?;
        let mut catch = Vec::new();
        self.statement_list(&mut catch, Until::EndWord)?;
        self.expect_words(&["END", "CATCH"])?;
        Ok(StatementKind::TryCatch { body, catch })
    }

    fn return_statement(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("RETURN")?;
        let starts_value = match self.kind() {
            Tok::End | Tok::Op(';') => false,
            Tok::Word { reserved: true } => {
                self.is_any(&[
                    "CASE",
                    "NULL",
                    "CONVERT",
                    "COALESCE",
                    "NULLIF",
                    "TRY_CONVERT",
                ]) || self.is_any(&[
                    "LEFT",
                    "RIGHT",
                    "CURRENT_TIMESTAMP",
                    "CURRENT_USER",
                    "SYSTEM_USER",
                ])
            }
            Tok::Word { reserved: false } => !self.is_label() && !self.is_word("THROW"),
            _ => true,
        };
        match starts_value {
            true => Ok(StatementKind::Return(Some(self.expr()?))),
            false => Ok(StatementKind::Return(None)),
        }
    }

    fn label(&mut self) -> SqlResult<StatementKind> {
        let line = self.line();
        let name = self.name()?;
        self.expect_op(':')?;
        if self
            .labels
            .iter()
            .any(|(l, _)| l.eq_ignore_ascii_case(&name))
        {
            return Err(self.raise(&messages::LABEL_ALREADY_DECLARED, &[&name]));
        }
        self.labels.push((name.clone(), line));
        Ok(StatementKind::Label(name))
    }

    fn goto(&mut self) -> SqlResult<StatementKind> {
        let line = self.line();
        self.expect_word("GOTO")?;
        let name = self.name()?;
        self.gotos.push((name.clone(), line));
        Ok(StatementKind::Goto(name))
    }

    fn check_labels(&self) -> SqlResult<()> {
        for (name, line) in &self.gotos {
            if !self
                .labels
                .iter()
                .any(|(l, _)| l.eq_ignore_ascii_case(name))
            {
                let error = SqlError::new(&messages::LABEL_NOT_DECLARED, &[name]);
                return Err(error.at_line(*line as i32));
            }
        }
        Ok(())
    }

    fn raiserror(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("RAISERROR")?;
        self.expect_op('(')?;
        let message = self.constant()?;
        self.expect_op(',')?;
        let severity = self.constant()?;
        self.expect_op(',')?;
        let state = self.constant()?;
        let mut args = Vec::new();
        while self.eat_op(',') {
            args.push(self.constant()?);
        }
        self.expect_op(')')?;
        let mut options = Vec::new();
        if self.is_word("WITH")
            && ["LOG", "NOWAIT", "SETERROR"]
                .iter()
                .any(|w| self.is_word_at(1, w))
        {
            self.advance();
            options = self.list(|p| match p.is_any(&["LOG", "NOWAIT", "SETERROR"]) {
                true => Ok(p.name()?.to_ascii_uppercase()),
                false => Err(p.unexpected()),
            })?;
        }
        let raise = RaiseError {
            message,
            severity,
            state,
            args,
            options,
        };
        Ok(StatementKind::RaiseError(Box::new(raise)))
    }

    fn throw(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("THROW")?;
        if !matches!(self.kind(), Tok::Int(_) | Tok::Decimal(_) | Tok::Variable) {
            return Ok(StatementKind::Throw(None));
        }
        let number = self.constant()?;
        self.expect_op(',')?;
        let message = self.constant()?;
        self.expect_op(',')?;
        let state = self.constant()?;
        Ok(StatementKind::Throw(Some(Box::new((
            number, message, state,
        )))))
    }

    fn waitfor(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("WAITFOR")?;
        let kind = match () {
            () if self.eat_word("DELAY") => WaitForKind::Delay,
            () if self.eat_word("TIME") => WaitForKind::Time,
            () if self.is_op('(') => return Err(self.not_supported("WAITFOR (statement)")),
            () => return Err(self.unexpected()),
        };
        let value = match self.is_string_at(0) || *self.kind() == Tok::Variable {
            true => self.constant()?,
            false => return Err(self.unexpected()),
        };
        Ok(StatementKind::WaitFor { kind, value })
    }

    // ---- transactions ----

    fn tran_name(&mut self) -> SqlResult<Option<TranName>> {
        if *self.kind() == Tok::Variable {
            return self.variable().map(|v| Some(TranName::Variable(v)));
        }
        if !self.is_name_at(0) || self.is_label() {
            return Ok(None);
        }
        let line = self.line();
        let name = self.name()?;
        if name.chars().count() > TranName::MAX {
            let shown: String = name.chars().take(TranName::MAX).collect();
            let args: [&dyn std::fmt::Display; 3] = [&"identifier", &shown, &TranName::MAX];
            let error = SqlError::new(&messages::NAME_TOO_LONG, &args);
            return Err(error.with_state(2).at_line(line as i32));
        }
        Ok(Some(TranName::Name(name)))
    }

    fn begin_tran(&mut self, distributed: bool) -> SqlResult<StatementKind> {
        if !self.eat_word("TRAN") {
            self.expect_word("TRANSACTION")?;
        }
        let name = self.tran_name()?;
        let mut mark = None;
        // A mark needs a name.
        if name.is_some() && self.eat_words(&["WITH", "MARK"]) {
            mark = Some(None);
            if self.is_string_at(0) {
                mark = Some(Some(self.string()?.value));
            }
        }
        Ok(StatementKind::BeginTran {
            name,
            mark,
            distributed,
        })
    }

    fn commit(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("COMMIT")?;
        let mut name = None;
        if self.eat_word("TRAN") || self.eat_word("TRANSACTION") {
            name = self.tran_name()?;
        } else {
            self.eat_word("WORK");
        }
        let mut delayed_durability = None;
        if self.is_word("WITH") && self.is_op_at(1, '(') {
            self.advance();
            self.advance();
            self.expect_word("DELAYED_DURABILITY")?;
            self.expect_op('=')?;
            delayed_durability = Some(self.on_off()?);
            self.expect_op(')')?;
        }
        Ok(StatementKind::Commit {
            name,
            delayed_durability,
        })
    }

    fn rollback(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("ROLLBACK")?;
        let mut name = None;
        if self.eat_word("TRAN") || self.eat_word("TRANSACTION") {
            name = self.tran_name()?;
        } else {
            self.eat_word("WORK");
        }
        Ok(StatementKind::Rollback { name })
    }

    fn save_tran(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("SAVE")?;
        if !self.eat_word("TRAN") {
            self.expect_word("TRANSACTION")?;
        }
        match self.tran_name()? {
            Some(name) => Ok(StatementKind::SaveTran { name }),
            None => Err(self.unexpected()),
        }
    }
}
