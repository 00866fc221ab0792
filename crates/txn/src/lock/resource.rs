//! What can be locked.

use std::fmt;

use duramen_base::{DbId, FileId, ObjectId, PageId, RowsetId};

/// A lockable thing. Keys are locked by a 48-bit hash of their bytes, so two keys may share a lock: that costs a
/// wait, never correctness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    Database(DbId),
    File(DbId, FileId),
    Object(DbId, ObjectId),
    Hobt(DbId, RowsetId),
    Extent(DbId, PageId),
    Page(DbId, PageId),
    Rid(DbId, PageId, u16),
    Key(DbId, RowsetId, u64),
    AllocationUnit(DbId, i64),
    /// A class of metadata and an id in it.
    Metadata(DbId, u32, u64),
    /// `sp_getapplock`: the hash of the name.
    Application(DbId, u64),
}

impl Resource {
    pub fn db(&self) -> DbId {
        match *self {
            Resource::Database(db)
            | Resource::File(db, _)
            | Resource::Object(db, _)
            | Resource::Hobt(db, _)
            | Resource::Extent(db, _)
            | Resource::Page(db, _)
            | Resource::Rid(db, _, _)
            | Resource::Key(db, _, _)
            | Resource::AllocationUnit(db, _)
            | Resource::Metadata(db, _, _)
            | Resource::Application(db, _) => db,
        }
    }

    /// `sys.dm_tran_locks.resource_type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Resource::Database(_) => "DATABASE",
            Resource::File(..) => "FILE",
            Resource::Object(..) => "OBJECT",
            Resource::Hobt(..) => "HOBT",
            Resource::Extent(..) => "EXTENT",
            Resource::Page(..) => "PAGE",
            Resource::Rid(..) => "RID",
            Resource::Key(..) => "KEY",
            Resource::AllocationUnit(..) => "ALLOCATION_UNIT",
            Resource::Metadata(..) => "METADATA",
            Resource::Application(..) => "APPLICATION",
        }
    }

    /// Is this below the table, so that it counts towards escalation?
    pub fn is_fine(&self) -> bool {
        matches!(
            self,
            Resource::Page(..) | Resource::Rid(..) | Resource::Key(..) | Resource::Extent(..)
        )
    }

    /// `sys.dm_tran_locks.resource_description`.
    pub fn description(&self) -> String {
        match self {
            Resource::File(_, file) => file.0.to_string(),
            Resource::Extent(_, p) | Resource::Page(_, p) => format!("{}:{}", p.file, p.page),
            Resource::Rid(_, p, slot) => format!("{}:{}:{}", p.file, p.page, slot),
            Resource::Key(_, _, hash) => format!("({hash:012x})"),
            Resource::Metadata(_, class, id) => format!("class = {class}, id = {id}"),
            Resource::Application(_, hash) => format!("({hash:016x})"),
            _ => String::new(),
        }
    }

    /// `sys.dm_tran_locks.resource_associated_entity_id` where the resource itself says it.
    pub fn associated_entity(&self) -> i64 {
        match *self {
            Resource::Object(_, object) => object.0 as i64,
            Resource::Hobt(_, rowset) | Resource::Key(_, rowset, _) => rowset.0,
            Resource::AllocationUnit(_, unit) => unit,
            _ => 0,
        }
    }

    /// The resource in two words: kind and database in the first; distinct resources have distinct words.
    #[inline]
    fn words(&self) -> [u64; 3] {
        let page = |p: PageId| ((p.file as u64) << 32) | p.page as u64;
        let (kind, db, a, b) = match *self {
            Resource::Database(db) => (0, db, 0, 0),
            Resource::File(db, file) => (1, db, file.0 as u64, 0),
            Resource::Object(db, object) => (2, db, object.0 as u32 as u64, 0),
            Resource::Hobt(db, rowset) => (3, db, rowset.0 as u64, 0),
            Resource::Extent(db, p) => (4, db, page(p), 0),
            Resource::Page(db, p) => (5, db, page(p), 0),
            Resource::Rid(db, p, slot) => (6, db, page(p), slot as u64),
            Resource::Key(db, rowset, hash) => (7, db, rowset.0 as u64, hash),
            Resource::AllocationUnit(db, unit) => (8, db, unit as u64, 0),
            Resource::Metadata(db, class, id) => (9, db, id, class as u64),
            Resource::Application(db, hash) => (10, db, hash, 0),
        };
        [(kind << 16) | db.0 as u64, a, b]
    }

    /// A well mixed 64-bit hash, the same in every process.
    #[inline]
    pub fn hash64(&self) -> u64 {
        const K: u64 = 0x9e37_79b9_7f4a_7c15;
        let [a, b, c] = self.words();
        let mut h = a.wrapping_mul(K);
        h = (h ^ (h >> 32) ^ b).wrapping_mul(K);
        h = (h ^ (h >> 29) ^ c).wrapping_mul(K);
        h ^ (h >> 32)
    }
}

/// A resource with its hash, which is computed once for all the places that a request looks into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub hash: u64,
    pub resource: Resource,
}

impl Key {
    #[inline]
    pub fn of(resource: &Resource) -> Key {
        Key {
            hash: resource.hash64(),
            resource: *resource,
        }
    }
}

impl std::hash::Hash for Key {
    #[inline]
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The form of `wait_resource`: `KEY: 5:72057594043236352 (8194443284a0)`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let db = self.db().0;
        match self {
            Resource::Database(_) => write!(f, "DATABASE: {db}"),
            Resource::Object(_, object) => write!(f, "OBJECT: {db}:{}:0", object.0),
            Resource::Hobt(_, rowset) => write!(f, "HOBT: {db}:{}", rowset.0),
            Resource::Key(_, rowset, hash) => write!(f, "KEY: {db}:{} ({hash:012x})", rowset.0),
            Resource::AllocationUnit(_, unit) => write!(f, "ALLOCATION_UNIT: {db}:{unit}"),
            _ => write!(f, "{}: {db}:{}", self.type_name(), self.description()),
        }
    }
}
