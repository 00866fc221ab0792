//! The options of BACKUP and of the statements of RESTORE, by name, and what each is to us.
//!
//! <https://learn.microsoft.com/sql/t-sql/statements/backup-transact-sql>
//! <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-arguments-transact-sql>

/// What an option is to a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// It has an effect, and no value.
    Switch,
    Text,
    Int,
    /// As above, or nothing.
    MaybeInt,
    /// Accepted, and so anyway: it is the default, or is about tapes, or about what no database here has (replication,
    /// change data capture), or has had no effect in SQL Server since 2008 (RESTART of BACKUP).
    NoEffect,
    /// Alone, or with its algorithm.
    Compression,
    /// 3099
    Encryption,
    /// SQL Server had it once: 3032 (*assumed*).
    Gone,
    /// SQL Server has it, this server does not: 40517 by name.
    Missing,
}

/// Name, what it is, and the statements that have it.
pub type Entry = (&'static str, Known, u8);

/// BACKUP; what BACKUP LOG alone or BACKUP DATABASE alone has is checked where it is used.
pub const BACKUP: u8 = 1;

/// RESTORE DATABASE and RESTORE LOG.
pub const RESTORE: u8 = 1;
pub const FILELIST: u8 = 2;
pub const HEADER: u8 = 4;
pub const LABEL: u8 = 8;
pub const VERIFY: u8 = 16;
pub const REWIND: u8 = 32;

const SHOWS: u8 = FILELIST | HEADER | LABEL;
const READS: u8 = RESTORE | SHOWS | VERIFY;

pub const BACKUP_OPTIONS: &[Entry] = &[
    // Where pages and log blocks stand in the set; and in msdb.
    ("BLOCKSIZE", Known::Int, BACKUP),
    ("BUFFERCOUNT", Known::Int, BACKUP),
    ("CHECKSUM", Known::Switch, BACKUP),
    ("COMPRESSION", Known::Compression, BACKUP),
    // Damaged pages go along; the tail of the log of a database that cannot be opened.
    ("CONTINUE_AFTER_ERROR", Known::Switch, BACKUP),
    ("COPY_ONLY", Known::Switch, BACKUP),
    ("CREDENTIAL", Known::Missing, BACKUP),
    ("DESCRIPTION", Known::Text, BACKUP),
    ("DIFFERENTIAL", Known::Switch, BACKUP),
    ("ENCRYPTION", Known::Encryption, BACKUP),
    ("EXPIREDATE", Known::Text, BACKUP),
    ("FILE_SNAPSHOT", Known::Missing, BACKUP),
    ("FORMAT", Known::Switch, BACKUP),
    ("INIT", Known::Switch, BACKUP),
    ("MAXTRANSFERSIZE", Known::Int, BACKUP),
    ("MEDIADESCRIPTION", Known::Text, BACKUP),
    ("MEDIANAME", Known::Text, BACKUP),
    ("MEDIAPASSWORD", Known::Gone, BACKUP),
    ("METADATA_ONLY", Known::Missing, BACKUP),
    ("NAME", Known::Text, BACKUP),
    ("NOFORMAT", Known::Switch, BACKUP),
    ("NOINIT", Known::Switch, BACKUP),
    // BACKUP LOG alone.
    ("NORECOVERY", Known::Switch, BACKUP),
    ("NOREWIND", Known::NoEffect, BACKUP),
    ("NOSKIP", Known::NoEffect, BACKUP),
    ("NOUNLOAD", Known::NoEffect, BACKUP),
    ("NO_CHECKSUM", Known::Switch, BACKUP),
    ("NO_COMPRESSION", Known::Switch, BACKUP),
    ("NO_LOG", Known::Gone, BACKUP),
    // BACKUP LOG alone: COPY_ONLY and CONTINUE_AFTER_ERROR.
    ("NO_TRUNCATE", Known::Switch, BACKUP),
    ("PASSWORD", Known::Gone, BACKUP),
    ("RESTART", Known::NoEffect, BACKUP),
    ("RETAINDAYS", Known::Int, BACKUP),
    ("REWIND", Known::NoEffect, BACKUP),
    // Neither expiration nor MEDIANAME is looked at.
    ("SKIP", Known::Switch, BACKUP),
    ("SNAPSHOT", Known::Missing, BACKUP),
    ("STANDBY", Known::Missing, BACKUP),
    ("STATS", Known::MaybeInt, BACKUP),
    ("STOP_ON_ERROR", Known::NoEffect, BACKUP),
    ("UNLOAD", Known::NoEffect, BACKUP),
];

pub const RESTORE_OPTIONS: &[Entry] = &[
    // Behind STOPATMARK and STOPBEFOREMARK.
    ("AFTER", Known::Text, RESTORE),
    // A file is read in the pieces of MAXTRANSFERSIZE, whatever its blocks.
    ("BLOCKSIZE", Known::Int, RESTORE),
    ("BUFFERCOUNT", Known::Int, RESTORE | VERIFY),
    ("CHECKSUM", Known::Switch, READS),
    // Of what shows a set nothing can fail that would be worth going on.
    ("CONTINUE_AFTER_ERROR", Known::Switch, READS),
    ("CREDENTIAL", Known::Missing, READS),
    ("ENABLE_BROKER", Known::Missing, RESTORE),
    ("ERROR_BROKER_CONVERSATIONS", Known::Missing, RESTORE),
    ("FILE", Known::Int, RESTORE | FILELIST | HEADER | VERIFY),
    ("FILESTREAM", Known::Missing, RESTORE | VERIFY),
    ("KEEP_CDC", Known::NoEffect, RESTORE),
    ("KEEP_REPLICATION", Known::NoEffect, RESTORE),
    ("KEEP_TEMPORAL_RETENTION", Known::NoEffect, RESTORE),
    ("LOADHISTORY", Known::Switch, VERIFY),
    ("MAXTRANSFERSIZE", Known::Int, RESTORE | VERIFY),
    ("MEDIANAME", Known::Text, READS),
    // No set of ours has one: 3279.
    ("MEDIAPASSWORD", Known::Text, READS),
    ("METADATA_ONLY", Known::Missing, READS),
    ("NEW_BROKER", Known::Missing, RESTORE),
    ("NORECOVERY", Known::Switch, RESTORE),
    ("NOREWIND", Known::NoEffect, RESTORE | VERIFY),
    ("NOUNLOAD", Known::NoEffect, READS | REWIND),
    // What we have written is checked in any case, by its CRC32C.
    ("NO_CHECKSUM", Known::NoEffect, READS),
    ("PARTIAL", Known::Missing, RESTORE),
    ("PASSWORD", Known::Text, READS & !LABEL),
    ("RECOVERY", Known::Switch, RESTORE),
    ("REPLACE", Known::Switch, RESTORE),
    ("RESTART", Known::Missing, RESTORE),
    ("RESTRICTED_USER", Known::Switch, RESTORE),
    ("REWIND", Known::NoEffect, READS),
    ("SNAPSHOT", Known::Missing, READS),
    // The undo file.
    ("STANDBY", Known::Text, RESTORE),
    ("STATS", Known::MaybeInt, RESTORE | VERIFY),
    ("STOPAT", Known::Text, RESTORE),
    ("STOPATMARK", Known::Text, RESTORE),
    ("STOPBEFOREMARK", Known::Text, RESTORE),
    ("STOP_ON_ERROR", Known::NoEffect, READS),
    ("UNLOAD", Known::NoEffect, READS | REWIND),
];

/// Options that exclude each other: 3031.
pub const CONFLICTS: &[(&str, &str)] = &[
    ("CHECKSUM", "NO_CHECKSUM"),
    ("COMPRESSION", "NO_COMPRESSION"),
    ("CONTINUE_AFTER_ERROR", "STOP_ON_ERROR"),
    ("FORMAT", "NOFORMAT"),
    ("FORMAT", "NOINIT"),
    ("INIT", "NOINIT"),
    ("KEEP_CDC", "NORECOVERY"),
    ("KEEP_REPLICATION", "NORECOVERY"),
    ("NORECOVERY", "RECOVERY"),
    ("NORECOVERY", "STANDBY"),
    ("NOREWIND", "REWIND"),
    ("NOREWIND", "UNLOAD"),
    ("NOSKIP", "SKIP"),
    ("NOUNLOAD", "UNLOAD"),
    ("RECOVERY", "STANDBY"),
    ("STOPAT", "STOPATMARK"),
    ("STOPAT", "STOPBEFOREMARK"),
    ("STOPATMARK", "STOPBEFOREMARK"),
];
