//! Tokens to tree: recursive descent, one file per family of statements.
//!
//! Invariants:
//! 1. Every recursion goes through [`Parser::nested`], which bounds both how deep this code recurses and how high the
//!    tree grows (error 191), whatever the text; the stack for it is there (`duramen_os::stack`).
//!    [test: deep_nesting_is_error_191_on_a_small_stack]
//! 2. Every loop consumes a token per round, so parsing is linear but for bounded lookahead.
//!    [test: shuffled_tokens_and_random_bytes_are_harmless; test: long_flat_lists_are_fine]
//! 3. The first error ends the batch: nothing of it runs. [test: every_prefix_and_suffix_ends_in_a_tree_or_an_error]

mod admin;
mod bulk;
mod control;
mod database;
mod database_settings;
mod ddl;
mod dml;
mod event_session;
mod expr;
mod from;
mod function;
mod module;
mod namespaces;
mod odbc;
mod options;
mod partition;
mod refused;
mod security;
mod select;
mod session;
mod table;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::memory::meter;
use duramen_os::stack;

use crate::MAX_HEIGHT;
use crate::ast::{Batch, ObjectName, Span, VariableRole, VariableUse, XML_METHODS};
use crate::lexer::{Tok, Token, tokenize};

/// How deep the parser may recurse: parentheses, subqueries, calls, blocks within each other.
const MAX_DEPTH: usize = 500;

/// The session settings that change how text reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    /// `"x"` is a name (ON) or a string (OFF). A SET QUOTED_IDENTIFIER in the batch changes it from there on.
    pub quoted_identifier: bool,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions {
            quoted_identifier: true,
        }
    }
}

/// Parses one batch; the error is what the client sees, with its line.
pub fn parse_batch(sql: &str, options: &ParseOptions) -> SqlResult<Batch> {
    let mut parser = Parser::new(sql, options)?;
    let statements = parser.batch()?;
    let servers = std::mem::take(&mut parser.servers);
    let mut variables = parser.variables;
    // What was looked at twice is there twice.
    variables.sort_by_key(|v| v.at);
    variables.dedup();
    Ok(Batch {
        statements,
        servers,
        variables,
    })
}

/// Parses a lone value expression, as stored for defaults and computed columns.
pub fn parse_expression(sql: &str, options: &ParseOptions) -> SqlResult<crate::ast::Expr> {
    let mut parser = Parser::new(sql, options)?;
    let expr = parser.expr()?;
    parser.expect_end()?;
    Ok(expr)
}

/// Parses a lone condition, as stored for check constraints and filtered indexes.
pub fn parse_condition(sql: &str, options: &ParseOptions) -> SqlResult<crate::ast::Expr> {
    let mut parser = Parser::new(sql, options)?;
    let expr = parser.condition()?;
    parser.expect_end()?;
    Ok(expr)
}

/// Parses the parameter list of sp_executesql: `@a int, @b varchar(10) = 'x' OUTPUT`. Blank text has none.
pub fn parse_parameters(
    sql: &str,
    options: &ParseOptions,
) -> SqlResult<Vec<crate::ast::Parameter>> {
    let mut parser = Parser::new(sql, options)?;
    if parser.expect_end().is_ok() {
        return Ok(Vec::new());
    }
    let parameters = parser.parameters(true)?;
    parser.expect_end()?;
    Ok(parameters)
}

/// Parses a name of one to four parts, as EXEC takes it from a variable.
pub fn parse_name(sql: &str) -> SqlResult<ObjectName> {
    let mut parser = Parser::new(sql, &ParseOptions::default())?;
    let name = parser.object_name()?;
    parser.expect_end()?;
    Ok(name)
}

pub(crate) struct Parser<'a> {
    sql: &'a str,
    tokens: Vec<Token>,
    pos: usize,
    quoted_identifier: bool,
    /// Nesting of [`Parser::nested`].
    depth: usize,
    /// The highest tree finished so far within the innermost [`Parser::nested`].
    height: usize,
    /// Nesting of WHILE bodies, for BREAK and CONTINUE.
    loops: usize,
    labels: Vec<(String, u32)>,
    gotos: Vec<(String, u32)>,
    /// See [`Batch::servers`].
    servers: Vec<(String, u32)>,
    /// The next query block is the first of a SELECT, which alone may have INTO.
    may_have_into: bool,
    /// What WITH XMLNAMESPACES has declared in the statement at hand, as a query's prolog.
    namespaces: String,
    variables: Vec<VariableUse>,
    /// `SELECT @v = ...` items of the statement at hand, and the line of the last.
    assigned: (usize, u32),
    /// What the value at hand may hold.
    holds: Holds,
    /// Within the definition of a procedure, function or trigger.
    in_module: bool,
    /// Whether constraints may have names here: those of variables have none.
    names_constraints: bool,
    /// What LINENO has put between the lines of the text and those that errors name.
    lines_ahead: i64,
}

/// What a value or a condition may hold where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Anything,
    /// No subquery (1046): CHECK and computed columns.
    Scalars,
    /// Nor a column (128): PRINT and DEFAULT.
    Constants,
}

impl<'a> Parser<'a> {
    fn new(sql: &'a str, options: &ParseOptions) -> SqlResult<Parser<'a>> {
        Ok(Parser {
            sql,
            tokens: tokenize(sql)?,
            pos: 0,
            quoted_identifier: options.quoted_identifier,
            depth: 0,
            height: 0,
            loops: 0,
            labels: Vec::new(),
            gotos: Vec::new(),
            servers: Vec::new(),
            may_have_into: false,
            namespaces: String::new(),
            variables: Vec::new(),
            assigned: (0, 0),
            holds: Holds::Anything,
            in_module: false,
            names_constraints: true,
            lines_ahead: 0,
        })
    }

    /// Runs one level of recursion within the bounds of invariant 1.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        if self.depth >= MAX_DEPTH || stack::is_spent() {
            return Err(self.too_deep());
        }
        meter::check()?;
        self.depth += 1;
        let outside = std::mem::replace(&mut self.height, 0);
        let result = stack::deep(|| parse(self));
        self.depth -= 1;
        self.height = outside.max(self.height + 1);
        if self.height > MAX_HEIGHT {
            return Err(self.too_deep());
        }
        result
    }

    /// Parses what may hold no more than this.
    fn holding<T>(
        &mut self,
        holds: Holds,
        parse: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let around = std::mem::replace(&mut self.holds, holds);
        let result = parse(self);
        self.holds = around;
        result
    }

    /// Accounts for a node put on top of what this level has made so far (an operator of a chain).
    fn grow(&mut self, levels: usize) -> SqlResult<()> {
        self.height += levels;
        if self.height > MAX_HEIGHT {
            return Err(self.too_deep());
        }
        Ok(())
    }

    fn too_deep(&self) -> SqlError {
        SqlError::new(&messages::NESTED_TOO_DEEPLY, &[]).at_line(self.line() as i32)
    }

    // ---- looking ----

    /// The token `ahead` places on; past the end, the end.
    fn at(&self, ahead: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.pos + ahead).min(last)]
    }

    fn kind(&self) -> &Tok {
        &self.at(0).kind
    }

    fn line(&self) -> u32 {
        self.line_of(self.at(0))
    }

    /// As errors name it.
    fn line_of(&self, token: &Token) -> u32 {
        let line = i64::from(token.line) + self.lines_ahead;
        line.clamp(0, i64::from(i32::MAX)) as u32
    }

    fn start(&self) -> u32 {
        self.at(0).start
    }

    /// From `start` to the end of the token before this one.
    fn span_from(&self, start: u32) -> Span {
        let end = match self.pos.checked_sub(1) {
            Some(previous) => self.tokens[previous].end,
            None => start,
        };
        Span {
            start,
            end: end.max(start),
        }
    }

    fn text(&self, ahead: usize) -> &'a str {
        let token = self.at(ahead);
        &self.sql[token.start as usize..token.end as usize]
    }

    fn at_end(&self) -> bool {
        matches!(self.kind(), Tok::End)
    }

    fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.at(ahead).kind, Tok::Word { .. })
            && self.text(ahead).eq_ignore_ascii_case(word)
    }

    fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    fn is_any(&self, words: &[&str]) -> bool {
        matches!(self.kind(), Tok::Word { .. }) && words.iter().any(|w| self.is_word(w))
    }

    fn is_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(i, w)| self.is_word_at(i, w))
    }

    fn is_op_at(&self, ahead: usize, op: char) -> bool {
        self.at(ahead).kind == Tok::Op(op)
    }

    fn is_op(&self, op: char) -> bool {
        self.is_op_at(0, op)
    }

    /// Whether the token at `ahead` can be a name.
    fn is_name_at(&self, ahead: usize) -> bool {
        match self.at(ahead).kind {
            Tok::Word { reserved } => !reserved,
            Tok::Bracketed(_) => true,
            Tok::DoubleQuoted(_) => self.quoted_identifier,
            _ => false,
        }
    }

    // ---- taking ----

    fn advance(&mut self) {
        if self.pos < self.tokens.len() - 1 {
            self.pos += 1;
        }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn eat_words(&mut self, words: &[&str]) -> bool {
        let found = self.is_words(words);
        if found {
            words.iter().for_each(|_| self.advance());
        }
        found
    }

    fn eat_op(&mut self, op: char) -> bool {
        let found = self.is_op(op);
        if found {
            self.advance();
        }
        found
    }

    fn expect_word(&mut self, word: &str) -> SqlResult<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    fn expect_words(&mut self, words: &[&str]) -> SqlResult<()> {
        words.iter().try_for_each(|w| self.expect_word(w))
    }

    fn expect_op(&mut self, op: char) -> SqlResult<()> {
        if self.eat_op(op) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    fn expect_end(&mut self) -> SqlResult<()> {
        if self.at_end() {
            return Ok(());
        }
        Err(self.unexpected())
    }

    // ---- errors ----

    /// The syntax error at this token: 156 near a reserved word, else 102; at the end, near the last token.
    fn unexpected(&self) -> SqlError {
        let message = match self.kind() {
            Tok::Word { reserved: true } => &messages::SYNTAX_NEAR_KEYWORD,
            _ => &messages::SYNTAX_NEAR,
        };
        self.error(message)
    }

    /// `message` filled with the text near which it happened.
    fn error(&self, message: &messages::Message) -> SqlError {
        let at = match self.at_end() {
            true => self.pos.saturating_sub(1),
            false => self.pos,
        };
        let token = &self.tokens[at];
        let near = match &token.kind {
            Tok::String { value, .. } => value.as_str(),
            Tok::Bracketed(name) | Tok::DoubleQuoted(name) => name.as_str(),
            _ => &self.sql[token.start as usize..token.end as usize],
        };
        SqlError::new(message, &[&near]).at_line(self.line_of(token) as i32)
    }

    fn raise(&self, message: &messages::Message, args: &[&dyn std::fmt::Display]) -> SqlError {
        SqlError::new(message, args).at_line(self.line() as i32)
    }

    /// Refuses a feature by name.
    fn not_supported(&self, what: &str) -> SqlError {
        self.raise(&messages::NOT_SUPPORTED, &[&what])
    }

    // ---- names ----

    /// One name: a word that is not reserved, or a delimited one.
    fn name(&mut self) -> SqlResult<String> {
        if !self.is_name_at(0) {
            return Err(self.unexpected());
        }
        let name = match self.kind() {
            Tok::Bracketed(name) | Tok::DoubleQuoted(name) => name.clone(),
            _ => self.text(0).to_string(),
        };
        if name.is_empty() {
            return Err(self.raise(&messages::NAME_MISSING, &[]).with_state(4));
        }
        self.advance();
        Ok(name)
    }

    /// A name, or a word that is reserved elsewhere (option values, principals such as `public`).
    fn name_or_word(&mut self) -> SqlResult<String> {
        match self.kind() {
            Tok::Word { .. } => {
                let word = self.text(0).to_string();
                self.advance();
                Ok(word)
            }
            _ => self.name(),
        }
    }

    fn object_name(&mut self) -> SqlResult<ObjectName> {
        let name = self.dotted_name(4, "object")?;
        self.note_server(&name);
        Ok(name)
    }

    /// A name of four parts begins with a server's, unless it is that of a column's method.
    fn note_server(&mut self, name: &ObjectName) {
        if self.is_op('(') && XML_METHODS.contains(&name.name()) {
            return;
        }
        if let Some(server) = name.server().filter(|s| !s.is_empty()) {
            self.servers.push((server.to_owned(), name.line));
        }
    }

    /// Parts with dots between them; missing ones are empty, the last is there.
    fn dotted_name(&mut self, max: usize, what: &str) -> SqlResult<ObjectName> {
        let line = self.line();
        let mut parts = Vec::new();
        loop {
            if self.eat_op('.') {
                parts.push(String::new());
            } else {
                parts.push(self.name()?);
                if !self.is_op('.') || self.is_op_at(1, '*') {
                    break;
                }
                self.advance();
            }
            if parts.len() > max {
                break;
            }
        }
        if parts.len() > max {
            let shown = parts.join(".");
            return Err(self.raise(&messages::TOO_MANY_PREFIXES, &[&what, &shown, &(max - 1)]));
        }
        Ok(ObjectName { parts, line })
    }

    /// `(a, b, c)`.
    fn name_list(&mut self) -> SqlResult<Vec<String>> {
        self.parenthesized(Self::name)
    }

    /// `(item, item, ...)` with at least one.
    fn parenthesized<T>(
        &mut self,
        item: impl FnMut(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<Vec<T>> {
        self.expect_op('(')?;
        let items = self.list(item)?;
        self.expect_op(')')?;
        Ok(items)
    }

    /// `item, item, ...` with at least one.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> SqlResult<T>) -> SqlResult<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat_op(',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A variable whose value is asked for.
    fn variable(&mut self) -> SqlResult<String> {
        self.variable_as(VariableRole::Read)
    }

    fn variable_as(&mut self, role: VariableRole) -> SqlResult<String> {
        let (at, line) = (self.start(), self.line());
        let name = self.variable_name()?;
        self.variables.push(VariableUse {
            role: match name.starts_with("@@") {
                true => VariableRole::Global,
                false => role,
            },
            name: name.clone(),
            at,
            line,
        });
        Ok(name)
    }

    /// The name of a variable that is not this text's: of a parameter.
    fn variable_name(&mut self) -> SqlResult<String> {
        if *self.kind() != Tok::Variable {
            return Err(self.unexpected());
        }
        let name = self.variable_text(0);
        self.advance();
        Ok(name)
    }

    /// What is declared from the entry `from` on holds from here on: not yet within its own DECLARE.
    fn declared_here(&mut self, from: usize) {
        let at = self.start();
        let declared = [VariableRole::Declared, VariableRole::DeclaredTable];
        let declared = self.variables[from..]
            .iter_mut()
            .filter(|v| declared.contains(&v.role));
        declared.for_each(|v| v.at = at);
    }

    /// `@x` as written; globals lower-cased.
    fn variable_text(&self, ahead: usize) -> String {
        let text = self.text(ahead);
        match text.starts_with("@@") {
            true => text.to_ascii_lowercase(),
            false => text.to_string(),
        }
    }

    /// A string literal, or a double-quoted one where that is a string.
    fn is_string_at(&self, ahead: usize) -> bool {
        match self.at(ahead).kind {
            Tok::String { .. } => true,
            Tok::DoubleQuoted(_) => !self.quoted_identifier,
            _ => false,
        }
    }

    fn string(&mut self) -> SqlResult<crate::ast::StringLiteral> {
        let (value, national) = match self.kind() {
            Tok::String { value, national } => (value.clone(), *national),
            Tok::DoubleQuoted(value) if !self.quoted_identifier => (value.clone(), false),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(crate::ast::StringLiteral {
            value,
            national,
            namespaces: String::new(),
        })
    }

    /// A name, or a string used as one (`NAME = N'x'`).
    fn name_or_string(&mut self) -> SqlResult<String> {
        match self.is_string_at(0) {
            true => Ok(self.string()?.value),
            false => self.name(),
        }
    }

    /// An unsigned integer literal.
    fn integer(&mut self) -> SqlResult<u64> {
        let value = match self.kind() {
            Tok::Int(value) => u64::try_from(*value).ok(),
            Tok::Decimal(text) if !text.contains('.') => match text.parse() {
                Ok(value) => Some(value),
                Err(_) => return Err(self.error(&messages::INTEGER_OUT_OF_RANGE)),
            },
            _ => None,
        };
        let Some(value) = value else {
            return Err(self.unexpected());
        };
        self.advance();
        Ok(value)
    }

    fn integer_u32(&mut self) -> SqlResult<u32> {
        let error = self.error(&messages::INTEGER_OUT_OF_RANGE);
        u32::try_from(self.integer()?).map_err(|_| error)
    }

    /// `ON` is true, `OFF` is false.
    fn on_off(&mut self) -> SqlResult<bool> {
        if self.eat_word("ON") {
            return Ok(true);
        }
        self.expect_word("OFF")?;
        Ok(false)
    }
}
