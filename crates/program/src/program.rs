//! A batch as a flat program: jumps instead of nesting, one operation a statement.
//!
//! Compilation needs no catalog. It checks what the text alone says: variables, labels, BREAK and CONTINUE, and what is
//! not supported. Names are bound before the first operation runs (`run::checked`), those of objects that do not exist
//! yet when their operation is reached, so that a batch may create what it uses.

mod blocks;
pub mod handle;
pub mod shown;

use std::collections::BTreeMap;

use duramen_base::given_up::Bulky;
use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_planner::memory::MemoryTableDef;
use duramen_tsql::ast::{self, Statement, StatementKind};
use duramen_types::SqlType;

use self::blocks::Block;

use crate::named::{HasName, Named};
use crate::statements::Kind;
use crate::table_types::{NoTableTypes, TableType, TableTypes, alias_without_width};

/// A declared variable: its slot is its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub name: String,
    pub ty: SqlType,
}

impl HasName for Variable {
    fn name(&self) -> &str {
        &self.name
    }
}

#[derive(Debug)]
pub enum Op {
    /// A statement that runs by itself.
    Run(StatementKind),
    /// `DECLARE @x type [= value]`, `SET @x = value`: assign a slot.
    Assign {
        slot: usize,
        op: Option<ast::BinaryOp>,
        value: ast::Expr,
    },
    /// Goes to `target` unless the condition holds.
    BranchUnless {
        condition: ast::Expr,
        target: usize,
    },
    Jump(usize),
    EnterTry {
        catch: usize,
    },
    /// A jump out of TRY and CATCH blocks is next.
    Unwind {
        tries: usize,
        catches: usize,
    },
    LeaveTry {
        after: usize,
    },
    /// The end of a CATCH block: the caught error is forgotten.
    EndCatch,
    Return(Option<ast::Expr>),
}

#[derive(Debug)]
pub struct Step {
    pub op: Op,
    pub line: u32,
    /// Its statement's row; `None` for steps that only say what runs next.
    pub kind: Option<Kind>,
    /// Its statement's text: where it starts and ends in the program's.
    pub span: (usize, usize),
}

impl Step {
    /// Whether it is a statement with a plan.
    pub fn has_plan(&self) -> bool {
        self.kind.is_some_and(|kind| kind.row().has_plan())
    }
}

#[derive(Debug)]
pub struct Program {
    /// The batch.
    pub text: String,
    /// What its statements have taken.
    pub stats: crate::statement_stats::ProgramStats,
    pub steps: Bulky<Step>,
    pub variables: Named<Variable>,
    /// Table variables; each run has tables of its own. Those of table-valued parameters come first.
    pub tables: Vec<MemoryTableDef>,
    /// The types of the first of `tables` and of others declared with one; `None` for a table declared in place.
    pub table_types: Vec<Option<String>>,
    /// It names what is in tempdb, which only its session may see.
    pub temporary: bool,
    /// What SET PARSEONLY says in it last: it counts before anything runs.
    pub parse_only: Option<bool>,
    /// What its text is about, if that holds a password; known once somebody has asked.
    pub(crate) secret: std::sync::OnceLock<Option<&'static str>>,
}

impl Program {
    /// What it binds is its run's or its session's own.
    pub fn is_private(&self) -> bool {
        self.temporary || !self.tables.is_empty()
    }

    /// By slot.
    pub fn variable_names(&self) -> Vec<String> {
        self.variables.iter().map(|v| v.name.clone()).collect()
    }

    /// It names a table type: what it was compiled to holds as long as the schema stays.
    pub fn is_typed(&self) -> bool {
        self.table_types.iter().any(Option::is_some)
    }
}

/// What a program is the body of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyOf {
    Batch,
    /// A procedure or a scalar function: RETURN may give a value.
    Procedure,
    /// A function whose RETURN gives the table that it has filled.
    TableFunction,
    Trigger,
}

impl BodyOf {
    /// 178: whether RETURN may give a value.
    fn returns_values(self) -> bool {
        self == BodyOf::Procedure
    }
}

/// A statement's place in loops, for BREAK and CONTINUE.
struct Loop {
    start: usize,
    breaks: Vec<usize>,
    /// How many blocks are open around it.
    blocks: usize,
}

/// A GOTO whose label is not known yet.
struct Goto {
    /// Its step; in a block the one before it is to say what the jump leaves.
    at: usize,
    label: String,
    line: u32,
    blocks: Vec<Block>,
}

/// What refuses a statement that nothing here runs, when it is compiled: 40517.
pub type Check = fn(&StatementKind) -> SqlResult<()>;

struct Compiler<'t> {
    check: Check,
    text: &'t str,
    body_of: BodyOf,
    steps: Vec<Step>,
    variables: Named<Variable>,
    tables: Vec<MemoryTableDef>,
    table_names: Named<String>,
    table_types: Vec<Option<String>>,
    /// How many of `tables` are parameters, which nothing may change.
    given_tables: usize,
    types: &'t dyn TableTypes,
    loops: Vec<Loop>,
    labels: BTreeMap<String, (usize, Vec<Block>)>,
    gotos: Vec<Goto>,
    /// The TRY and CATCH blocks around the statement at hand.
    blocks: Vec<Block>,
    /// How many blocks there have been.
    numbered: u32,
    /// The text of the statement at hand.
    span: (usize, usize),
    /// The line of a SET SHOWPLAN.
    shown: Option<u32>,
}

/// Compiles the statements of a parsed batch or module; `given` are the variables it starts with (parameters).
pub fn compile(
    text: &str,
    statements: Vec<Statement>,
    given: Named<Variable>,
    body_of: BodyOf,
    check: Check,
) -> SqlResult<Program> {
    compile_typed(
        text,
        statements,
        (given, Vec::new()),
        body_of,
        (&NoTableTypes, check),
    )
}

/// As [`compile`], for a text that may name table types; `given` are its parameters, values and tables.
pub fn compile_typed(
    text: &str,
    statements: Vec<Statement>,
    (given, given_tables): (Named<Variable>, Vec<(String, TableType)>),
    body_of: BodyOf,
    (types, check): (&dyn TableTypes, Check),
) -> SqlResult<Program> {
    let table = |(name, ty): &(String, TableType)| MemoryTableDef {
        name: name.clone(),
        ..ty.def.clone()
    };
    let mut c = Compiler {
        types,
        check,
        tables: given_tables.iter().map(table).collect(),
        table_names: given_tables.iter().map(|(name, _)| name.clone()).collect(),
        given_tables: given_tables.len(),
        table_types: given_tables
            .into_iter()
            .map(|(_, ty)| Some(ty.name))
            .collect(),
        text,
        body_of,
        steps: Vec::new(),
        variables: given,
        loops: Vec::new(),
        labels: BTreeMap::new(),
        gotos: Vec::new(),
        blocks: Vec::new(),
        numbered: 0,
        span: (0, 0),
        shown: None,
    };
    c.declarations(&statements)?;
    let count = statements.len();
    c.statements(statements)?;
    if let Some(line) = c.shown
        && (count != 1 || c.steps.len() != 1 || body_of != BodyOf::Batch)
    {
        return Err(SqlError::new(&messages::SHOWPLAN_ALONE, &[]).at_line(line as i32));
    }
    for goto in std::mem::take(&mut c.gotos) {
        let error = |message, args: &[&dyn std::fmt::Display]| {
            SqlError::new(message, args).at_line(goto.line as i32)
        };
        let Some((target, blocks)) = c.labels.get(&goto.label) else {
            return Err(error(&messages::LABEL_NOT_DECLARED, &[&goto.label]));
        };
        let Some(keep) = blocks::common(&goto.blocks, blocks) else {
            return Err(error(&messages::GOTO_INTO_TRY, &[]));
        };
        if let Some(unwind) = blocks::leaving(&goto.blocks, keep) {
            c.steps[goto.at - 1].op = unwind;
        }
        c.steps[goto.at].op = Op::Jump(*target);
    }
    let temporary = names_temporary(text)?;
    given_up::check()?;
    Ok(Program {
        parse_only: parse_only(&c.steps),
        text: text.to_owned(),
        stats: Default::default(),
        temporary,
        steps: Bulky(c.steps),
        variables: c.variables,
        tables: c.tables,
        table_types: c.table_types,
        secret: Default::default(),
    })
}

fn parse_only(steps: &[Step]) -> Option<bool> {
    let says = |s: &Step| match &s.op {
        Op::Run(StatementKind::SetOption(ast::SetOption::OnOff { names, on })) => {
            names.iter().any(|n| n == "PARSEONLY").then_some(*on)
        }
        _ => None,
    };
    steps.iter().rev().find_map(says)
}

impl Compiler<'_> {
    /// Variables live from their declaration in the text to the end of the batch, whatever runs.
    fn declarations(&mut self, statements: &[Statement]) -> SqlResult<()> {
        for s in statements {
            match &s.kind {
                StatementKind::Declare(list) => {
                    for d in list {
                        let line = d.line as i32;
                        let Some(ty) = &d.ty else {
                            return Err(
                                SqlError::new(&messages::NOT_SUPPORTED, &[&"CURSOR"]).at_line(line)
                            );
                        };
                        if self.slot(&d.name).is_some() {
                            return Err(SqlError::new(
                                &messages::VARIABLE_ALREADY_DECLARED,
                                &[&d.name],
                            )
                            .at_line(line));
                        }
                        let nth = self.variables.len() + self.tables.len() + 1;
                        let ty = match resolve_type(ty, TypeSite::Variable(nth)) {
                            Ok(ty) if ty.id.is_legacy_lob() => {
                                let error = SqlError::new(&messages::VARIABLE_OF_OLD_LOB, &[]);
                                return Err(error.at_line(line));
                            }
                            Ok(ty) => ty,
                            Err(e) => {
                                let e = e.at_line(line);
                                if let Some(alias) = self.types.alias_type(&ty.name)? {
                                    self.variables.push(Variable {
                                        name: d.name.clone(),
                                        ty: alias_without_width(ty, alias, nth)?,
                                    });
                                    continue;
                                }
                                let declared = self.types.table_type(&ty.name)?;
                                self.declare_table(&d.name, declared.ok_or(e)?, d, line)?;
                                continue;
                            }
                        };
                        self.variables.push(Variable {
                            name: d.name.clone(),
                            ty,
                        });
                    }
                }
                StatementKind::DeclareTable { name, elements } => {
                    let line = s.line as i32;
                    if self.table_names.find(name).is_some() || self.slot(name).is_some() {
                        let error = SqlError::new(&messages::VARIABLE_ALREADY_DECLARED, &[name]);
                        return Err(error.at_line(line));
                    }
                    let refused = crate::refused::table_variable(name, elements);
                    refused.map_err(|e| e.at_line(line))?;
                    let def = crate::table_variable::definition(self.text, name, elements)?;
                    self.tables.push(def);
                    self.table_names.push(name.clone());
                    self.table_types.push(None);
                }
                StatementKind::If {
                    then, otherwise, ..
                } => {
                    self.declarations(std::slice::from_ref(then))?;
                    if let Some(o) = otherwise {
                        self.declarations(std::slice::from_ref(o))?;
                    }
                }
                StatementKind::While { body, .. } => {
                    self.declarations(std::slice::from_ref(body))?
                }
                StatementKind::Block(body) => self.declarations(body)?,
                StatementKind::TryCatch { body, catch } => {
                    self.declarations(body)?;
                    self.declarations(catch)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `DECLARE @t dbo.type`.
    fn declare_table(
        &mut self,
        name: &str,
        ty: TableType,
        declared: &ast::Declaration,
        line: i32,
    ) -> SqlResult<()> {
        if self.table_names.find(name).is_some() {
            let error = SqlError::new(&messages::VARIABLE_ALREADY_DECLARED, &[&name]);
            return Err(error.at_line(line));
        }
        if declared.init.is_some() {
            let short = ty.name.rsplit('.').next().unwrap_or_default().to_owned();
            let args: [&dyn std::fmt::Display; 2] = [&"value", &short];
            let error = SqlError::new(&messages::OPERAND_TYPE_CLASH, &args);
            return Err(error.at_line(line));
        }
        self.tables.push(MemoryTableDef {
            name: name.to_owned(),
            ..ty.def
        });
        self.table_names.push(name.to_owned());
        self.table_types.push(Some(ty.name));
        Ok(())
    }

    /// 10700: a table-valued parameter is only read.
    fn check_target(&self, kind: &StatementKind, line: u32) -> SqlResult<()> {
        let target = match kind {
            StatementKind::Insert(s) => &s.target,
            StatementKind::Update(s) => &s.target,
            StatementKind::Delete(s) => &s.target,
            _ => return Ok(()),
        };
        let ast::TargetKind::Variable(name) = &target.kind else {
            return Ok(());
        };
        let given = self.table_names.find(name);
        match given.is_some_and(|at| at < self.given_tables) {
            false => Ok(()),
            true => Err(SqlError::new(&messages::TVP_READONLY, &[name]).at_line(line as i32)),
        }
    }

    fn slot(&self, name: &str) -> Option<usize> {
        self.variables.find(name)
    }

    fn emit(&mut self, op: Op, line: u32) -> usize {
        let span = self.span;
        let kind = match &op {
            Op::Run(statement) => Some(Kind::of(statement)),
            _ => None,
        };
        self.steps.push(Step {
            op,
            line,
            kind,
            span,
        });
        self.steps.len() - 1
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn statements(&mut self, statements: Vec<Statement>) -> SqlResult<()> {
        statements.into_iter().try_for_each(|s| self.statement(s))
    }

    /// The statements of a TRY or CATCH block.
    fn block(&mut self, statements: Vec<Statement>, catch: bool) -> SqlResult<()> {
        self.numbered += 1;
        self.blocks.push(Block {
            id: self.numbered,
            catch,
        });
        let result = self.statements(statements);
        self.blocks.pop();
        result
    }

    /// What BREAK and CONTINUE leave before they jump.
    fn leave_loop(&mut self, line: u32) {
        let keep = self.loops.last().map_or(0, |l| l.blocks);
        if let Some(unwind) = blocks::leaving(&self.blocks, keep) {
            self.emit(unwind, line);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm a statement")]
    fn statement(&mut self, s: Statement) -> SqlResult<()> {
        let line = s.line;
        let end = match &s.kind {
            // Up to the statement that it decides about.
            StatementKind::If { then: inner, .. } | StatementKind::While { body: inner, .. } => {
                inner.span.start
            }
            _ => s.span.end,
        };
        self.span = (s.span.start as usize, end as usize);
        let refused = (self.check)(&s.kind);
        refused.map_err(|e| e.at_line(line as i32))?;
        if self.body_of == BodyOf::Trigger {
            crate::refused::in_trigger(Kind::of(&s.kind)).map_err(|e| e.at_line(line as i32))?;
        }
        match s.kind {
            StatementKind::Declare(list) => {
                for d in list {
                    if let (Some(value), Some(slot)) = (d.init, self.slot(&d.name)) {
                        self.emit(
                            Op::Assign {
                                slot,
                                op: None,
                                value,
                            },
                            d.line,
                        );
                    }
                }
            }
            StatementKind::SetVariable { name, op, value } => {
                let missing = || {
                    SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[&name]).at_line(line as i32)
                };
                let slot = self.slot(&name).ok_or_else(missing)?;
                self.emit(Op::Assign { slot, op, value }, line);
            }
            StatementKind::If {
                condition,
                then,
                otherwise,
            } => {
                let branch = self.emit(Op::Jump(0), line);
                self.statement(*then)?;
                let mut target = self.here();
                if let Some(o) = otherwise {
                    let skip = self.emit(Op::Jump(0), line);
                    target = self.here();
                    self.statement(*o)?;
                    self.steps[skip].op = Op::Jump(self.here());
                }
                self.steps[branch].op = Op::BranchUnless { condition, target };
            }
            StatementKind::While { condition, body } => {
                let start = self.emit(Op::Jump(0), line);
                self.loops.push(Loop {
                    start,
                    breaks: Vec::new(),
                    blocks: self.blocks.len(),
                });
                self.statement(*body)?;
                self.emit(Op::Jump(start), line);
                let end = self.here();
                self.steps[start].op = Op::BranchUnless {
                    condition,
                    target: end,
                };
                let done = self.loops.pop().map_or_else(Vec::new, |l| l.breaks);
                for at in done {
                    self.steps[at].op = Op::Jump(end);
                }
            }
            StatementKind::Block(body) => self.statements(body)?,
            StatementKind::TryCatch { body, catch } => {
                let enter = self.emit(Op::Jump(0), line);
                self.block(body, false)?;
                let leave = self.emit(Op::Jump(0), line);
                self.steps[enter].op = Op::EnterTry { catch: self.here() };
                self.block(catch, true)?;
                self.emit(Op::EndCatch, line);
                self.steps[leave].op = Op::LeaveTry { after: self.here() };
            }
            StatementKind::Break => {
                self.leave_loop(line);
                let at = self.emit(Op::Jump(0), line);
                match self.loops.last_mut() {
                    Some(l) => l.breaks.push(at),
                    None => {
                        return Err(
                            SqlError::new(&messages::BREAK_OUTSIDE_WHILE, &[]).at_line(line as i32)
                        );
                    }
                }
            }
            StatementKind::Continue => match self.loops.last().map(|l| l.start) {
                Some(start) => {
                    self.leave_loop(line);
                    self.emit(Op::Jump(start), line);
                }
                None => {
                    return Err(
                        SqlError::new(&messages::CONTINUE_OUTSIDE_WHILE, &[]).at_line(line as i32)
                    );
                }
            },
            // What stands behind it was read with its lines.
            StatementKind::LineNumber(_) => {}
            StatementKind::Label(name) => {
                if self
                    .labels
                    .insert(name.to_lowercase(), (self.here(), self.blocks.clone()))
                    .is_some()
                {
                    return Err(SqlError::new(&messages::LABEL_ALREADY_DECLARED, &[&name])
                        .at_line(line as i32));
                }
            }
            StatementKind::Goto(name) => {
                if !self.blocks.is_empty() {
                    self.emit(
                        Op::Unwind {
                            tries: 0,
                            catches: 0,
                        },
                        line,
                    );
                }
                let at = self.emit(Op::Jump(0), line);
                self.gotos.push(Goto {
                    at,
                    label: name.to_lowercase(),
                    line,
                    blocks: self.blocks.clone(),
                });
            }
            StatementKind::DeclareTable { .. } => {}
            StatementKind::Throw(None) if !self.blocks.iter().any(|b| b.catch) => {
                let error = SqlError::new(&messages::THROW_OUTSIDE_CATCH, &[]);
                return Err(error.at_line(line as i32));
            }
            StatementKind::Return(Some(_)) if !self.body_of.returns_values() => {
                let error = SqlError::new(&messages::RETURN_VALUE_NOT_ALLOWED, &[]);
                return Err(error.at_line(line as i32));
            }
            StatementKind::Return(value) => {
                self.emit(Op::Return(value), line);
            }
            other => {
                if crate::program::shown::sets_showplan(&other) {
                    self.shown = Some(line);
                }
                self.check_target(&other, line)?;
                self.emit(Op::Run(other), line);
            }
        }
        Ok(())
    }
}

/// Names of variables compare without case, as all names do.
pub use duramen_catalog::same_name as same;

/// Bytes of a text that are looked through before somebody asks whether it is still wanted.
const AT_ONCE: usize = 4 << 20;

/// Whether a text may name temporary tables, or tempdb. More than that does no harm.
fn names_temporary(text: &str) -> SqlResult<bool> {
    let word = b"tempdb";
    let bytes = text.as_bytes();
    if bytes.contains(&b'#') {
        return Ok(true);
    }
    for from in (0..bytes.len()).step_by(AT_ONCE) {
        given_up::check()?;
        let some = &bytes[from..bytes.len().min(from + AT_ONCE + word.len() - 1)];
        let is_it = |w: &[u8]| w[0] | 0x20 == word[0] && w.eq_ignore_ascii_case(word);
        if some.windows(word.len()).any(is_it) {
            return Ok(true);
        }
    }
    Ok(false)
}
