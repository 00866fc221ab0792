//! Who holds memory: the rows of `sys.dm_os_memory_clerks`, under SQL Server's names where it has one for the thing.
//!
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-os-memory-clerks-transact-sql>

/// A clerk as views show it.
#[derive(Clone, Copy, Debug)]
pub struct ClerkRow {
    pub clerk: Clerk,
    /// `type`
    pub kind: &'static str,
    pub name: &'static str,
    /// Of the limit, what its objects may hold together; 100: as much as there is.
    pub most_percent: u64,
}

macro_rules! clerks {
    ($($(#[$doc:meta])* $clerk:ident, $kind:literal, $name:literal, $most:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Clerk { $($(#[$doc])* $clerk,)* }

        /// All of them, in the order of their numbers.
        pub const CLERKS: &[ClerkRow] = &[$(ClerkRow {
            clerk: Clerk::$clerk,
            kind: $kind,
            name: $name,
            most_percent: $most,
        },)*];
    };
}

clerks! {
    /// Pages of databases. It has what the others leave.
    BufferPool, "MEMORYCLERK_SQLBUFFERPOOL", "Default", 100;
    /// Rows that operators keep.
    Workspace, "MEMORYCLERK_SQLQERESERVATIONS", "SQLQERESERVATIONS", 75;
    /// Values of variables and of large objects that statements work on, table variables.
    Values, "MEMORYCLERK_SQLQUERYEXEC", "SQLQUERYEXEC", 75;
    /// Batches and statements being parsed and bound.
    Compile, "MEMORYCLERK_SQLOPTIMIZER", "SQLOPTIMIZER", 50;
    /// Plans of batches and of parameterised statements.
    SqlPlans, "CACHESTORE_SQLCP", "SQL Plans", 25;
    /// Plans of procedures, functions and triggers.
    ObjectPlans, "CACHESTORE_OBJCP", "Object Plans", 25;
    Locks, "OBJECTSTORE_LOCK_MANAGER", "Lock Manager : Node 0", 60;
    /// Sessions: their options, contexts and what they have prepared.
    Connections, "MEMORYCLERK_SQLCONNECTIONPOOL", "SQLCONNECTIONPOOL", 50;
    /// Requests until they have run, replies on their way out. A quarter, as a batch takes several times its text.
    Packets, "OBJECTSTORE_SNI_PACKET", "SNI Packet object store", 25;
    /// Catalogs and statistics of columns.
    Schemas, "USERSTORE_SCHEMAMGR", "SchemaMgr Store", 50;
    /// What rows were before changes.
    Versions, "MEMORYCLERK_SQLSTORENG", "Version store", 50;
    /// Rows on their way to pages and indexes.
    Loads, "MEMORYCLERK_SQLSTORENG", "Bulk loads", 50;
    /// Blocks of the log that redo's threads are to repeat.
    Recovery, "MEMORYCLERK_SQLSTORENG", "Recovery", 50;
    /// Blocks of the log on their way to the disk, and what checks are read from.
    Log, "MEMORYCLERK_SQLLOGPOOL", "SQLLOGPOOL", 50;
    /// DBCC.
    Utilities, "MEMORYCLERK_SQLUTILITIES", "SQLUTILITIES", 50;
    Backup, "MEMORYCLERK_BACKUP", "Backup", 50;
    /// Events that are kept for a session's targets.
    EventBuffers, "MEMORYCLERK_XE_BUFFER", "XE Buffer", 25;
    /// Traces and lines of the error log that wait to be written.
    Traces, "MEMORYCLERK_TRACE_EVTNOTIF", "TRACE_EVTNOTIF", 10;
}

impl Clerk {
    pub fn row(self) -> &'static ClerkRow {
        &CLERKS[self as usize]
    }
}
