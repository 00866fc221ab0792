//! Values that a stored table makes itself: computed columns and rowversions.
//!
//! Computed columns that are persisted are stored as other columns are. The others are not in the rows: a cursor makes
//! them from the row that it read, so that everything above sees a table like any other.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_planner::dml::bind_computed;
use duramen_query::host::{Locator, RowCursor};
use duramen_query::rules::Generated;
use duramen_query::{Cx, Expr, Row};
use duramen_types::Value;

use super::{StoredTable, transaction};

/// The expressions of a table's computed columns, with their places.
pub(super) type Expressions = Arc<Vec<(usize, Expr)>>;

impl StoredTable {
    /// The expressions, bound when they are first asked for.
    fn expressions(&self, cx: &Cx<'_>) -> SqlResult<Expressions> {
        if let Some(known) = self.computed.get() {
            return Ok(known.clone());
        }
        let mut all = Vec::new();
        for (at, column) in self.def.columns.iter().enumerate() {
            if let Some(c) = &column.computed {
                all.push((at, bind_computed(cx.host, self, &c.text, column.ty)?));
            }
        }
        Ok(self.computed.get_or_init(|| Arc::new(all)).clone())
    }

    pub(super) fn make_values(&self, row: &mut Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        for (at, e) in self.expressions(cx)?.iter() {
            row[*at] = e.eval(row, cx)?;
        }
        for (at, column) in self.shape.columns.iter().enumerate() {
            if column.generated == Generated::RowVersion {
                let tx = transaction(cx)?;
                let n = self.db.catalog.next_rowversion(tx)?;
                row[at] = Value::Binary(n.to_be_bytes().to_vec());
            }
        }
        Ok(())
    }

    /// A cursor's rows with what is not in them.
    pub(super) fn completed(
        &self,
        inner: Box<dyn RowCursor>,
        cx: &Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        if self.def.columns.iter().all(|c| c.is_stored()) {
            return Ok(inner);
        }
        let all = self.expressions(cx)?;
        let absent = all
            .iter()
            .filter(|(at, _)| !self.def.columns[*at].is_stored());
        Ok(Box::new(Completed {
            inner,
            absent: absent.cloned().collect(),
        }))
    }
}

struct Completed {
    inner: Box<dyn RowCursor>,
    absent: Vec<(usize, Expr)>,
}

impl RowCursor for Completed {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        let Some((at, mut row)) = self.inner.next(cx)? else {
            return Ok(None);
        };
        for (column, e) in &self.absent {
            row[*column] = e.eval(&row, cx)?;
        }
        Ok(Some((at, row)))
    }

    fn keep(&mut self) {
        self.inner.keep();
    }
}
