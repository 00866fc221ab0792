//! Databases, their files, backups, and event sessions.

use super::*;

#[derive(Clone, PartialEq, Debug)]
pub struct CreateDatabase {
    pub name: String,
    /// First PRIMARY (or the unnamed one), then named filegroups.
    pub filegroups: Vec<FilegroupSpec>,
    pub log_files: Vec<FileSpec>,
    pub collation: Option<String>,
    pub options: Vec<NamedOption>,
    pub for_attach: Option<Attach>,
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    Attach,
    RebuildLog,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FilegroupSpec {
    /// `None`: PRIMARY.
    pub name: Option<String>,
    pub default: bool,
    pub files: Vec<FileSpec>,
}

/// `(NAME = ..., FILENAME = ..., SIZE = ..., MAXSIZE = ..., FILEGROWTH = ...)`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FileSpec {
    pub name: Option<String>,
    /// MODIFY FILE only.
    pub new_name: Option<String>,
    pub filename: Option<String>,
    pub size: Option<Size>,
    pub max_size: Option<Size>,
    pub growth: Option<Size>,
    pub offline: bool,
    pub line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AlterDatabase {
    /// `None`: CURRENT.
    pub name: Option<String>,
    pub action: AlterDatabaseAction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AlterDatabaseAction {
    AddFiles {
        files: Vec<FileSpec>,
        filegroup: Option<String>,
    },
    AddLogFiles(Vec<FileSpec>),
    RemoveFile(String),
    ModifyFile(FileSpec),
    AddFilegroup(String),
    RemoveFilegroup(String),
    /// DEFAULT, READ_ONLY, READ_WRITE, `NAME = x`, AUTOGROW_ALL_FILES, ...
    ModifyFilegroup {
        name: String,
        option: NamedOption,
    },
    ModifyName(String),
    Collate(String),
    /// `SET RECOVERY SIMPLE, DELAYED_DURABILITY = FORCED ... WITH ROLLBACK IMMEDIATE`. `RECOVERY SIMPLE` comes as
    /// name RECOVERY, value word SIMPLE; `SINGLE_USER` as a name without a value.
    Set {
        options: Vec<NamedOption>,
        termination: Option<Termination>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Termination {
    RollbackImmediate,
    RollbackAfter(u32),
    NoWait,
}

/// `ALTER DATABASE SCOPED CONFIGURATION SET name = value` or `CLEAR name`.
#[derive(Clone, PartialEq, Debug)]
pub struct ScopedConfiguration {
    pub clear: bool,
    pub option: NamedOption,
    pub for_secondary: bool,
}

/// BACKUP DATABASE or LOG.
#[derive(Clone, PartialEq, Debug)]
pub struct Backup {
    pub log: bool,
    pub database: NameOrVariable,
    pub devices: Vec<BackupDevice>,
    /// MIRROR TO, up to three times.
    pub mirrors: Vec<Vec<BackupDevice>>,
    /// COMPRESSION, INIT, COPY_ONLY, `STATS = 10`, `NAME = N'...'`, ...
    pub options: Vec<NamedOption>,
    /// Partial backups: `FILE = x`, `FILEGROUP = y`, READ_WRITE_FILEGROUPS.
    pub parts: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameOrVariable {
    Name(String),
    Variable(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct BackupDevice {
    /// DISK, TAPE, URL, DATABASE_SNAPSHOT; `None`: a logical device name.
    pub kind: Option<String>,
    /// String or variable, or the name of a device or database snapshot.
    pub target: OptionValue,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Restore {
    pub kind: RestoreKind,
    /// `None` for HEADERONLY, FILELISTONLY, VERIFYONLY, LABELONLY.
    pub database: Option<NameOrVariable>,
    /// Empty: `RESTORE DATABASE x WITH RECOVERY`.
    pub devices: Vec<BackupDevice>,
    /// `MOVE 'logical' TO 'path'`.
    pub moves: Vec<(OptionValue, OptionValue)>,
    pub options: Vec<NamedOption>,
    pub parts: Vec<NamedOption>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreKind {
    Database,
    Log,
    HeaderOnly,
    FileListOnly,
    VerifyOnly,
    LabelOnly,
    RewindOnly,
}

#[derive(Clone, PartialEq, Debug)]
pub struct EventSession {
    pub name: String,
    /// ON SERVER, else ON DATABASE.
    pub on_server: bool,
    pub events: Vec<EventSpec>,
    pub targets: Vec<EventTarget>,
    pub options: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct EventSpec {
    /// `package.event`.
    pub name: ObjectName,
    /// `SET field = value`.
    pub fields: Vec<NamedOption>,
    pub actions: Vec<ObjectName>,
    pub predicate: Option<EventPredicate>,
    /// The predicate as written; empty without one.
    pub predicate_text: String,
}

/// A condition of an event.
#[derive(Clone, PartialEq, Debug)]
pub enum EventPredicate {
    And(Box<EventPredicate>, Box<EventPredicate>),
    Or(Box<EventPredicate>, Box<EventPredicate>),
    Not(Box<EventPredicate>),
    /// `source op value`: a field of the event or a source such as `sqlserver.database_id`.
    Compare {
        source: ObjectName,
        op: CompareOp,
        value: OptionValue,
    },
    /// `package0.divides_by_uint64(source, value)`.
    Call {
        function: ObjectName,
        source: ObjectName,
        value: OptionValue,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct EventTarget {
    pub name: ObjectName,
    pub fields: Vec<NamedOption>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AlterEventSession {
    pub name: String,
    pub on_server: bool,
    pub action: AlterEventAction,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AlterEventAction {
    Start,
    Stop,
    Change {
        add_events: Vec<EventSpec>,
        drop_events: Vec<ObjectName>,
        add_targets: Vec<EventTarget>,
        drop_targets: Vec<ObjectName>,
        options: Vec<NamedOption>,
    },
}
