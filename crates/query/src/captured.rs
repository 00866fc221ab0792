//! Result sets that a statement takes in instead of a client: INSERT ... EXECUTE.
//!
//! Rows are kept in memory as long as that is lent, and then in a file. Afterwards they are a table, which is read once.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_types::Value;
use duramen_types::batch::spill::{Reader, SpillFile, Writer};

use crate::batch::batch_of_types;
use crate::host::{Host, RowStream, TableColumn, VirtualTable};
use crate::kept::row_bytes;
use crate::plan::{Columns, Node, OutColumn, Plan, Row};
use crate::spill::{Grant, Workspace};

/// Rows that go to the file together.
const TOGETHER: usize = 256;
/// Bytes that are kept before any are asked for.
const UNASKED: usize = 64 << 10;

/// Makes the file.
pub type NewFile = Box<dyn Fn() -> SqlResult<Box<dyn SpillFile>> + Send>;

/// A result set that comes row by row.
pub struct Capture {
    columns: Columns,
    rows: Vec<Row>,
    /// Of `rows`.
    bytes: usize,
    lent: usize,
    grant: Grant,
    new_file: NewFile,
    file: Option<Writer>,
}

impl Capture {
    pub fn new(columns: Vec<OutColumn>, workspace: Arc<Workspace>, new_file: NewFile) -> Capture {
        Capture {
            columns: columns.into(),
            rows: Vec::new(),
            bytes: 0,
            lent: UNASKED,
            grant: Grant::new(workspace),
            new_file,
            file: None,
        }
    }

    pub fn put(&mut self, row: &[Value]) -> SqlResult<()> {
        self.bytes += row_bytes(row);
        self.rows.push(row.to_vec());
        if self.file.is_some() {
            return match self.rows.len() >= TOGETHER || self.bytes >= UNASKED {
                true => self.write(),
                false => Ok(()),
            };
        }
        if self.bytes <= self.lent {
            return Ok(());
        }
        let wanted = self.bytes + self.bytes / 8 + UNASKED;
        if self.grant.hold(wanted) {
            self.lent = wanted;
            return Ok(());
        }
        let mut writer = Writer::new((self.new_file)()?);
        writer.part();
        self.file = Some(writer);
        self.write()
    }

    /// Moves what is in memory behind what is in the file.
    fn write(&mut self) -> SqlResult<()> {
        let types: Vec<_> = self.columns.iter().map(|c| c.ty).collect();
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut rows = std::mem::take(&mut self.rows);
        while !rows.is_empty() {
            let some = rows.drain(..rows.len().min(TOGETHER)).collect();
            let batch = batch_of_types(some, &types);
            let all: Vec<u32> = (0..batch.rows() as u32).collect();
            file.put(0, batch.columns(), &all)?;
        }
        self.bytes = 0;
        self.grant.hold(0);
        Ok(())
    }

    /// The last row has come.
    pub fn finish(mut self) -> SqlResult<Captured> {
        self.write()?;
        Ok(Captured(Arc::new(Table {
            columns: self.columns.clone(),
            rows: Mutex::new(Some(self)),
        })))
    }
}

/// A result set that is there.
#[derive(Clone, Debug)]
pub struct Captured(Arc<Table>);

impl Captured {
    pub(crate) fn columns(&self) -> &Columns {
        &self.0.columns
    }

    /// Its rows, which can be read once.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            node: Node::Virtual {
                table: self.0.clone(),
                args: Vec::new(),
            },
            columns: self.0.columns.clone(),
            correlated: false,
        }
    }
}

struct Table {
    columns: Columns,
    rows: Mutex<Option<Capture>>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Captured({} columns)", self.columns.len())
    }
}

impl VirtualTable for Table {
    fn name(&self) -> &str {
        ""
    }

    fn columns(&self) -> &[TableColumn] {
        &[]
    }

    fn may_change(&self) -> bool {
        false
    }

    fn rows(&self, _: &dyn Host, _: &[Value]) -> SqlResult<RowStream> {
        let taken = self.rows.lock().take();
        let taken = taken.ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?;
        let parts = taken.file.map(Writer::finish).transpose()?;
        Ok(Box::new(Rows {
            memory: taken.rows.into_iter(),
            _grant: taken.grant,
            file: parts.and_then(|p| p.into_iter().next()),
        }))
    }
}

/// The rows of memory, or those of the file: never both.
struct Rows {
    memory: std::vec::IntoIter<Row>,
    _grant: Grant,
    file: Option<Reader>,
}

impl Iterator for Rows {
    type Item = SqlResult<Row>;

    fn next(&mut self) -> Option<SqlResult<Row>> {
        loop {
            if let Some(row) = self.memory.next() {
                return Some(Ok(row));
            }
            match self.file.as_mut()?.next_block() {
                Ok(Some(batch)) => {
                    let rows: Vec<Row> = (0..batch.rows()).map(|i| batch.row(i)).collect();
                    self.memory = rows.into_iter();
                }
                Ok(None) => return None,
                Err(e) => {
                    self.file = None;
                    return Some(Err(e));
                }
            }
        }
    }
}
