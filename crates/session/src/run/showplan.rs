//! SET SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML: a batch is bound, not run, and its estimated plans are the result.

use duramen_base::SqlError;
use duramen_observe::events::{ObjectType, QueryPostExecutionShowplan, Xml, emit};
use duramen_planner::showplan::{PlanLine, Took, drawn, of_expression};
use duramen_program::bound::Bound;
use duramen_program::options::Showplan;
use duramen_program::outcome;
use duramen_program::plan_xml;
use duramen_program::planned::{self, Planned};
use duramen_program::program::shown::kind_of;
use duramen_program::program::shown::sets_showplan;
use duramen_program::program::{Op, Program};
use duramen_program::sink::ColumnMeta;
use duramen_query::profile::{Actual, Counts, Profile};
use duramen_types::{SqlType, Value};

use super::compiled::Compiled;
use super::failure::RunResult;
use super::{Ended, Run};

/// The columns of SHOWPLAN_ALL.
const COLUMNS: [(&str, SqlType); 18] = [
    ("StmtText", SqlType::nvarchar(duramen_types::MAX_LENGTH)),
    ("StmtId", SqlType::INT),
    ("NodeId", SqlType::INT),
    ("Parent", SqlType::INT),
    ("PhysicalOp", SqlType::nvarchar(4000)),
    ("LogicalOp", SqlType::nvarchar(4000)),
    ("Argument", SqlType::nvarchar(duramen_types::MAX_LENGTH)),
    (
        "DefinedValues",
        SqlType::nvarchar(duramen_types::MAX_LENGTH),
    ),
    ("EstimateRows", SqlType::REAL),
    ("EstimateIO", SqlType::REAL),
    ("EstimateCPU", SqlType::REAL),
    ("AvgRowSize", SqlType::INT),
    ("TotalSubtreeCost", SqlType::REAL),
    ("OutputList", SqlType::nvarchar(duramen_types::MAX_LENGTH)),
    ("Warnings", SqlType::nvarchar(4000)),
    ("Type", SqlType::nvarchar(4000)),
    ("Parallel", SqlType::BIT),
    ("EstimateExecutions", SqlType::REAL),
];

/// What STATISTICS PROFILE has before those.
const COUNTED: [(&str, SqlType); 2] = [("Rows", SqlType::BIGINT), ("Executes", SqlType::BIGINT)];

/// The column of SHOWPLAN_XML, by which clients know it.
const XML_COLUMN: (&str, SqlType) = ("Microsoft SQL Server 2005 XML Showplan", SqlType::XML);

fn switches(program: &Program) -> bool {
    match &program.steps[..] {
        [only] => matches!(&only.op, Op::Run(kind) if sets_showplan(kind)),
        _ => false,
    }
}

impl Run<'_> {
    /// Whether the program is to be shown and not run.
    pub(super) fn is_shown(&self) -> bool {
        self.session.options.showplan != Showplan::Off && !switches(self.program)
    }

    /// Tells the estimated plans of the program's statements, in the order of its text.
    pub(super) fn show(&mut self) -> Ended {
        if self.session.options.showplan == Showplan::Xml {
            self.show_xml();
            return Ended::Done(None);
        }
        let program = self.program;
        let mut number = 0;
        for (at, step) in program.steps.iter().enumerate() {
            let kind = kind_of(&step.op);
            if kind.is_empty() {
                continue;
            }
            number += 1;
            match self.planned(at) {
                Ok((operators, _)) => self.show_statement(at, number, kind, &operators),
                Err(error) => {
                    self.not_shown(&error.error.at_line(step.line as i32));
                    break;
                }
            }
        }
        Ended::Done(None)
    }

    fn not_shown(&mut self, error: &SqlError) {
        self.session.state.error = error.number;
        outcome::report(self.sink, error);
        self.done(None, super::command::OTHER, true);
    }

    /// One row with the document of the whole batch.
    fn show_xml(&mut self) {
        let program = self.program;
        let mut plan = |at: usize| {
            let line = program.steps[at].line as i32;
            self.planned(at).map_err(|f| f.error.at_line(line))
        };
        match plan_xml::of_program(program, None, false, &mut plan) {
            Ok(Some(document)) => {
                self.heading(&[XML_COLUMN]);
                self.sink.row(&[Value::nvarchar(&document)]);
                self.done(Some(1), super::command::SELECT, false);
            }
            Ok(None) => {}
            Err(error) => self.not_shown(&error),
        }
    }

    fn planned(&mut self, at: usize) -> RunResult<Planned> {
        let compiled = self.compiled(at)?;
        let names: Vec<String> = (self.program.variables.iter())
            .map(|v| v.name.clone())
            .collect();
        Ok(match compiled {
            Compiled::Select(plan) => {
                let allowed = self.session.parallelism();
                planned::of_plan(&plan, &names, allowed)
            }
            Compiled::Change(change) => {
                let allowed = self.session.parallelism();
                planned::of_change(&change, &names, allowed)
            }
            Compiled::Value(e) if e.reads_tables() => (of_expression(e, &names), None),
            Compiled::Value(_) | Compiled::Nothing => Planned::default(),
        })
    }

    fn show_statement(&mut self, at: usize, number: usize, kind: &str, operators: &[PlanLine]) {
        let step = &self.program.steps[at];
        let text = self.program.text.get(step.span.0..step.span.1);
        let text = Value::nvarchar(text.unwrap_or_default().trim());
        let trees = drawn(operators);
        if self.session.options.showplan == Showplan::Text {
            self.heading(&COLUMNS[..1]);
            self.sink.row(&[text]);
            self.done(Some(1), super::command::SELECT, false);
            if !trees.is_empty() {
                self.heading(&COLUMNS[..1]);
                trees
                    .iter()
                    .for_each(|t| self.sink.row(&[Value::nvarchar(t)]));
                self.done(Some(trees.len() as u64), super::command::SELECT, false);
            }
            return;
        }
        self.show_all(at, number, kind, operators, false);
    }

    /// The rows of SHOWPLAN_ALL; `counted`: with those of STATISTICS PROFILE before them.
    fn show_all(
        &mut self,
        at: usize,
        number: usize,
        kind: &str,
        operators: &[PlanLine],
        counted: bool,
    ) {
        let step = &self.program.steps[at];
        let text = self.program.text.get(step.span.0..step.span.1);
        let text = Value::nvarchar(text.unwrap_or_default().trim());
        let trees = drawn(operators);
        let more = if counted { &COUNTED[..] } else { &[] };
        let columns: Vec<(&str, SqlType)> = more.iter().chain(&COLUMNS).copied().collect();
        self.heading(&columns);
        let put = |run: &mut Self, actual: Option<&Actual>, row: Vec<Value>| {
            let counts = actual.map(Actual::total);
            let big =
                |of: fn(Counts) -> u64| counts.map_or(Value::Null, |c| Value::BigInt(of(c) as i64));
            let mut all = match counted {
                true => vec![big(|c| c.rows), big(|c| c.executions)],
                false => Vec::new(),
            };
            all.extend(row);
            run.sink.row(&all);
        };
        let real = |f: f64| Value::Real(f as f32);
        let int = |n: usize| Value::Int(i32::try_from(n).unwrap_or(i32::MAX));
        let text_or_null = |s: &str| match s.is_empty() {
            true => Value::Null,
            false => Value::nvarchar(s),
        };
        let root = operators.first();
        let of_root = |f: fn(&PlanLine) -> f64| root.map_or(Value::Null, |r| real(f(r)));
        let mut row = vec![Value::Null; COLUMNS.len()];
        row[0] = text;
        row[1] = int(number);
        row[2] = int(1);
        row[3] = int(0);
        row[6] = Value::nvarchar("1");
        row[8] = of_root(|r| r.rows);
        row[12] = of_root(|r| r.cost);
        row[15] = Value::nvarchar(kind);
        row[16] = Value::Bit(operators.iter().any(|l| l.parallel));
        put(self, root.and_then(|r| r.actual.as_ref()), row);
        for (line, tree) in operators.iter().zip(&trees) {
            let row = vec![
                Value::nvarchar(tree),
                int(number),
                int(line.node + 2),
                int(line.parent.map_or(1, |p| p + 2)),
                Value::nvarchar(line.physical),
                Value::nvarchar(&line.logical),
                text_or_null(&line.argument),
                text_or_null(&line.defined),
                real(line.rows),
                real(line.io),
                real(line.cpu),
                int(line.row_bytes as usize),
                real(line.cost),
                text_or_null(&line.output),
                Value::Null,
                Value::nvarchar("PLAN_ROW"),
                Value::Bit(line.parallel),
                real(line.executions),
            ];
            put(self, line.actual.as_ref(), row);
        }
        let rows = operators.len() as u64 + 1;
        self.done(Some(rows), super::command::SELECT, false);
    }

    /// The plan that a statement has run with, as one more result: as XML, as rows, or both. A statement without a plan
    /// has none.
    pub(super) fn show_profile(
        &mut self,
        at: usize,
        profile: &Profile,
        took: Took,
    ) -> RunResult<()> {
        let names = self.program.variable_names();
        let Some((_, bound)) = &self.bound[at] else {
            return Ok(());
        };
        let allowed = self.session.parallelism();
        let (mut lines, degree) = planned::of_bound(bound, &names, allowed)?;
        if lines.is_empty() {
            return Ok(());
        }
        for line in &mut lines {
            line.actual = profile.of(line.place);
        }
        if let Bound::Dml(..) = bound
            && let Some(root) = lines.first_mut()
        {
            // Of the whole statement, which the change is.
            let counts = Counts {
                rows: self.session.state.rowcount,
                executions: 1,
                ends: 1,
                elapsed: took.elapsed,
                cpu: took.cpu,
            };
            root.actual = Some(Actual(vec![(0, counts)]));
        }
        if super::reporting::plans_are_wanted() {
            self.report_plan_run(at, &(lines.clone(), degree), took.clone())?;
        }
        let rows = self.session.state.rowcount;
        if self.session.options.statistics_profile {
            let kind = kind_of(&self.program.steps[at].op);
            self.show_all(at, 1, kind, &lines, true);
        }
        if self.session.options.statistics_xml {
            let planned = (lines, degree);
            let mut plan = |_: usize| Ok(planned.clone());
            let document = plan_xml::of_run(self.program, at, took, &mut plan)?;
            if let Some(document) = document {
                self.heading(&[XML_COLUMN]);
                self.sink.row(&[Value::nvarchar(&document)]);
                self.done(Some(1), super::command::SELECT, false);
            }
        }
        self.session.state.rowcount = rows;
        Ok(())
    }

    /// The same as an event.
    fn report_plan_run(&self, at: usize, planned: &Planned, took: Took) -> RunResult<()> {
        let of = self.program.stats.module();
        let root = planned.0.first();
        let estimate = |of: fn(&PlanLine) -> f64| root.map_or(0, |r| of(r).round() as u64);
        let (cpu_time, duration) = (took.cpu.as_micros() as u64, took.elapsed.as_micros() as u64);
        let mut plan = |_: usize| Ok(planned.clone());
        let document = plan_xml::of_run(self.program, at, took, &mut plan)?;
        emit(|| QueryPostExecutionShowplan {
            source_database_id: of.map_or(0, |m| u64::from(m.database)),
            object_type: ObjectType::of(of.map_or([0; 2], |m| m.kind)),
            object_id: of.map_or(0, |m| i64::from(m.object)),
            nest_level: u64::from(self.session.state.nesting),
            cpu_time,
            duration,
            estimated_rows: estimate(|r| r.rows),
            estimated_cost: estimate(|r| r.cost),
            dop: planned.1.unwrap_or(1) as u64,
            object_name: self.place.procedure.clone().unwrap_or_default(),
            showplan_xml: Xml(document.unwrap_or_default()),
        });
        Ok(())
    }

    fn heading(&mut self, columns: &[(&str, SqlType)]) {
        let column = |(name, ty): &(&str, SqlType)| ColumnMeta {
            name: (*name).to_owned(),
            ty: *ty,
            nullable: true,
            identity: false,
            updatable: false,
        };
        let columns: Vec<ColumnMeta> = columns.iter().map(column).collect();
        self.sink.columns(&columns);
    }

    /// SET SHOWPLAN_TEXT, SHOWPLAN_ALL and SHOWPLAN_XML ON or OFF.
    pub(super) fn set_showplan(&mut self, name: &str, on: bool) -> RunResult<()> {
        let wanted = match name {
            "SHOWPLAN_TEXT" => Showplan::Text,
            "SHOWPLAN_ALL" => Showplan::All,
            "SHOWPLAN_XML" => Showplan::Xml,
            _ if !on => return Ok(()),
            _ => return Err(super::not_supported(&format!("SET {name} ON")).into()),
        };
        let current = &mut self.session.options.showplan;
        match on {
            true => *current = wanted,
            false if *current == wanted => *current = Showplan::Off,
            false => {}
        }
        Ok(())
    }
}
