//! The plans of a program as one XML document: what SET SHOWPLAN_XML and `sys.dm_exec_query_plan` give.
//!
//! A program is flat; the document has IF and WHILE as conditions with the statements that depend on them within. These
//! are found again by the jumps. Statements without a plan, or whose plan is not known (a cached program that has not come
//! to them yet; SELECT INTO), stand there with their text alone. A program that names temporary tables or has table
//! variables keeps no plans, but what they looked like (`statement_stats::KnownPlan`).

use std::borrow::Cow;

use duramen_base::SqlResult;
use duramen_planner::showplan::{PlannedStatement, Took, document};

use crate::planned::{Planned, query_hash};
use crate::program::shown::kind_of;
use crate::program::{Op, Program};

/// The document of a whole program, or of one of its steps; `plan` knows the plan of a step. `None` without a statement.
pub fn of_program(
    program: &Program,
    only: Option<usize>,
    cached: bool,
    plan: &mut dyn FnMut(usize) -> SqlResult<Planned>,
) -> SqlResult<Option<String>> {
    let mut walk = Walk {
        program,
        plan,
        took: None,
    };
    let statements = match only {
        Some(at) => vec![walk.statement(at)?],
        None => walk.block(0, program.steps.len())?,
    };
    let build = duramen_access::version::product_version();
    let made = || document(&statements, &build, cached);
    Ok((!statements.is_empty()).then(made))
}

/// The document of a step that has run, and what that took.
pub fn of_run(
    program: &Program,
    at: usize,
    took: Took,
    plan: &mut dyn FnMut(usize) -> SqlResult<Planned>,
) -> SqlResult<Option<String>> {
    let mut walk = Walk {
        program,
        plan,
        took: Some(took),
    };
    let statements = [walk.statement(at)?];
    let build = duramen_access::version::product_version();
    Ok(Some(document(&statements, &build, false)))
}

struct Walk<'p, 'f> {
    program: &'p Program,
    /// Of the one step that has run.
    took: Option<Took>,
    plan: &'f mut dyn FnMut(usize) -> SqlResult<Planned>,
}

impl<'p> Walk<'p, '_> {
    fn statement(&mut self, at: usize) -> SqlResult<PlannedStatement<'p>> {
        let program = self.program;
        let step = &program.steps[at];
        let text = program.text.get(step.span.0..step.span.1);
        let text = text.unwrap_or_default();
        let (lines, degree) = (self.plan)(at)?;
        Ok(PlannedStatement {
            text: match program.shown_part(step.span) {
                Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
                Cow::Owned(text) => Cow::Owned(text),
            },
            kind: kind_of(&step.op),
            query_hash: Some(format!("0x{:016X}", query_hash(text))),
            degree,
            lines,
            took: self.took.take(),
            branches: None,
        })
    }

    /// The statements of the steps from one to before another.
    fn block(&mut self, from: usize, to: usize) -> SqlResult<Vec<PlannedStatement<'p>>> {
        let mut all = Vec::new();
        let mut at = from;
        while at < to {
            let program = self.program;
            let op = &program.steps[at].op;
            if kind_of(op).is_empty() {
                at += 1;
                continue;
            }
            let mut statement = self.statement(at)?;
            let mut next = at + 1;
            if let Op::BranchUnless { target, .. } = op {
                let otherwise = (*target).clamp(next, to);
                let end = self.end_of_else(at, otherwise, to);
                let then = self.block(next, otherwise)?;
                statement.branches = Some([then, self.block(otherwise, end)?]);
                next = end;
            }
            all.push(statement);
            at = next;
        }
        Ok(all)
    }

    /// Where the ELSE ends that begins at a step; that step itself where there is none. What comes before an ELSE ends
    /// with a jump over it, which no statement has written.
    fn end_of_else(&self, branch: usize, start: usize, to: usize) -> usize {
        let jump = |at: usize| {
            let step = &self.program.steps[at];
            match step.op {
                Op::Jump(target) if at > branch => Some((target, step.span)),
                _ => None,
            }
        };
        let Some((target, span)) = jump(start - 1).filter(|(t, _)| *t > start && *t <= to) else {
            return start;
        };
        let text = self.program.text.get(span.0..span.1).unwrap_or_default();
        let word = text.trim_start().to_ascii_uppercase();
        let written = ["BREAK", "CONTINUE", "GOTO"];
        // Of a BREAK before an ELSE there are two: its own and the one over it.
        let own = written.iter().any(|w| word.starts_with(w))
            && jump(start - 2).is_none_or(|(_, before)| before != span);
        if own { start } else { target }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BodyOf, compile};

    /// The document with everything left out but the elements of statements.
    fn shape(text: &str) -> String {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let batch = duramen_tsql::parse_batch(text, &options).unwrap();
        let program = compile(
            text,
            batch.statements,
            Default::default(),
            BodyOf::Batch,
            |_| Ok(()),
        )
        .unwrap();
        let mut none = |_: usize| Ok(Planned::default());
        let whole = of_program(&program, None, false, &mut none).unwrap();
        let mut out = String::new();
        for tag in whole.unwrap_or_default().split('<').skip(1) {
            let text = tag.split("StatementText=\"").nth(1);
            match (text, tag) {
                (Some(text), _) => out += &format!("{};", text.split('"').next().unwrap()),
                (_, t) if t.starts_with("Then") => out += "(",
                (_, t) if t.starts_with("Else") => out += "|(",
                (_, t) if t.starts_with("/Then") || t.starts_with("/Else") => out += ")",
                _ => {}
            }
        }
        out
    }

    #[test]
    fn branches_are_found_again() {
        for (text, expected) in [
            ("IF 1=1 SELECT 1; SELECT 2", "IF 1=1;(SELECT 1;)SELECT 2;"),
            (
                "IF 1=1 SELECT 1 ELSE SELECT 2 SELECT 3",
                "IF 1=1;(SELECT 1;)|(SELECT 2;)SELECT 3;",
            ),
            (
                "WHILE 1=1 BEGIN IF 2=2 BREAK SELECT 1 END SELECT 2",
                "WHILE 1=1;(IF 2=2;()SELECT 1;)SELECT 2;",
            ),
            (
                "WHILE 1=1 BEGIN IF 2=2 BREAK ELSE SELECT 1 END SELECT 2",
                "WHILE 1=1;(IF 2=2;()|(SELECT 1;))SELECT 2;",
            ),
            (
                "IF 1=1 IF 2=2 SELECT 1 ELSE SELECT 2 ELSE SELECT 3",
                "IF 1=1;(IF 2=2;(SELECT 1;)|(SELECT 2;))|(SELECT 3;)",
            ),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
        assert_eq!(shape("DECLARE @a int"), "");
    }
}
