//! Variables, SET, EXEC, cursors, USE.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// SET options that take ON or OFF.
const ON_OFF_OPTIONS: &[&str] = &[
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
];

/// SET options that take a value.
const VALUE_OPTIONS: &[&str] = &[
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
    "ROWCOUNT",
    "TEXTSIZE",
];

const CURSOR_OPTIONS: &[&str] = &[
    "DYNAMIC",
    "FAST_FORWARD",
    "FORWARD_ONLY",
    "GLOBAL",
    "INSENSITIVE",
    "KEYSET",
    "LOCAL",
    "OPTIMISTIC",
    "READ_ONLY",
    "SCROLL",
    "SCROLL_LOCKS",
    "STATIC",
    "TYPE_WARNING",
];

impl Parser<'_> {
    pub(super) fn session_statement(&mut self) -> SqlResult<StatementKind> {
        match () {
            () if self.is_word("DECLARE") => self.declare(),
            () if self.is_word("SET") => self.set(),
            () if self.is_word("USE") && self.in_module => {
                let args: [&dyn std::fmt::Display; 2] = [
                    &"a USE database statement",
                    &"a procedure, function or trigger",
                ];
                Err(self.raise(&messages::NOT_ALLOWED_IN, &args))
            }
            () if self.is_word("USE") => {
                self.advance();
                self.name().map(StatementKind::Use)
            }
            () if self.is_word("REVERT") => {
                self.advance();
                self.not_with("REVERT")?;
                Ok(StatementKind::Revert)
            }
            () if self.is_any(&["EXEC", "EXECUTE"]) => {
                self.advance();
                match self.is_word("AS") {
                    true => self.execute_as(),
                    false => self.exec_call().map(|e| StatementKind::Exec(Box::new(e))),
                }
            }
            () => self.cursor_statement(),
        }
    }

    fn declare(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("DECLARE")?;
        if *self.kind() != Tok::Variable {
            return self.declare_cursor();
        }
        let table_ahead = 1 + usize::from(self.is_word_at(1, "AS"));
        if self.is_word_at(table_ahead, "TABLE") {
            let name = self.variable_as(VariableRole::DeclaredTable)?;
            self.eat_word("AS");
            self.expect_word("TABLE")?;
            let elements = self.elements_of_variable()?;
            return Ok(StatementKind::DeclareTable { name, elements });
        }
        let before = self.variables.len();
        let list = self.list(|p| {
            let line = p.line();
            let name = p.variable_as(VariableRole::Declared)?;
            p.eat_word("AS");
            if p.eat_word("CURSOR") {
                return Ok(Declaration {
                    name,
                    ty: None,
                    init: None,
                    line,
                });
            }
            let ty = Some(p.data_type()?);
            let mut init = None;
            if p.eat_op('=') {
                init = Some(p.expr()?);
            }
            Ok(Declaration {
                name,
                ty,
                init,
                line,
            })
        })?;
        self.declared_here(before);
        Ok(StatementKind::Declare(list))
    }

    fn declare_cursor(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        let mut options = self.cursor_options();
        self.expect_word("CURSOR")?;
        options.extend(self.cursor_options());
        self.cursor_query(name, options)
    }

    fn cursor_options(&mut self) -> Vec<String> {
        let mut options = Vec::new();
        while self.is_any(CURSOR_OPTIONS) {
            options.push(self.text(0).to_ascii_uppercase());
            self.advance();
        }
        options
    }

    fn cursor_query(&mut self, name: String, mut options: Vec<String>) -> SqlResult<StatementKind> {
        self.expect_word("FOR")?;
        let mut ctes = Vec::new();
        if self.is_word("WITH") {
            ctes = self.ctes()?;
        }
        let query = self.select_statement(ctes)?;
        let mut for_update = None;
        if self.eat_words(&["FOR", "UPDATE"]) {
            for_update = Some(Vec::new());
            if self.eat_word("OF") {
                for_update = Some(self.list(Self::name)?);
            }
        } else if self.eat_words(&["FOR", "READ_ONLY"]) || self.eat_words(&["FOR", "READ", "ONLY"])
        {
            options.push("READ_ONLY".to_string());
        }
        let cursor = DeclareCursor {
            name,
            options,
            query,
            for_update,
        };
        Ok(StatementKind::DeclareCursor(Box::new(cursor)))
    }

    fn cursor_name(&mut self) -> SqlResult<CursorName> {
        if *self.kind() == Tok::Variable {
            return Ok(CursorName {
                name: self.variable()?,
                global: false,
            });
        }
        let global = self.is_word("GLOBAL") && self.is_name_at(1);
        if global {
            self.advance();
        }
        Ok(CursorName {
            name: self.name()?,
            global,
        })
    }

    fn cursor_statement(&mut self) -> SqlResult<StatementKind> {
        let statement = if self.eat_word("OPEN") {
            if self.is_any(&["SYMMETRIC", "MASTER"]) {
                return Err(self.not_supported("OPEN KEY"));
            }
            CursorStmt::Open(self.cursor_name()?)
        } else if self.is_word("CLOSE") {
            self.check_statement()?;
            self.advance();
            CursorStmt::Close(self.cursor_name()?)
        } else if self.eat_word("DEALLOCATE") {
            CursorStmt::Deallocate(self.cursor_name()?)
        } else {
            self.expect_word("FETCH")?;
            self.fetch()?
        };
        Ok(StatementKind::Cursor(statement))
    }

    fn fetch(&mut self) -> SqlResult<CursorStmt> {
        let mut worded = true;
        let direction = match () {
            () if self.eat_word("NEXT") => FetchDirection::Next,
            () if self.eat_word("PRIOR") => FetchDirection::Prior,
            () if self.eat_word("FIRST") => FetchDirection::First,
            () if self.eat_word("LAST") => FetchDirection::Last,
            () if self.eat_word("ABSOLUTE") => FetchDirection::Absolute(self.expr()?),
            () if self.eat_word("RELATIVE") => FetchDirection::Relative(self.expr()?),
            () => {
                worded = false;
                FetchDirection::Next
            }
        };
        if !self.eat_word("FROM") && worded && !self.is_name_at(0) && *self.kind() != Tok::Variable
        {
            return Err(self.unexpected());
        }
        let cursor = self.cursor_name()?;
        let mut into = Vec::new();
        if self.eat_word("INTO") {
            into = self.list(|p| p.variable_as(VariableRole::Assigned))?;
        }
        Ok(CursorStmt::Fetch {
            direction,
            cursor,
            into,
        })
    }

    // ---- SET ----

    fn set(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("SET")?;
        if *self.kind() == Tok::Variable {
            return self.set_variable();
        }
        self.set_option().map(StatementKind::SetOption)
    }

    fn set_variable(&mut self) -> SqlResult<StatementKind> {
        let name = self.variable_as(VariableRole::Assigned)?;
        if self.is_op('.') {
            return Err(self.not_supported("method calls"));
        }
        let op = self.assign_op()?;
        if op.is_none() && self.eat_word("CURSOR") {
            let options = self.cursor_options();
            return self.cursor_query(name, options);
        }
        let value = self.expr()?;
        Ok(StatementKind::SetVariable { name, op, value })
    }

    fn set_option(&mut self) -> SqlResult<SetOption> {
        if self.eat_words(&["TRANSACTION", "ISOLATION", "LEVEL"]) {
            return self.isolation_level().map(SetOption::IsolationLevel);
        }
        if self.eat_word("IDENTITY_INSERT") {
            let table = self.object_name()?;
            let on = self.on_off()?;
            return Ok(SetOption::IdentityInsert { table, on });
        }
        if self.eat_word("STATISTICS") {
            let names = self.list(|p| match p.is_any(&["IO", "TIME", "XML", "PROFILE"]) {
                true => Ok(p.name()?.to_ascii_uppercase()),
                false => Err(p.unexpected()),
            })?;
            let on = self.on_off()?;
            return Ok(SetOption::Statistics { names, on });
        }
        if self.is_any(VALUE_OPTIONS) {
            return self.set_value();
        }
        if self.is_any(&["OFFSETS", "ERRLVL", "FIPS_FLAGGER"]) {
            return Err(self.not_supported(&format!("SET {}", self.text(0).to_ascii_uppercase())));
        }
        let names = self.list(|p| match p.is_any(ON_OFF_OPTIONS) {
            true => Ok(p.name()?.to_ascii_uppercase()),
            false if matches!(p.kind(), Tok::Word { reserved: false }) => {
                Err(p.raise(&messages::UNRECOGNIZED_NAME, &[&p.text(0), &"SET option"]))
            }
            false => Err(p.unexpected()),
        })?;
        let on = self.on_off()?;
        if names
            .iter()
            .any(|n| n == "QUOTED_IDENTIFIER" || n == "ANSI_DEFAULTS")
        {
            self.quoted_identifier = on;
        }
        Ok(SetOption::OnOff { names, on })
    }

    fn set_value(&mut self) -> SqlResult<SetOption> {
        let line = self.line();
        let name = self.text(0).to_ascii_uppercase();
        self.advance();
        let value = match self.is_name_at(0) {
            true => self.bare_word(line)?,
            false => self.constant()?,
        };
        Ok(SetOption::Value { name, value })
    }

    /// A bare word that stands for the string of its letters.
    fn bare_word(&mut self, line: u32) -> SqlResult<Expr> {
        let value = self.name()?;
        let literal = StringLiteral {
            value,
            national: true,
            namespaces: String::new(),
        };
        Ok(Expr {
            kind: ExprKind::Literal(Literal::String(literal)),
            line,
        })
    }

    fn isolation_level(&mut self) -> SqlResult<IsolationLevel> {
        let levels: [(&[&str], IsolationLevel); 5] = [
            (&["READ", "UNCOMMITTED"], IsolationLevel::ReadUncommitted),
            (&["READ", "COMMITTED"], IsolationLevel::ReadCommitted),
            (&["REPEATABLE", "READ"], IsolationLevel::RepeatableRead),
            (&["SNAPSHOT"], IsolationLevel::Snapshot),
            (&["SERIALIZABLE"], IsolationLevel::Serializable),
        ];
        for (words, level) in levels {
            if self.eat_words(words) {
                return Ok(level);
            }
        }
        Err(self.unexpected())
    }

    // ---- EXEC ----

    fn execute_as(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("AS")?;
        let kind = self.name_or_word()?.to_ascii_uppercase();
        let mut name = None;
        if self.eat_op('=') {
            name = Some(self.string()?.value);
        }
        self.not_with("EXECUTE AS")?;
        Ok(StatementKind::ExecuteAs { kind, name })
    }

    /// `WITH NO REVERT`, `WITH COOKIE ...`
    fn not_with(&self, what: &str) -> SqlResult<()> {
        let with = ["NO", "COOKIE"].iter().any(|w| self.is_words(&["WITH", w]));
        match with {
            true => Err(self.not_supported(&format!("{what} WITH"))),
            false => Ok(()),
        }
    }

    /// What follows EXEC (or opens a batch without it).
    pub(super) fn exec_call(&mut self) -> SqlResult<ExecStmt> {
        let line = self.line();
        if self.is_op('(') {
            let call = self.exec_text()?;
            return Ok(ExecStmt {
                result: None,
                call,
                options: Vec::new(),
                line,
            });
        }
        let mut result = None;
        if *self.kind() == Tok::Variable && self.is_op_at(1, '=') {
            result = Some(self.variable_as(VariableRole::Assigned)?);
            self.advance();
        }
        let call = if *self.kind() == Tok::Variable {
            let variable = self.variable()?;
            let args = self.exec_args()?;
            ExecCall::ProcedureVariable { variable, args }
        } else {
            let name = self.object_name()?;
            let mut number = None;
            if self.is_op(';') && matches!(self.at(1).kind, Tok::Int(_)) {
                self.advance();
                number = Some(self.integer_u32()?);
            }
            let args = self.exec_args()?;
            ExecCall::Procedure { name, number, args }
        };
        let options = self.exec_options()?;
        Ok(ExecStmt {
            result,
            call,
            options,
            line,
        })
    }

    fn exec_text(&mut self) -> SqlResult<ExecCall> {
        self.expect_op('(')?;
        let text = self.joined_texts()?;
        let mut args = Vec::new();
        while self.eat_op(',') {
            args.push(self.expr()?);
            self.eat_word("OUTPUT");
        }
        self.expect_op(')')?;
        if self.is_word("AS") {
            return Err(self.not_supported("EXECUTE (...) AS"));
        }
        let mut at = None;
        if self.eat_word("AT") {
            at = Some(self.name()?);
        }
        Ok(ExecCall::Text { text, args, at })
    }

    /// `'a' + @b + ...`: nothing else is computed there.
    fn joined_texts(&mut self) -> SqlResult<Expr> {
        let mut text = self.text_or_variable()?;
        while self.eat_op('+') {
            let right = self.text_or_variable()?;
            text = self.binary(BinaryOp::Add, text, right)?;
        }
        Ok(text)
    }

    fn text_or_variable(&mut self) -> SqlResult<Expr> {
        match self.is_string_at(0) || *self.kind() == Tok::Variable {
            true => self.constant(),
            false => Err(self.unexpected()),
        }
    }

    fn exec_args(&mut self) -> SqlResult<Vec<ExecArg>> {
        if !self.starts_exec_arg() {
            return Ok(Vec::new());
        }
        let mut named = false;
        let mut position = 0;
        self.list(|p| {
            position += 1;
            let mut name = None;
            if *p.kind() == Tok::Variable && p.is_op_at(1, '=') {
                name = Some(p.variable_name()?);
                p.advance();
                named = true;
            } else if named {
                return Err(p.raise(&messages::POSITIONAL_AFTER_NAMED, &[&position]));
            }
            let value = p.exec_value()?;
            let output = p.eat_word("OUTPUT") || p.eat_word("OUT");
            if output && !matches!(value.kind, ExprKind::Variable(_)) {
                return Err(p.raise(&messages::OUTPUT_WITH_CONSTANT, &[]));
            }
            p.eat_word("READONLY");
            Ok(ExecArg {
                name,
                value,
                output,
            })
        })
    }

    fn starts_exec_arg(&self) -> bool {
        match self.kind() {
            Tok::End | Tok::Op(';') => false,
            Tok::Op('-' | '+') => true,
            Tok::Op(_) => false,
            Tok::Word { reserved: true } => self.is_any(&["NULL", "DEFAULT", "ON", "OFF"]),
            Tok::Word { reserved: false } => !self.is_label(),
            _ => true,
        }
    }

    /// A literal, a variable, DEFAULT or a bare word: never an expression.
    fn exec_value(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if self.eat_word("DEFAULT") {
            return Ok(Expr {
                kind: ExprKind::Default,
                line,
            });
        }
        if *self.kind() == Tok::Variable {
            return Ok(Expr {
                kind: ExprKind::Variable(self.variable_as(VariableRole::Argument)?),
                line,
            });
        }
        if let Some(literal) = self.signed_literal()? {
            return Ok(literal);
        }
        if self.is_any(&["ON", "OFF"]) {
            let value = self.name_or_word()?;
            let literal = StringLiteral {
                value,
                national: true,
                namespaces: String::new(),
            };
            return Ok(Expr {
                kind: ExprKind::Literal(Literal::String(literal)),
                line,
            });
        }
        self.bare_word(line)
    }

    fn exec_options(&mut self) -> SqlResult<Vec<String>> {
        let starts = self.is_word("WITH")
            && (self.is_word_at(1, "RECOMPILE") || self.is_word_at(1, "RESULT"));
        if !starts {
            return Ok(Vec::new());
        }
        self.advance();
        self.list(|p| {
            if p.eat_word("RECOMPILE") {
                return Ok("RECOMPILE".to_string());
            }
            p.expect_words(&["RESULT", "SETS"])?;
            match () {
                () if p.eat_word("NONE") => Ok("RESULT SETS NONE".to_string()),
                () if p.eat_word("UNDEFINED") => Ok("RESULT SETS UNDEFINED".to_string()),
                () => Err(p.not_supported("WITH RESULT SETS (...)")),
            }
        })
    }
}
