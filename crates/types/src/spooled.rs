//! Values too large for memory: their bytes are somewhere else, and are read where they are needed.
//!
//! A client's parameter of a (max) type comes so, and a large value of a table where the plan says that whoever takes its rows
//! knows them (`query::lent`). Variables, rows on their way into a table and rows on their way to the client hold
//! them: whatever else meets one takes its bytes into memory first, when there is room (`query::long`).

use std::fmt::Debug;
use std::sync::Arc;

use duramen_base::SqlResult;

use crate::{SqlType, Value};

/// Where the bytes of a large value are.
pub trait Bytes: Send + Sync + Debug {
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with the bytes from `at` on; they lie within the value.
    fn read(&self, at: u64, out: &mut [u8]) -> SqlResult<()>;

    /// Before the value is kept longer than the statement runs: from now on it has its bytes for itself.
    fn settle(&self) -> SqlResult<()> {
        Ok(())
    }

    /// Which stored value it is, in words of who stores it: two that say the same have the same bytes.
    fn stored_as(&self) -> Option<&[u8]> {
        None
    }
}

/// A large value: as many bytes as DATALENGTH says, those of UTF-16 texts little-endian. It never changes.
#[derive(Clone, Debug)]
pub struct Spooled(Arc<dyn Bytes>);

impl Spooled {
    pub fn new(bytes: Arc<dyn Bytes>) -> Spooled {
        Spooled(bytes)
    }

    pub fn len(&self) -> usize {
        usize::try_from(self.0.len()).unwrap_or(usize::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fills `out` with the bytes from `at` on.
    pub fn read(&self, at: usize, out: &mut [u8]) -> SqlResult<()> {
        self.0.read(at as u64, out)
    }

    pub fn settle(&self) -> SqlResult<()> {
        self.0.settle()
    }

    pub fn stored_as(&self) -> Option<&[u8]> {
        self.0.stored_as()
    }

    /// `n` of its bytes from `at` on, as a value of that type, all in memory.
    pub fn value(&self, at: usize, n: usize, ty: &SqlType) -> SqlResult<Value> {
        let mut bytes = vec![0; n];
        self.read(at, &mut bytes)?;
        Ok(match ty.id {
            id if id.is_nchar() => {
                let (units, _) = bytes.as_chunks::<2>();
                Value::NVarChar(units.iter().map(|u| u16::from_le_bytes(*u)).collect())
            }
            id if id.is_char() => Value::VarChar(bytes),
            _ => Value::Binary(bytes),
        })
    }
}

/// Two are the same when their bytes are the same ones.
impl PartialEq for Spooled {
    fn eq(&self, other: &Spooled) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
