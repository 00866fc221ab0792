//! What the steps of a program have bound.

use std::sync::Arc;

use duramen_base::given_up::Bulky;
use duramen_planner::Sizes;
use duramen_planner::dml::Dml;
use duramen_query::{Expr, Plan};

/// How often a statement is bound again because its tables were defined anew while it waited for their locks.
pub const REBINDS: usize = 10;

/// What a step has bound, kept while the schema stays as it is: a statement in a loop is bound once.
#[derive(Clone, Debug)]
pub enum Bound {
    Expr(Arc<Expr>),
    /// An expression that asks nothing of the session and never grows old.
    Simple(Arc<Expr>),
    Plan(Arc<Plan>, Arc<Sizes>),
    Dml(Arc<Dml>, Arc<Sizes>),
}

/// What the steps of a program have bound, each with the schema version of its binding.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    steps: Bulky<Option<(u64, Bound)>>,
    /// The schema version at which nothing was wrong with the program as a whole.
    pub checked: Option<u64>,
}

impl Plans {
    pub fn none(steps: usize) -> Plans {
        Plans {
            steps: Bulky(vec![None; steps]),
            checked: None,
        }
    }

    /// Forgets what has been bound, not that it can be.
    pub fn forget(&mut self) {
        self.steps.fill(None);
    }
}

impl std::ops::Deref for Plans {
    type Target = [Option<(u64, Bound)>];

    fn deref(&self) -> &Self::Target {
        &self.steps
    }
}

impl std::ops::DerefMut for Plans {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.steps
    }
}
