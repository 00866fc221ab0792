//! How deep and how large a bound statement may become. Its text bounds neither: views stand for queries, and a common
//! table expression is bound again wherever it is named, so that chains of them grow deep, and doubling ones wide.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::memory::meter;
use duramen_os::stack;
use duramen_query::cancelled;

use super::Binder;

/// Queries within each other, however they came there: 8631 beyond. Walks over plans find enough stack for it.
const QUERIES_MAX: usize = 400;

/// Sources of FROM, each as often as it is read: 8623 beyond.
const SOURCES_MAX: usize = 4096;

/// Counted while a statement is bound.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    /// Queries around the one at hand.
    depth: usize,
    sources: usize,
    expressions: usize,
}

/// Expressions that are bound between two looks at whether there is memory, and somebody who waits.
const EXPRESSIONS_CHECKED: usize = 256;

impl Binder<'_> {
    /// Binds a query one level further down.
    pub(super) fn deeper<T>(
        &mut self,
        bind: impl FnOnce(&mut Self) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.size.depth >= QUERIES_MAX || stack::is_spent() {
            return Err(SqlError::new(&messages::STACK_LIMIT, &[]));
        }
        meter::check()?;
        self.size.depth += 1;
        let bound = stack::deep(|| bind(self));
        self.size.depth -= 1;
        bound
    }

    /// One more expression is bound.
    pub(super) fn another_expression(&mut self) -> SqlResult<()> {
        self.size.expressions += 1;
        match self.size.expressions.is_multiple_of(EXPRESSIONS_CHECKED) {
            true => meter::check(),
            false => Ok(()),
        }
    }

    /// One more source is bound.
    pub(super) fn another_source(&mut self) -> SqlResult<()> {
        self.size.sources += 1;
        meter::check()?;
        if self.host.cancelled() {
            return Err(cancelled());
        }
        match self.size.sources > SOURCES_MAX {
            true => Err(SqlError::new(&messages::NO_QUERY_PLAN, &[])),
            false => Ok(()),
        }
    }
}
