//! The plan that a statement runs with, to be looked at while it runs: kept only while somebody counts what its operators do
//! (SET STATISTICS XML or PROFILE, `query_post_execution_showplan`).

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::time::{self, Instant};
use duramen_planner::showplan::{PlanLine, Took};
use duramen_query::profile::Profile;

use crate::plan_xml;
use crate::planned::Planned;
use crate::program::Program;

/// See the module.
#[derive(Clone)]
pub struct LivePlan {
    pub program: Arc<Program>,
    pub at: usize,
    planned: Arc<Planned>,
    profile: Arc<Profile>,
    since: Instant,
}

impl LivePlan {
    pub fn new(program: Arc<Program>, at: usize, planned: Planned, profile: Arc<Profile>) -> Self {
        LivePlan {
            program,
            at,
            planned: Arc::new(planned),
            profile,
            since: time::now(),
        }
    }

    /// Its operators, with what they have done so far.
    pub fn lines(&self) -> Vec<PlanLine> {
        let mut lines = self.planned.0.clone();
        for line in &mut lines {
            line.actual = self.profile.of(line.place);
        }
        lines
    }

    /// The same as a document.
    pub fn document(&self) -> SqlResult<Option<String>> {
        let took = Took {
            elapsed: self.since.elapsed(),
            ..Took::default()
        };
        let mut plan = |_: usize| Ok((self.lines(), self.planned.1));
        plan_xml::of_run(&self.program, self.at, took, &mut plan)
    }
}
