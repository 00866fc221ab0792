//! Result sets that a statement takes in instead of a client: INSERT ... EXECUTE.
//!
//! Rows are kept in memory as long as that is lent, and then in a file, into which those in memory go some at a time while
//! others come: nobody who gives up waits for all of them. Afterwards they are a table, which is read once.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_types::Value;
use duramen_types::batch::spill::{Reader, SpillFile, Writer};

use duramen_query::batch::batch_of_types;
use duramen_query::host::{Host, RowStream, TableColumn, VirtualTable};
use duramen_query::kept::row_bytes;
use duramen_query::plan::Node;
use duramen_query::spill::{Grant, Workspace};
use duramen_query::{Columns, OutColumn, Plan, Row};

/// Rows that go to the file together.
const TOGETHER: usize = 256;
/// Bytes that are kept before any are asked for.
const UNASKED: usize = 64 << 10;

/// Makes the file.
pub type NewFile = Box<dyn Fn() -> SqlResult<Box<dyn SpillFile>> + Send>;

/// A result set that comes row by row.
pub struct Capture {
    columns: Columns,
    /// The last ones: those before them are in the file.
    rows: VecDeque<Row>,
    /// Of `rows`.
    bytes: usize,
    /// Rows, and their bytes, that have come since some went into the file.
    since: (usize, usize),
    lent: usize,
    grant: Grant,
    new_file: NewFile,
    file: Option<Writer>,
}

impl Capture {
    pub fn new(columns: Vec<OutColumn>, workspace: Arc<Workspace>, new_file: NewFile) -> Capture {
        Capture {
            columns: columns.into(),
            rows: VecDeque::new(),
            bytes: 0,
            since: (0, 0),
            lent: UNASKED,
            grant: Grant::new(workspace),
            new_file,
            file: None,
        }
    }

    pub fn put(&mut self, row: &[Value]) -> SqlResult<()> {
        let bytes = row_bytes(row);
        self.bytes += bytes;
        self.rows.push_back(row.to_vec());
        if self.file.is_some() {
            self.since = (self.since.0 + 1, self.since.1 + bytes);
            return match self.since.0 >= TOGETHER || self.since.1 >= UNASKED {
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

    /// Moves the first rows in memory behind what is in the file: twice as much as has come meanwhile.
    fn write(&mut self) -> SqlResult<()> {
        let types: Vec<_> = self.columns.iter().map(|c| c.ty).collect();
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut moved = 0;
        let mut some = Vec::new();
        while some.len() < 2 * TOGETHER && moved < 2 * UNASKED.max(self.since.1) {
            let Some(row) = self.rows.pop_front() else {
                break;
            };
            moved += row_bytes(&row);
            some.push(row);
        }
        let batch = batch_of_types(some, &types);
        let all: Vec<u32> = (0..batch.rows() as u32).collect();
        file.put(0, batch.columns(), &all)?;
        self.bytes -= moved;
        self.since = (0, 0);
        self.grant.hold(self.bytes);
        Ok(())
    }

    /// The last row has come.
    pub fn finish(self) -> Captured {
        Captured(Arc::new(Table {
            columns: self.columns.clone(),
            rows: Mutex::new(Some(self)),
        }))
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
            file: parts.and_then(|p| p.into_iter().next()),
            block: Vec::new().into_iter(),
            last: taken.rows.into_iter(),
            _grant: taken.grant,
        }))
    }
}

/// The rows of the file, then those of memory.
struct Rows {
    file: Option<Reader>,
    /// Of the file.
    block: std::vec::IntoIter<Row>,
    last: std::collections::vec_deque::IntoIter<Row>,
    _grant: Grant,
}

impl Iterator for Rows {
    type Item = SqlResult<Row>;

    fn next(&mut self) -> Option<SqlResult<Row>> {
        loop {
            if let Some(row) = self.block.next() {
                return Some(Ok(row));
            }
            let Some(file) = &mut self.file else {
                return self.last.next().map(Ok);
            };
            match file.next_block() {
                Ok(Some(batch)) => {
                    let rows: Vec<Row> = (0..batch.rows()).map(|i| batch.row(i)).collect();
                    self.block = rows.into_iter();
                }
                Ok(None) => self.file = None,
                Err(e) => {
                    // What comes behind it is not to be taken for all.
                    (self.file, self.last) = (None, VecDeque::new().into_iter());
                    return Some(Err(e));
                }
            }
        }
    }
}
