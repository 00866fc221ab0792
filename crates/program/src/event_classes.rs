//! The classes and columns of SQL Trace, by the numbers of `sp_trace_setevent`.

/// Class numbers that are recorded.
pub mod class {
    pub const SERVER_STARTS_AND_STOPS: u16 = 18;
    pub const LOGIN_FAILED: u16 = 20;
    pub const ERROR_LOG: u16 = 22;
    pub const OBJECT_CREATED: u16 = 46;
    pub const OBJECT_DELETED: u16 = 47;
    pub const DATA_GROWTH: u16 = 92;
    pub const LOG_GROWTH: u16 = 93;
    pub const DATA_SHRINK: u16 = 94;
    pub const LOG_SHRINK: u16 = 95;
    pub const BACKUP_RESTORE: u16 = 115;
    pub const DBCC: u16 = 116;
    pub const OBJECT_ALTERED: u16 = 164;
}

/// Category id and name.
pub const CATEGORIES: &[(i16, &str)] = &[
    (1, "Cursors"),
    (2, "Database"),
    (3, "Errors and Warnings"),
    (4, "Locks"),
    (5, "Objects"),
    (6, "Performance"),
    (7, "Scans"),
    (8, "Security Audit"),
    (9, "Server"),
    (10, "Sessions"),
    (11, "Stored Procedures"),
    (12, "Transactions"),
    (13, "TSQL"),
    (14, "User configurable"),
    (15, "OLEDB"),
    (16, "Broker"),
    (17, "Full text"),
    (18, "Deprecation"),
    (19, "Progress Report"),
    (20, "CLR"),
    (21, "Query Notifications"),
];

/// Class, category and name. Those of parts that are not here have no rows in any trace.
pub const CLASSES: &[(u16, i16, &str)] = &[
    (10, 11, "RPC:Completed"),
    (11, 11, "RPC:Starting"),
    (12, 13, "SQL:BatchCompleted"),
    (13, 13, "SQL:BatchStarting"),
    (14, 8, "Audit Login"),
    (15, 8, "Audit Logout"),
    (16, 3, "Attention"),
    (17, 10, "ExistingConnection"),
    (18, 8, "Audit Server Starts And Stops"),
    (19, 12, "DTCTransaction"),
    (20, 8, "Audit Login Failed"),
    (21, 3, "EventLog"),
    (22, 3, "ErrorLog"),
    (23, 4, "Lock:Released"),
    (24, 4, "Lock:Acquired"),
    (25, 4, "Lock:Deadlock"),
    (26, 4, "Lock:Cancel"),
    (27, 4, "Lock:Timeout"),
    (28, 6, "Degree of Parallelism"),
    (33, 3, "Exception"),
    (34, 11, "SP:CacheMiss"),
    (35, 11, "SP:CacheInsert"),
    (36, 11, "SP:CacheRemove"),
    (37, 11, "SP:Recompile"),
    (38, 11, "SP:CacheHit"),
    (40, 13, "SQL:StmtStarting"),
    (41, 13, "SQL:StmtCompleted"),
    (42, 11, "SP:Starting"),
    (43, 11, "SP:Completed"),
    (44, 11, "SP:StmtStarting"),
    (45, 11, "SP:StmtCompleted"),
    (46, 5, "Object:Created"),
    (47, 5, "Object:Deleted"),
    (50, 12, "SQLTransaction"),
    (51, 7, "Scan:Started"),
    (52, 7, "Scan:Stopped"),
    (53, 1, "CursorOpen"),
    (54, 12, "TransactionLog"),
    (55, 3, "Hash Warning"),
    (58, 6, "Auto Stats"),
    (59, 4, "Lock:Deadlock Chain"),
    (60, 4, "Lock:Escalation"),
    (61, 15, "OLEDB Errors"),
    (67, 3, "Execution Warnings"),
    (68, 6, "Showplan Text (Unencoded)"),
    (69, 3, "Sort Warnings"),
    (70, 1, "CursorPrepare"),
    (71, 13, "Prepare SQL"),
    (72, 13, "Exec Prepared SQL"),
    (73, 13, "Unprepare SQL"),
    (74, 1, "CursorExecute"),
    (75, 1, "CursorRecompile"),
    (76, 1, "CursorImplicitConversion"),
    (77, 1, "CursorUnprepare"),
    (78, 1, "CursorClose"),
    (79, 3, "Missing Column Statistics"),
    (80, 3, "Missing Join Predicate"),
    (81, 9, "Server Memory Change"),
    (92, 2, "Data File Auto Grow"),
    (93, 2, "Log File Auto Grow"),
    (94, 2, "Data File Auto Shrink"),
    (95, 2, "Log File Auto Shrink"),
    (96, 6, "Showplan Text"),
    (97, 6, "Showplan All"),
    (98, 6, "Showplan Statistics Profile"),
    (100, 11, "RPC Output Parameter"),
    (102, 8, "Audit Database Scope GDR Event"),
    (103, 8, "Audit Schema Object GDR Event"),
    (104, 8, "Audit Addlogin Event"),
    (105, 8, "Audit Login GDR Event"),
    (106, 8, "Audit Login Change Property Event"),
    (107, 8, "Audit Login Change Password Event"),
    (108, 8, "Audit Add Login to Server Role Event"),
    (109, 8, "Audit Add DB User Event"),
    (110, 8, "Audit Add Member to DB Role Event"),
    (111, 8, "Audit Add Role Event"),
    (112, 8, "Audit App Role Change Password Event"),
    (113, 8, "Audit Statement Permission Event"),
    (114, 8, "Audit Schema Object Access Event"),
    (115, 8, "Audit Backup/Restore Event"),
    (116, 8, "Audit DBCC Event"),
    (117, 8, "Audit Change Audit Event"),
    (118, 8, "Audit Object Derived Permission Event"),
    (128, 8, "Audit Database Management Event"),
    (129, 8, "Audit Database Object Management Event"),
    (130, 8, "Audit Database Principal Management Event"),
    (131, 8, "Audit Schema Object Management Event"),
    (137, 3, "Blocked process report"),
    (148, 4, "Deadlock graph"),
    (152, 8, "Audit Change Database Owner"),
    (153, 8, "Audit Schema Object Take Ownership Event"),
    (162, 3, "User Error Message"),
    (164, 5, "Object:Altered"),
    (166, 13, "SQL:StmtRecompile"),
    (167, 2, "Database Mirroring State Change"),
    (175, 8, "Audit Server Alter Trace Event"),
    (218, 6, "Plan Guide Unsuccessful"),
];

/// Class, subclass and name, of what is recorded.
pub const SUBCLASSES: &[(u16, i16, &str)] = &[
    (18, 1, "Shutdown"),
    (18, 2, "Started"),
    (20, 1, "Nonpooled"),
    (20, 2, "Pooled"),
    (46, 0, "Begin"),
    (46, 1, "Commit"),
    (46, 2, "Rollback"),
    (47, 0, "Begin"),
    (47, 1, "Commit"),
    (47, 2, "Rollback"),
    (115, 1, "Backup"),
    (115, 2, "Restore"),
    (115, 3, "BackupLog"),
    (164, 0, "Begin"),
    (164, 1, "Commit"),
    (164, 2, "Rollback"),
];

/// Type of a trace column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    BigInt,
    Time,
    Text,
    LongText,
    Bytes,
    Guid,
}

macro_rules! trace_columns {
    ($($name:ident $kind:ident;)*) => {
        /// A column of a trace; its number is its place here.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        #[allow(clippy::upper_case_acronyms, clippy::enum_variant_names)]
        pub enum Column { $($name,)* }

        /// Name and type of every column, in order.
        pub const COLUMNS: &[(Column, &str, Kind)] =
            &[$((Column::$name, stringify!($name), Kind::$kind),)*];
    };
}

trace_columns! {
    TextData LongText;
    BinaryData Bytes;
    DatabaseID Int;
    TransactionID BigInt;
    LineNumber Int;
    NTUserName Text;
    NTDomainName Text;
    HostName Text;
    ClientProcessID Int;
    ApplicationName Text;
    LoginName Text;
    SPID Int;
    Duration BigInt;
    StartTime Time;
    EndTime Time;
    Reads BigInt;
    Writes BigInt;
    CPU Int;
    Permissions BigInt;
    Severity Int;
    EventSubClass Int;
    ObjectID Int;
    Success Int;
    IndexID Int;
    IntegerData Int;
    ServerName Text;
    EventClass Int;
    ObjectType Int;
    NestLevel Int;
    State Int;
    Error Int;
    Mode Int;
    Handle Int;
    ObjectName Text;
    DatabaseName Text;
    FileName Text;
    OwnerName Text;
    RoleName Text;
    TargetUserName Text;
    DBUserName Text;
    LoginSid Bytes;
    TargetLoginName Text;
    TargetLoginSid Bytes;
    ColumnPermissions Int;
    LinkedServerName Text;
    ProviderName Text;
    MethodName Text;
    RowCounts BigInt;
    RequestID Int;
    XactSequence BigInt;
    EventSequence BigInt;
    BigintData1 BigInt;
    BigintData2 BigInt;
    GUID Guid;
    IntegerData2 Int;
    ObjectID2 BigInt;
    Type Int;
    OwnerID Int;
    ParentName Text;
    IsSystem Int;
    Offset Int;
    SourceDatabaseID Int;
    SqlHandle Bytes;
    SessionLoginName Text;
    PlanHandle Bytes;
    GroupID Int;
}

impl Column {
    /// Its number, from 1.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_numbers_that_event_classes_are_documented_with() {
        assert_eq!(COLUMNS.len(), 66);
        for (n, (column, _, _)) in (1..).zip(COLUMNS) {
            assert_eq!(usize::from(column.number()), n);
        }
        let numbers = [
            (Column::DatabaseName, 35),
            (Column::FileName, 36),
            (Column::IntegerData, 25),
            (Column::EventClass, 27),
            (Column::SessionLoginName, 64),
            (Column::LoginSid, 41),
            (Column::EventSequence, 51),
        ];
        assert!(numbers.iter().all(|(c, n)| c.number() == *n));
    }

    #[test]
    fn classes_are_in_order_and_have_their_categories() {
        assert!(CLASSES.windows(2).all(|w| w[0].0 < w[1].0));
        let known = |id: i16| CATEGORIES.iter().any(|(n, _)| *n == id);
        assert!(CLASSES.iter().all(|(_, category, _)| known(*category)));
    }
}
