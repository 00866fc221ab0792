//! Plans as XML: the document of `sys.dm_exec_query_plan` and SET SHOWPLAN_XML, in the shape of the public schema
//! (<http://schemas.microsoft.com/sqlserver/2004/07/showplan>).
//!
//! The operators are those of the lines, in their order; node numbers are given out from the root downwards. The schema
//! gives each kind of operator a fixed number of inputs: what an operator runs besides, for subqueries in its expressions,
//! stands as the inner side of a Nested Loops (Left Outer Join) around its last input, which is what it does. Numbers are
//! estimates; what an operator did is beside them where it was counted (`profile`).

use std::borrow::Cow;
use std::time::Duration;

use duramen_query::profile::{Actual, Counts};
use duramen_tsql::ast::bracketed;

use super::PlanLine;
use super::element::{Element, columns};
use crate::optimize::MissingIndex;

const NAMESPACE: &str = "http://schemas.microsoft.com/sqlserver/2004/07/showplan";
/// Of the schema, as SQL Server 2022 writes it.
const VERSION: &str = "1.564";

/// A statement of a document.
#[derive(Debug, Default)]
pub struct PlannedStatement<'s> {
    pub text: Cow<'s, str>,
    /// `SELECT`, `INSERT`, `COND`...
    pub kind: &'s str,
    /// `0x0123456789ABCDEF`
    pub query_hash: Option<String>,
    /// How many threads it is to use, where that is known.
    pub degree: Option<usize>,
    /// Its operators; none where it has no plan, or none is known.
    pub lines: Vec<PlanLine>,
    /// What it took, when it has run.
    pub took: Option<Took>,
    /// Of IF and WHILE: the statements that run when the condition holds, and when it does not.
    pub branches: Option<[Vec<PlannedStatement<'s>>; 2]>,
}

/// What the execution of a statement took.
#[derive(Clone, Debug, Default)]
pub struct Took {
    pub cpu: Duration,
    pub elapsed: Duration,
    /// What it waited for, longest first.
    pub waits: Vec<Waited>,
}

/// The waits of one type.
#[derive(Clone, Debug)]
pub struct Waited {
    pub name: &'static str,
    pub ms: u64,
    pub count: u64,
}

impl Took {
    fn elements(&self) -> impl Iterator<Item = Element> {
        let waits = self.waits.iter().map(|w| {
            Element::new("Wait")
                .with("WaitType", w.name)
                .with("WaitTimeMs", w.ms)
                .with("WaitCount", w.count)
        });
        let waits = (!self.waits.is_empty()).then(|| Element::new("WaitStats").holding(waits));
        let times = Element::new("QueryTimeStats")
            .with("CpuTime", self.cpu.as_millis())
            .with("ElapsedTime", self.elapsed.as_millis());
        waits.into_iter().chain([times])
    }
}

/// The document of a batch; `cached` says whether the plans come from the cache.
pub fn document(statements: &[PlannedStatement<'_>], build: &str, cached: bool) -> String {
    let mut numbered = 0;
    let statements = block(statements, cached, &mut numbered);
    let batch = Element::new("Batch").child(statements);
    let whole = Element::new("ShowPlanXML")
        .with("xmlns", NAMESPACE)
        .with("Version", VERSION)
        .with("Build", build)
        .child(Element::new("BatchSequence").child(batch));
    let mut out = String::new();
    whole.write(&mut out);
    out
}

fn block(statements: &[PlannedStatement<'_>], cached: bool, numbered: &mut usize) -> Element {
    let all = statements.iter().map(|s| statement(s, cached, numbered));
    Element::new("Statements").holding(all)
}

fn statement(s: &PlannedStatement<'_>, cached: bool, numbered: &mut usize) -> Element {
    *numbered += 1;
    let id = *numbered;
    let name = match s.branches {
        Some(_) => "StmtCond",
        None => "StmtSimple",
    };
    let mut element = Element::new(name).with("StatementCompId", id);
    let root = s.lines.first();
    if let Some(root) = root {
        element.set("StatementEstRows", number(root.rows));
    }
    element.set("StatementId", id);
    if let Some(root) = root {
        // There is one way of choosing a plan.
        element.set("StatementOptmLevel", "FULL");
        element.set("StatementSubTreeCost", number(root.cost));
    }
    element.set("StatementText", &s.text);
    element.set("StatementType", s.kind);
    if let (Some(hash), Some(_)) = (&s.query_hash, root) {
        element.set("QueryHash", hash);
        let plan = super::hash::plan_hash(&s.lines);
        element.set("QueryPlanHash", format!("0x{plan:016X}"));
        element.set("RetrievedFromCache", cached);
    }
    let plan = root.map(|_| query_plan(s));
    let Some([then, otherwise]) = &s.branches else {
        return element.holding(plan);
    };
    let mut branch = |name: &'static str, statements: &[PlannedStatement<'_>]| {
        Element::new(name).child(block(statements, cached, numbered))
    };
    let then = branch("Then", then);
    let otherwise = (!otherwise.is_empty()).then(|| branch("Else", otherwise));
    element
        .child(Element::new("Condition").holding(plan))
        .child(then)
        .holding(otherwise)
}

fn query_plan(s: &PlannedStatement<'_>) -> Element {
    let mut inputs = vec![Vec::new(); s.lines.len()];
    for (i, line) in s.lines.iter().enumerate() {
        if let Some(parent) = line.parent {
            inputs[parent].push(i);
        }
    }
    let mut drawing = Drawing {
        lines: &s.lines,
        inputs,
        numbered: 0,
    };
    let mut plan = Element::new("QueryPlan");
    if let Some(degree) = s.degree {
        plan.set("DegreeOfParallelism", degree);
    }
    let missing = s.lines.first().map(|l| &l.missing[..]);
    plan.holding(missing.and_then(missing_indexes))
        .holding(s.took.iter().flat_map(Took::elements))
        .child(drawing.operator(0))
}

/// The indexes that the plan would have been cheaper with.
fn missing_indexes(all: &[MissingIndex]) -> Option<Element> {
    let column = |(id, name): &(i32, String)| {
        Element::new("Column")
            .with("Name", bracketed(name))
            .with("ColumnId", id)
    };
    let group = |index: &MissingIndex| {
        let kinds = [
            ("EQUALITY", &index.equality),
            ("INEQUALITY", &index.inequality),
            ("INCLUDE", &index.included),
        ];
        let kinds = kinds.into_iter().filter(|(_, all)| !all.is_empty());
        let kinds = kinds.map(|(usage, all)| {
            Element::new("ColumnGroup")
                .with("Usage", usage)
                .holding(all.iter().map(column))
        });
        let [database, schema, table] = &index.names;
        let index_element = Element::new("MissingIndex")
            .with("Database", bracketed(database))
            .with("Schema", bracketed(schema))
            .with("Table", bracketed(table));
        Element::new("MissingIndexGroup")
            .with("Impact", number(index.impact))
            .child(index_element.holding(kinds))
    };
    (!all.is_empty()).then(|| Element::new("MissingIndexes").holding(all.iter().map(group)))
}

/// Six digits, without an exponent.
pub(super) fn number(f: f64) -> f64 {
    match f.is_finite() {
        true => format!("{f:.5e}").parse().unwrap_or(f),
        false => 0.0,
    }
}

/// What stands around an operator's own element.
struct Frame<'f> {
    physical: &'f str,
    logical: &'f str,
    /// Rows, I/O, processor, bytes of a row, cost of the subtree, executions.
    figures: [f64; 6],
    parallel: bool,
    actual: Option<&'f Actual>,
    output: &'f [String],
    more: &'f [(&'static str, String)],
}

/// What an operator did, by thread.
fn counters(actual: &Actual) -> Element {
    let thread = |(thread, counts): &(u32, Counts)| {
        Element::new("RunTimeCountersPerThread")
            .with("Thread", thread)
            .with("ActualRows", counts.rows)
            .with("ActualEndOfScans", counts.ends)
            .with("ActualExecutions", counts.executions)
            .with("ActualElapsedms", counts.elapsed.as_millis())
            .with("ActualCPUms", counts.cpu.as_millis())
    };
    Element::new("RunTimeInformation").holding(actual.0.iter().map(thread))
}

impl Frame<'_> {
    fn around(self, node: usize, operator: Element) -> Element {
        let [rows, io, cpu, bytes, cost, executions] = self.figures.map(number);
        let mut element = Element::new("RelOp")
            .with("NodeId", node)
            .with("PhysicalOp", self.physical)
            .with("LogicalOp", self.logical)
            .with("EstimateRows", rows)
            .with("EstimateIO", io)
            .with("EstimateCPU", cpu)
            .with("AvgRowSize", bytes.trunc())
            .with("EstimatedTotalSubtreeCost", cost)
            .with("Parallel", u8::from(self.parallel))
            .with("EstimateRebinds", number((executions - 1.0).max(0.0)))
            .with("EstimateRewinds", 0);
        for &(name, ref value) in self.more {
            element.set(name, value);
        }
        element
            .child(columns("OutputList", self.output))
            .holding(self.actual.map(counters))
            .child(operator)
    }
}

struct Drawing<'l> {
    lines: &'l [PlanLine],
    /// Of each line: the lines below it.
    inputs: Vec<Vec<usize>>,
    numbered: usize,
}

impl Drawing<'_> {
    fn number(&mut self) -> usize {
        self.numbered += 1;
        self.numbered - 1
    }

    /// How many inputs the schema allows an operator.
    fn allowed(&self, at: usize) -> usize {
        let line = &self.lines[at];
        match line.shape.element.name {
            "ConstantScan" | "TableScan" | "IndexScan" | "TableValuedFunction" | "Spool" => 0,
            "Hash" if line.logical == "Aggregate" => 1,
            "NestedLoops" | "Hash" | "Merge" => 2,
            "Concat" => usize::MAX,
            _ => 1,
        }
    }

    /// A line with what is below it.
    fn operator(&mut self, at: usize) -> Element {
        let mut own = self.inputs[at].clone();
        let more = own.split_off(self.allowed(at).min(own.len()));
        match own.is_empty() && !more.is_empty() {
            true => self.looped(at, true, &more),
            false => self.drawn(at, &own, &more),
        }
    }

    /// A line with its inputs; `more` runs for the rows of the last.
    fn drawn(&mut self, at: usize, own: &[usize], more: &[usize]) -> Element {
        let node = self.number();
        let lines = self.lines;
        let line = &lines[at];
        let mut element = line.shape.element.clone();
        let mut inputs = Vec::with_capacity(own.len());
        for (i, input) in own.iter().enumerate() {
            inputs.push(match i + 1 == own.len() && !more.is_empty() {
                true => self.looped(*input, false, more),
                false => self.operator(*input),
            });
        }
        match element.name {
            // A row of values comes from nowhere.
            "Update" if inputs.is_empty() => element.name = "ScalarInsert",
            "Filter" => {
                let behind = std::mem::take(&mut element.children);
                element.children = inputs;
                inputs = behind;
            }
            _ => {}
        }
        let frame = Frame {
            physical: line.physical,
            logical: &line.logical,
            figures: [
                line.rows,
                line.io,
                line.cpu,
                line.row_bytes,
                line.cost,
                line.executions,
            ],
            parallel: line.parallel,
            actual: line.actual.as_ref(),
            output: &line.shape.columns,
            more: &line.shape.attributes,
        };
        frame.around(node, element.holding(inputs))
    }

    /// What runs for each row of a line, one after the other: the line itself (`alone`: without inputs), then the others.
    fn looped(&mut self, at: usize, alone: bool, more: &[usize]) -> Element {
        let node = self.number();
        let outer = match alone {
            true => self.drawn(at, &[], &[]),
            false => self.operator(at),
        };
        let lines = self.lines;
        let line = &lines[at];
        let whole = |i: &usize| lines[*i].cost * lines[*i].executions.max(1.0);
        let cost: f64 = more.iter().map(whole).sum();
        let parallel = line.parallel;
        let inner = match more {
            [only] => self.operator(*only),
            _ => {
                let node = self.number();
                let all: Vec<Element> = more.iter().map(|i| self.operator(*i)).collect();
                let frame = Frame {
                    physical: "Sequence",
                    logical: "Sequence",
                    figures: [1.0, 0.0, 0.0, 9.0, cost, line.rows],
                    parallel,
                    actual: None,
                    output: &[],
                    more: &[],
                };
                frame.around(node, Element::new("Sequence").holding(all))
            }
        };
        let frame = Frame {
            physical: "Nested Loops",
            logical: "Left Outer Join",
            figures: [
                line.rows,
                0.0,
                0.0,
                line.row_bytes,
                line.cost + cost,
                line.executions,
            ],
            parallel,
            actual: None,
            output: &line.shape.columns,
            more: &[],
        };
        let element = Element::new("NestedLoops").with("Optimized", 0);
        frame.around(node, element.child(outer).child(inner))
    }
}
