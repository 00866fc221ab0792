//! Field types of events about pages, logs and locks: keys that a map gives names to.
//!
//! Keys are those of SQL Server as far as they are known; each list says where it is *assumed*.

use duramen_base::{DbId, PageId};

use super::{EventField, EventValue, PhysicalPageRead, PhysicalPageWrite};

macro_rules! keyed {
    ($($(#[$doc:meta])* $id:ident $name:literal [$(($key:literal, $text:literal)),* $(,)?])*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $id(pub u32);

            impl $id {
                /// Keys and texts of the map.
                pub const MAP: &'static [(u32, &'static str)] = &[$(($key, $text)),*];
            }

            impl EventField for $id {
                const TYPE: &'static str = $name;
                fn into_value(self) -> EventValue {
                    let found = Self::MAP.iter().find(|(key, _)| *key == self.0);
                    EventValue::Mapped(self.0, found.map_or("", |(_, text)| *text))
                }
            }
        )*
    };
}

keyed! {
    /// What a page was split for; 3 is as published, the others are *assumed*.
    PageSplitKind "page_split_operation" [
        (0, "SPLIT_FOR_ROOT_NODE"),
        (1, "SPLIT_FOR_INTERNAL_NODE"),
        (2, "SPLIT_FOR_INSERT"),
        (3, "SPLIT_FOR_UPDATE"),
        (4, "SPLIT_FOR_DELETE"),
    ]
    /// How a file is read or written: into one piece of memory or several.
    FileIoMode "file_io_mode" [(0, "Contiguous"), (1, "Scatter/Gather")]
    /// The numbers of `syslockinfo.req_mode`.
    LockModes "lock_mode" [
        (0, "NL"),
        (1, "SCH_S"),
        (2, "SCH_M"),
        (3, "S"),
        (4, "U"),
        (5, "X"),
        (6, "IS"),
        (7, "IU"),
        (8, "IX"),
        (9, "SIU"),
        (10, "SIX"),
        (11, "UIX"),
        (12, "BU"),
        (13, "RS_S"),
        (14, "RS_U"),
        (15, "RI_NL"),
        (16, "RI_S"),
        (17, "RI_U"),
        (18, "RI_X"),
        (19, "RX_S"),
        (20, "RX_U"),
        (21, "RX_X"),
    ]
    /// What is locked; numbers of `syslockinfo.rsc_type`.
    LockResourceType "lock_resource_type" [
        (0, "UNKNOWN_LOCK_RESOURCE"),
        (1, "NULL_RESOURCE"),
        (2, "DATABASE"),
        (3, "FILE"),
        (5, "OBJECT"),
        (6, "PAGE"),
        (7, "KEY"),
        (8, "EXTENT"),
        (9, "RID"),
        (10, "APPLICATION"),
        (11, "METADATA"),
        (12, "HOBT"),
        (13, "ALLOCATION_UNIT"),
    ]
    /// For whom a lock is held; numbers of `syslockinfo.req_ownertype`.
    LockOwnerType "lock_owner_type" [
        (1, "Transaction"),
        (2, "Cursor"),
        (3, "Session"),
        (4, "SharedXactWorkspace"),
        (5, "ExclusiveXactWorkspace"),
    ]
    /// Whether a call begins with its session as after login; but the first, names are *assumed*.
    ConnectionReset "connection_reset_option" [
        (0, "None"),
        (1, "ResetConnection"),
        (2, "ResetConnectionSkipTran"),
    ]
    /// A module's `sys.objects.type`, the first letter in the low byte; but for PROC, names are *assumed*.
    ObjectType "object_type" [
        (8272, "PROC"),
        (21_076, "TRIGGER"),
        (20_038, "FUNCTION"),
        (17_993, "INLINE_FUNCTION"),
        (18_004, "TABLE_FUNCTION"),
        (8278, "VIEW"),
    ]
    /// Why a statement is bound anew.
    RecompileCause "statement_recompile_cause" [
        (1, "Schema changed"),
        (2, "Statistics changed"),
        (3, "Deferred compile"),
        (4, "Set option change"),
        (5, "Temp table changed"),
        (6, "Remote rowset changed"),
        (7, "For browse permissions changed"),
        (8, "Query notification environment changed"),
        (9, "PartitionView changed"),
        (10, "Cursor options changed"),
        (11, "Option (recompile) requested"),
        (12, "Parameterized plan flushed"),
        (13, "Test plan linearization"),
        (14, "Plan affecting database version changed"),
    ]
    /// How often a sort that found no memory for its rows goes over its files.
    SortWarningType "sort_warning_type" [(1, "Single pass"), (2, "Multiple pass")]
    /// How a hash table that found no memory goes on.
    HashWarningType "hash_warning_type" [(0, "Recursion"), (1, "Bailout")]
    /// What kind of thing a blocked task waits for: locks only are reported.
    ResourceOwnerType "resource_owner_type" [(1, "LOCK")]
}

impl ObjectType {
    /// Of the letters in `sys.objects.type`.
    pub fn of(letters: [u8; 2]) -> ObjectType {
        ObjectType(u32::from(u16::from_le_bytes(letters)))
    }
}

impl RecompileCause {
    pub const SCHEMA: RecompileCause = RecompileCause(1);
    pub const STATISTICS: RecompileCause = RecompileCause(2);
}

impl SortWarningType {
    /// Runs are merged at once, however many there are.
    pub const SINGLE_PASS: SortWarningType = SortWarningType(1);
}

impl HashWarningType {
    pub const RECURSION: HashWarningType = HashWarningType(0);
}

impl ConnectionReset {
    pub const NONE: ConnectionReset = ConnectionReset(0);
    pub const RESET: ConnectionReset = ConnectionReset(1);
    pub const KEEPS_TRANSACTION: ConnectionReset = ConnectionReset(2);
}

impl FileIoMode {
    pub const CONTIGUOUS: FileIoMode = FileIoMode(0);
}

impl LockOwnerType {
    pub const TRANSACTION: LockOwnerType = LockOwnerType(1);
    pub const SESSION: LockOwnerType = LockOwnerType(3);
}

impl ResourceOwnerType {
    pub const LOCK: ResourceOwnerType = ResourceOwnerType(1);
}

impl PageSplitKind {
    pub const ROOT: PageSplitKind = PageSplitKind(0);
    pub const INTERNAL: PageSplitKind = PageSplitKind(1);
    pub const INSERT: PageSplitKind = PageSplitKind(2);
    pub const UPDATE: PageSplitKind = PageSplitKind(3);
}

/// The operation of a log record: its code and name, which the log knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOperation(pub u8, pub &'static str);

/// The context of a log record, the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogContext(pub u8, pub &'static str);

impl EventField for LogOperation {
    const TYPE: &'static str = "log_op";
    fn into_value(self) -> EventValue {
        EventValue::Mapped(u32::from(self.0), self.1)
    }
}

impl EventField for LogContext {
    const TYPE: &'static str = "log_context";
    fn into_value(self) -> EventValue {
        EventValue::Mapped(u32::from(self.0), self.1)
    }
}

impl PhysicalPageRead {
    pub fn of(db: DbId, page: PageId) -> PhysicalPageRead {
        PhysicalPageRead {
            file_id: u64::from(page.file),
            page_id: u64::from(page.page),
            database_id: u64::from(db.0),
        }
    }
}

impl PhysicalPageWrite {
    pub fn of(db: DbId, page: PageId) -> PhysicalPageWrite {
        PhysicalPageWrite {
            file_id: u64::from(page.file),
            page_id: u64::from(page.page),
            database_id: u64::from(db.0),
        }
    }
}
