//! Procedures, functions, views, triggers. Bodies are parsed with the definition, so that their syntax errors show at
//! once; the text is what the catalog keeps.

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

/// Parameters of a module at most.
const PARAMETERS_MAX: usize = 2100;

impl Parser<'_> {
    /// At PROC, VIEW, FUNCTION or TRIGGER.
    pub(super) fn module(&mut self, mode: ModuleMode) -> SqlResult<StatementKind> {
        let what = self.text(0).to_ascii_uppercase();
        self.advance();
        let name = self.object_name()?;
        let mut options = Vec::new();
        // BREAK and labels of a body have nothing to do with what is around it.
        let loops = std::mem::take(&mut self.loops);
        self.in_module = true;
        let kind = match what.as_str() {
            "VIEW" => self.view(&mut options),
            "FUNCTION" => self.function(&mut options),
            "TRIGGER" => self.trigger(&mut options),
            _ => self.procedure(&mut options),
        };
        self.in_module = false;
        self.loops = loops;
        let kind = kind.map_err(|mut e| {
            e.procedure = Some(name.name().to_owned());
            e
        })?;
        // The whole batch, comments in front included.
        let source = Span {
            start: 0,
            end: self.sql.len() as u32,
        };
        let module = CreateModule {
            mode,
            name,
            kind,
            options,
            source,
        };
        Ok(StatementKind::CreateModule(Box::new(module)))
    }

    /// `WITH option, ...`.
    fn module_options(&mut self, options: &mut Vec<String>) -> SqlResult<()> {
        if !self.eat_word("WITH") {
            return Ok(());
        }
        let list = self.list(|p| {
            if p.is_any(&["EXEC", "EXECUTE"]) {
                p.advance();
                p.expect_word("AS")?;
                let who = match p.is_string_at(0) {
                    true => format!("'{}'", p.string()?.value),
                    false => p.name()?.to_ascii_uppercase(),
                };
                return Ok(format!("EXECUTE AS {who}"));
            }
            if p.is_word("RETURNS") {
                p.expect_words(&["RETURNS", "NULL", "ON", "NULL", "INPUT"])?;
                return Ok("RETURNS NULL ON NULL INPUT".to_string());
            }
            if p.is_word("CALLED") {
                p.expect_words(&["CALLED", "ON", "NULL", "INPUT"])?;
                return Ok("CALLED ON NULL INPUT".to_string());
            }
            if p.is_word("NATIVE_COMPILATION") {
                return Err(p.not_supported("NATIVE_COMPILATION"));
            }
            if p.eat_word("INLINE") {
                p.expect_op('=')?;
                let on = p.is_word("ON");
                p.expect_word(if on { "ON" } else { "OFF" })?;
                return Ok(format!("INLINE = {}", if on { "ON" } else { "OFF" }));
            }
            let option = p.named_option()?;
            Ok(option.name)
        })?;
        options.extend(list);
        Ok(())
    }

    /// `gives`: whether they may be OUTPUT.
    pub(super) fn parameters(&mut self, gives: bool) -> SqlResult<Vec<Parameter>> {
        let mut count = 0;
        self.list(|p| {
            count += 1;
            if count > PARAMETERS_MAX {
                let args: [&dyn std::fmt::Display; 2] = [&"CREATE PROCEDURE", &PARAMETERS_MAX];
                return Err(p.raise(&messages::TOO_MANY_PARAMETERS, &args));
            }
            let line = p.line();
            let name = p.variable_as(VariableRole::Declared)?;
            p.eat_word("AS");
            if p.is_word("CURSOR") {
                return Err(p.not_supported("CURSOR parameters"));
            }
            let ty = p.data_type()?;
            p.nullability()?;
            let mut default = None;
            if p.eat_op('=') {
                default = Some(p.parameter_default()?);
            }
            let output = gives && (p.eat_word("OUTPUT") || p.eat_word("OUT"));
            let readonly = p.eat_word("READONLY");
            Ok(Parameter {
                name,
                ty,
                default,
                output,
                readonly,
                line,
            })
        })
    }

    /// A constant; a bare word stands for its letters.
    fn parameter_default(&mut self) -> SqlResult<Expr> {
        let line = self.line();
        if self.is_name_at(0) {
            let literal = StringLiteral {
                value: self.name()?,
                national: true,
                namespaces: String::new(),
            };
            return Ok(Expr {
                kind: ExprKind::Literal(Literal::String(literal)),
                line,
            });
        }
        self.signed_literal()?.ok_or_else(|| self.unexpected())
    }

    fn procedure(&mut self, options: &mut Vec<String>) -> SqlResult<ModuleKind> {
        if self.is_op(';') && matches!(self.at(1).kind, Tok::Int(_)) {
            return Err(self.not_supported("numbered procedures"));
        }
        let mut params = Vec::new();
        if self.is_op('(') {
            self.advance();
            params = self.parameters(true)?;
            self.expect_op(')')?;
        } else if *self.kind() == Tok::Variable {
            params = self.parameters(true)?;
        }
        self.module_options(options)?;
        if self.is_words(&["FOR", "REPLICATION"]) {
            return Err(self.not_supported("FOR REPLICATION"));
        }
        self.expect_word("AS")?;
        self.not_external()?;
        let body = self.body_to_end()?;
        Ok(ModuleKind::Procedure { params, body })
    }

    /// Bodies of assemblies.
    fn not_external(&self) -> SqlResult<()> {
        match self.is_word("EXTERNAL") {
            true => Err(self.not_supported("EXTERNAL NAME")),
            false => Ok(()),
        }
    }

    fn view(&mut self, options: &mut Vec<String>) -> SqlResult<ModuleKind> {
        let mut columns = Vec::new();
        if self.is_op('(') {
            columns = self.name_list()?;
        }
        self.module_options(options)?;
        self.expect_word("AS")?;
        let query = Box::new(self.defining_query()?);
        let check_option = self.eat_words(&["WITH", "CHECK", "OPTION"]);
        Ok(ModuleKind::View {
            columns,
            query,
            check_option,
        })
    }

    fn defining_query(&mut self) -> SqlResult<SelectStmt> {
        let mut ctes = Vec::new();
        if self.is_word("WITH") {
            ctes = self.ctes()?;
        }
        let query = self.select_statement(ctes)?;
        self.check_ordered(&query)?;
        Ok(query)
    }

    fn function(&mut self, options: &mut Vec<String>) -> SqlResult<ModuleKind> {
        self.expect_op('(')?;
        let mut params = Vec::new();
        if !self.is_op(')') {
            params = self.parameters(false)?;
        }
        self.expect_op(')')?;
        self.expect_word("RETURNS")?;
        if *self.kind() == Tok::Variable {
            return self.table_function_body(params, options);
        }
        if self.is_word("TABLE") {
            self.advance();
            // Only a function of an assembly says here what its table is.
            if self.is_op('(') {
                return Err(self.not_supported("EXTERNAL NAME"));
            }
            self.module_options(options)?;
            self.eat_word("AS");
            self.expect_word("RETURN")?;
            let query = match self.eat_op('(') {
                true => {
                    let query = self.nested(Self::defining_query)?;
                    self.expect_op(')')?;
                    query
                }
                false => self.defining_query()?,
            };
            return Ok(ModuleKind::InlineFunction {
                params,
                query: Box::new(query),
            });
        }
        let returns = self.data_type()?;
        self.module_options(options)?;
        self.eat_word("AS");
        self.not_external()?;
        let body = self.function_body()?;
        Ok(ModuleKind::ScalarFunction {
            params,
            returns,
            body,
        })
    }

    fn table_function_body(
        &mut self,
        params: Vec<Parameter>,
        options: &mut Vec<String>,
    ) -> SqlResult<ModuleKind> {
        let variable = self.variable_as(VariableRole::DeclaredTable)?;
        self.expect_word("TABLE")?;
        let elements = self.elements_of_variable()?;
        self.module_options(options)?;
        self.eat_word("AS");
        let body = self.function_body()?;
        Ok(ModuleKind::TableFunction {
            params,
            variable,
            elements,
            body,
        })
    }

    /// `BEGIN ... END`, required.
    fn function_body(&mut self) -> SqlResult<Vec<Statement>> {
        if !self.is_word("BEGIN") {
            return Err(self.unexpected());
        }
        self.body_to_end()
    }

    fn trigger(&mut self, options: &mut Vec<String>) -> SqlResult<ModuleKind> {
        self.expect_word("ON")?;
        if self.is_word("DATABASE") || self.is_words(&["ALL", "SERVER"]) {
            return Err(self.not_supported("DDL and logon triggers"));
        }
        let table = self.object_name()?;
        self.module_options(options)?;
        let instead_of = self.eat_words(&["INSTEAD", "OF"]);
        if !instead_of && !self.eat_word("AFTER") {
            self.expect_word("FOR")?;
        }
        let events = self.list(|p| match p.is_any(&["INSERT", "UPDATE", "DELETE"]) {
            true => p.name_or_word().map(|w| w.to_ascii_uppercase()),
            false => Err(p.unexpected()),
        })?;
        if let Some(twice) = (1..events.len()).find(|i| events[..*i].contains(&events[*i])) {
            return Err(self.raise(&messages::TRIGGER_ACTION_TWICE, &[&events[twice]]));
        }
        self.eat_words(&["NOT", "FOR", "REPLICATION"]);
        self.expect_word("AS")?;
        self.not_external()?;
        let body = self.body_to_end()?;
        Ok(ModuleKind::Trigger {
            table,
            instead_of,
            events,
            body,
        })
    }
}
