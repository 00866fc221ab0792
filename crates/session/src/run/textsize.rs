//! SET TEXTSIZE: how many bytes of a (max), text, ntext or image value a SELECT gives the client.
//!
//! It cuts what is sent, not what is computed with: the rows go through a sink that shortens those columns. Drivers set
//! it for their limits on fields.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_query::Plan;
use duramen_types::spooled::Bytes;
use duramen_types::{Spooled, Value};

use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};

/// The columns that are cut, and after how many bytes.
pub(super) struct Long {
    columns: Vec<usize>,
    bytes: usize,
}

/// What of a plan's columns has to be cut; `None` where nothing is, as at the setting that sessions begin with.
pub(super) fn cut_columns(plan: &Plan, textsize: i32) -> Option<Long> {
    let bytes = match textsize {
        // 0 is the default of 4096; a negative one is no limit.
        0 => 4096,
        n => usize::try_from(n).ok().filter(|n| *n < i32::MAX as usize)?,
    };
    let long = |ty: &duramen_types::SqlType| ty.is_max() || ty.id.is_legacy_lob();
    let columns = plan.columns.iter().enumerate();
    let columns: Vec<usize> = columns
        .filter(|(_, c)| long(&c.ty))
        .map(|(i, _)| i)
        .collect();
    (!columns.is_empty()).then_some(Long { columns, bytes })
}

/// Passes everything on, long values cut.
pub(super) struct Cut<'a> {
    inner: &'a mut dyn ResultSink,
    long: &'a Long,
}

impl<'a> Cut<'a> {
    pub(super) fn new(inner: &'a mut dyn ResultSink, long: &'a Long) -> Cut<'a> {
        Cut { inner, long }
    }
}

/// The beginning of a value that is not in memory.
#[derive(Debug)]
struct Front {
    of: Spooled,
    bytes: usize,
}

impl Bytes for Front {
    fn len(&self) -> u64 {
        self.bytes as u64
    }

    fn read(&self, at: u64, out: &mut [u8]) -> SqlResult<()> {
        self.of.read(at as usize, out)
    }
}

impl ResultSink for Cut<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.inner.columns(columns);
    }

    fn row(&mut self, values: &[Value]) {
        let bytes = self.long.bytes;
        let mut values = values.to_vec();
        for at in &self.long.columns {
            match values.get_mut(*at) {
                Some(Value::VarChar(b) | Value::Binary(b)) => b.truncate(bytes),
                Some(Value::NVarChar(units)) => units.truncate(bytes / 2),
                Some(Value::Spooled(s)) if s.len() > bytes => {
                    let of = s.clone();
                    *s = Spooled::new(Arc::new(Front { of, bytes }));
                }
                _ => {}
            }
        }
        self.inner.row(&values);
    }

    fn done(&mut self, done: &Done) {
        self.inner.done(done);
    }

    fn error(&mut self, error: &SqlError) {
        self.inner.error(error);
    }

    fn info(&mut self, message: &SqlError) {
        self.inner.info(message);
    }

    fn env_change(&mut self, change: &EnvChange) {
        self.inner.env_change(change);
    }

    fn flush_hint(&mut self) {
        self.inner.flush_hint();
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }
}
