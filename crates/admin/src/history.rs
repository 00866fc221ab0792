//! The history of backups, restores and marks in msdb, in the tables that SQL Server has for it.
//!
//! The tables are made when a server starts whose msdb has none (`history/msdb.sql`). Rows are written by a session of the
//! server's own, as T-SQL, after what they tell of has happened: a backup stays a good backup when its history cannot be
//! written, and the client is told so (3009). What RESTORE HEADERONLY and FILELISTONLY show of a set and what its rows say
//! comes from the same columns (`backup::show`).

use std::fmt::Write;
use std::sync::Arc;

use duramen_backup::{BackupSet, Media, SetHeader, SetKind};
use duramen_base::{DbId, Lsn, SqlError, SqlResult, messages};
use duramen_events::instance::Instance;
use duramen_program::sink::Columns;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_types::{DateTime, SqlType, Value, to_display};

use crate::backup::show::{files, header};

const TABLES: &str = include_str!("history/msdb.sql");
/// The table that is made last.
const LAST_TABLE: &str = "logmarkhistory";
const FILEGROUP_TABLE: &str = "backupfilegroup";
const FILEGROUPS: &str = "CREATE TABLE dbo.backupfilegroup (
  backup_set_id int NOT NULL,
  name nvarchar(128) NOT NULL,
  filegroup_id int NOT NULL,
  filegroup_guid uniqueidentifier NULL,
  type char(2) NOT NULL,
  type_desc nvarchar(60) NOT NULL,
  is_default bit NULL,
  is_readonly bit NULL,
  log_filegroup_guid uniqueidentifier NULL,
  PRIMARY KEY (backup_set_id, filegroup_id))
";
/// What is in msdb beside the history.
const AGENT_TABLES: &str = include_str!("history/agent.sql");
const LAST_AGENT_TABLE: &str = "syssessions";

/// A backup set as the history knows it.
pub struct RecordedSet<'a> {
    pub set: &'a BackupSet,
    pub media: &'a Media,
    /// As the statement names them.
    pub devices: &'a [String],
    pub compressed: bool,
    /// The database that it is a backup of, when that is open here.
    pub open: Option<&'a str>,
}

/// A restore of a set.
pub struct Restored<'a> {
    pub database: &'a str,
    /// What restorehistory says: the set's kind, or F and G for a part of it.
    pub kind: char,
    /// Numbers of the files that it has filled: of a full backup the log's too, of a log backup none.
    pub files: Vec<u16>,
    pub user: &'a str,
    pub replace: bool,
    pub recovery: bool,
    /// Text of STOPAT, and the mark with whether its transaction was left out.
    pub stop_at: Option<String>,
    pub mark: Option<(String, bool)>,
}

/// Makes the tables of msdb where they are missing.
pub fn prepare(instance: &Arc<Instance>) -> SqlResult<()> {
    let Some(msdb) = instance.databases.get(DbId::MSDB) else {
        return Ok(());
    };
    let snapshot = msdb.catalog.snapshot()?;
    let missing = |last: &str| !snapshot.tables.values().any(|t| t.name == last);
    let mut sql = String::new();
    let all = [
        (LAST_TABLE, TABLES),
        (FILEGROUP_TABLE, FILEGROUPS),
        (LAST_AGENT_TABLE, AGENT_TABLES),
    ];
    for (last, tables) in all {
        if missing(last) {
            sql += tables;
        }
    }
    match sql.is_empty() {
        true => Ok(()),
        false => run(instance, &format!("BEGIN TRAN\n{sql}COMMIT")),
    }
}

/// After BACKUP, and RESTORE VERIFYONLY WITH LOADHISTORY. 3009 when it cannot be written.
pub fn backed_up(instance: &Arc<Instance>, recorded: &RecordedSet<'_>) -> SqlResult<()> {
    written(run(instance, &in_transaction(&rows_of_set(recorded))))
}

/// After RESTORE: rows for the set, too, when this server has not taken it.
pub fn restored(
    instance: &Arc<Instance>,
    recorded: &RecordedSet<'_>,
    by: &Restored<'_>,
) -> SqlResult<()> {
    let mut sql = rows_of_set(recorded);
    let kind = by.kind;
    let or_null = |text: Option<&str>| text.map_or("NULL".to_owned(), quoted);
    let mark = by.mark.as_ref();
    let before = mark.map_or("NULL", |m| if m.1 { "1" } else { "0" });
    let _ = writeln!(
        sql,
        "INSERT dbo.restorehistory (restore_date, destination_database_name, user_name, backup_set_id, restore_type, replace, recovery, restart, stop_at, device_count, stop_at_mark_name, stop_before) VALUES (GETDATE(), {}, {}, @set, '{kind}', {}, {}, 0, {}, {}, {}, {before})",
        quoted(by.database),
        quoted(by.user),
        u8::from(by.replace),
        u8::from(by.recovery),
        or_null(by.stop_at.as_deref()),
        recorded.devices.len(),
        or_null(mark.map(|m| m.0.as_str())),
    );
    sql += &rows_of_files(&recorded.set.header, by);
    written(run(instance, &in_transaction(&sql)))
}

/// Rows for the files that a restore has filled, and for their filegroups. *Assumed*: none for a log, whose set fills no
/// file; the name of a file is whole, with its drive.
fn rows_of_files(header: &SetHeader, by: &Restored<'_>) -> String {
    if by.files.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = by.files.iter().map(u16::to_string).collect();
    let mut sql = format!(
        "DECLARE @restore int = SCOPE_IDENTITY()
INSERT dbo.restorefile SELECT @restore, file_id, CASE WHEN physical_name LIKE N'[A-Z]:%' THEN LEFT(physical_name, 2) END, physical_name FROM sys.master_files WHERE database_id = DB_ID({}) AND file_id IN ({})
",
        quoted(by.database),
        numbers.join(", "),
    );
    let filled = |group: u16| {
        let mut of_group = header.files.iter().filter(|f| f.filegroup == group);
        of_group.any(|f| by.files.contains(&f.id))
    };
    for (_, name) in header.filegroups.iter().filter(|(id, _)| filled(*id)) {
        let _ = writeln!(
            sql,
            "INSERT dbo.restorefilegroup VALUES (@restore, {})",
            quoted(name)
        );
    }
    sql
}

/// After the commit of a marked transaction, for each database that it has changed.
pub fn marked(
    instance: &Arc<Instance>,
    (name, description): &(String, String),
    user: &str,
    commits: &[(DbId, Lsn)],
) -> SqlResult<()> {
    let mut sql = String::new();
    for (id, lsn) in commits {
        let Some(db) = instance.databases.get(*id) else {
            continue;
        };
        let _ = writeln!(
            sql,
            "INSERT dbo.logmarkhistory VALUES ({}, {}, {}, {}, {}, GETDATE())",
            quoted(&db.db.name),
            quoted(name),
            quoted(description),
            quoted(user),
            lsn.to_numeric(),
        );
    }
    written(run(instance, &in_transaction(&sql)))
}

fn written(result: SqlResult<()>) -> SqlResult<()> {
    result.map_err(|_| SqlError::new(&messages::HISTORY_NOT_WRITTEN, &[]))
}

/// What is told is durable when the statement ends, as the backup is.
pub(crate) fn in_transaction(sql: &str) -> String {
    format!("SET NOCOUNT ON\nBEGIN TRAN\n{sql}COMMIT\nEXEC sys.sp_flush_log")
}

pub fn type_of(kind: SetKind) -> char {
    match kind {
        SetKind::Database => 'D',
        SetKind::Differential => 'I',
        SetKind::Log => 'L',
    }
}

/// Rows for medium and set where they are not there; `@set` is the set's number afterwards.
fn rows_of_set(recorded: &RecordedSet<'_>) -> String {
    let (set, media) = (recorded.set, recorded.media);
    let h = &set.header;
    let mut sql = String::from("DECLARE @media int, @set int\n");
    let guid = |g: [u8; 16]| literal(&Value::Guid(g), &SqlType::GUID);
    let or_null = |text: &str| match text {
        "" => "NULL".to_owned(),
        text => quoted(text),
    };
    let uuid = guid(media.set_guid);
    let _ = writeln!(
        sql,
        "SELECT @media = media_set_id FROM dbo.backupmediaset WHERE media_uuid = {uuid}
IF @media IS NULL
BEGIN
  INSERT dbo.backupmediaset VALUES ({uuid}, {}, {}, {}, N'Microsoft SQL Server', 4608, 1, 1, 0, {}, 0)
  SET @media = SCOPE_IDENTITY()
END",
        media.families.min(255),
        or_null(&media.name),
        or_null(&media.description),
        u8::from(recorded.compressed),
    );
    let block_bytes = match h.block_bytes {
        0 => 512,
        n => n,
    };
    for (i, device) in recorded.devices.iter().enumerate() {
        let number = i + 1;
        let mut family = [0; 16];
        family[..4].copy_from_slice(&media.family.to_le_bytes());
        family[4] = i as u8;
        let _ = writeln!(
            sql,
            "IF NOT EXISTS (SELECT * FROM dbo.backupmediafamily WHERE media_set_id = @media AND family_sequence_number = {number})
  INSERT dbo.backupmediafamily VALUES (@media, {number}, {}, 1, NULL, {}, 2, {block_bytes}, 0)",
            guid(family),
            quoted(device),
        );
    }
    let (days, ticks) = h.created;
    let shown = header::row(&header::Source {
        set,
        compressed: recorded.compressed,
        created: Value::DateTime(DateTime { days, ticks }),
    });
    let columns = Literals(header::COLUMNS, shown);
    let last = recorded.devices.len().max(1);
    let names: Vec<&str> = SET_COLUMNS.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = SET_COLUMNS
        .iter()
        .map(|(_, from)| columns.of(from))
        .collect();
    let _ = writeln!(
        sql,
        "SELECT @set = backup_set_id FROM dbo.backupset WHERE backup_set_uuid = {}
IF @set IS NULL
BEGIN
  INSERT dbo.backupset (media_set_id, first_family_number, first_media_number, last_family_number, last_media_number, catalog_family_number, catalog_media_number, is_password_protected, mtf_minor_version, type, {})
  VALUES (@media, 1, 1, {last}, 1, 1, 1, 0, 0, '{}', {})
  SET @set = SCOPE_IDENTITY()",
        guid(h.guid),
        names.join(", "),
        type_of(h.kind),
        values.join(", "),
    );
    for file in &h.files {
        let shown = files::row(&files::Source { header: h, file });
        let columns = Literals(files::COLUMNS, shown);
        let names: Vec<&str> = FILE_COLUMNS.iter().map(|(name, _)| *name).collect();
        let values: Vec<String> = FILE_COLUMNS
            .iter()
            .map(|(_, from)| columns.of(from))
            .collect();
        let pages = file.backup_bytes / 8192;
        let _ = writeln!(
            sql,
            "  INSERT dbo.backupfile (backup_set_id, first_family_number, first_media_number, page_size, backed_up_page_count, state, state_desc, {}) VALUES (@set, 1, 1, 8192, {pages}, 0, N'ONLINE', {})",
            names.join(", "),
            values.join(", "),
        );
    }
    sql += &rows_of_filegroups(recorded);
    sql.push_str("END\n");
    sql
}

/// Rows for the filegroups: as the database has them, where it can be asked; of another's set as far as that tells.
fn rows_of_filegroups(recorded: &RecordedSet<'_>) -> String {
    if let Some(database) = recorded.open {
        let database = database.replace(']', "]]");
        return format!(
            "  INSERT dbo.backupfilegroup SELECT @set, name, data_space_id, filegroup_guid, type, type_desc, is_default, is_read_only, NULL FROM [{database}].sys.filegroups\n"
        );
    }
    let groups = recorded.set.header.filegroups.iter();
    let rows = groups.map(|(id, name)| {
        format!(
            "  INSERT dbo.backupfilegroup VALUES (@set, {}, {id}, NULL, 'FG', N'ROWS_FILEGROUP', NULL, NULL, NULL)\n",
            quoted(name)
        )
    });
    rows.collect()
}

/// Columns of backupset, and those of RESTORE HEADERONLY that say the same.
const SET_COLUMNS: &[(&str, &str)] = &[
    ("backup_set_uuid", "BackupSetGUID"),
    ("position", "Position"),
    ("expiration_date", "ExpirationDate"),
    ("software_vendor_id", "SoftwareVendorId"),
    ("name", "BackupName"),
    ("description", "BackupDescription"),
    ("user_name", "UserName"),
    ("software_major_version", "SoftwareVersionMajor"),
    ("software_minor_version", "SoftwareVersionMinor"),
    ("software_build_version", "SoftwareVersionBuild"),
    ("first_lsn", "FirstLSN"),
    ("last_lsn", "LastLSN"),
    ("checkpoint_lsn", "CheckpointLSN"),
    ("database_backup_lsn", "DatabaseBackupLSN"),
    ("database_creation_date", "DatabaseCreationDate"),
    ("backup_start_date", "BackupStartDate"),
    ("backup_finish_date", "BackupFinishDate"),
    ("sort_order", "SortOrder"),
    ("code_page", "CodePage"),
    ("compatibility_level", "CompatibilityLevel"),
    ("database_version", "DatabaseVersion"),
    ("backup_size", "BackupSize"),
    ("database_name", "DatabaseName"),
    ("server_name", "ServerName"),
    ("machine_name", "MachineName"),
    ("flags", "Flags"),
    ("unicode_locale", "UnicodeLocaleId"),
    ("unicode_compare_style", "UnicodeComparisonStyle"),
    ("collation_name", "Collation"),
    ("recovery_model", "RecoveryModel"),
    ("has_bulk_logged_data", "HasBulkLoggedData"),
    ("is_snapshot", "IsSnapshot"),
    ("is_readonly", "IsReadOnly"),
    ("is_single_user", "IsSingleUser"),
    ("has_backup_checksums", "HasBackupChecksums"),
    ("is_damaged", "IsDamaged"),
    ("begins_log_chain", "BeginsLogChain"),
    ("has_incomplete_metadata", "HasIncompleteMetaData"),
    ("is_force_offline", "IsForceOffline"),
    ("is_copy_only", "IsCopyOnly"),
    ("first_recovery_fork_guid", "FirstRecoveryForkID"),
    ("last_recovery_fork_guid", "RecoveryForkID"),
    ("fork_point_lsn", "ForkPointLSN"),
    ("database_guid", "BindingID"),
    ("family_guid", "FamilyGUID"),
    ("differential_base_lsn", "DifferentialBaseLSN"),
    ("differential_base_guid", "DifferentialBaseGUID"),
    ("compressed_backup_size", "CompressedBackupSize"),
];

/// Columns of backupfile, and those of RESTORE FILELISTONLY that say the same.
const FILE_COLUMNS: &[(&str, &str)] = &[
    ("filegroup_name", "FileGroupName"),
    ("file_number", "FileId"),
    ("file_type", "Type"),
    ("source_file_block_size", "SourceBlockSize"),
    ("file_size", "Size"),
    ("logical_name", "LogicalName"),
    ("physical_name", "PhysicalName"),
    ("create_lsn", "CreateLSN"),
    ("drop_lsn", "DropLSN"),
    ("file_guid", "UniqueId"),
    ("read_only_lsn", "ReadOnlyLSN"),
    ("read_write_lsn", "ReadWriteLSN"),
    ("differential_base_lsn", "DifferentialBaseLSN"),
    ("differential_base_guid", "DifferentialBaseGUID"),
    ("backup_size", "BackupSizeInBytes"),
    ("is_readonly", "IsReadOnly"),
    ("is_present", "IsPresent"),
];

/// A row whose columns are asked for by name.
struct Literals(Columns, Vec<Value>);

impl Literals {
    fn of(&self, name: &str) -> String {
        let found = self.0.iter().zip(&self.1).find(|(c, _)| c.0 == name);
        found.map_or("NULL".to_owned(), |(c, v)| literal(v, &c.1))
    }
}

fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn literal(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Decimal(_)
        | Value::Bit(_)
        | Value::TinyInt(_)
        | Value::SmallInt(_)
        | Value::Int(_)
        | Value::BigInt(_) => to_display(value, ty),
        _ => quoted(&to_display(value, ty)),
    }
}

/// Runs a batch in msdb as the server itself; the first error is the result.
pub(crate) fn run(instance: &Arc<Instance>, sql: &str) -> SqlResult<()> {
    let mut sink = FirstError(None);
    instance.run_as_server("msdb", sql, &mut sink)?;
    match sink.0 {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

struct FirstError(Option<SqlError>);

impl ResultSink for FirstError {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) {}
    fn done(&mut self, _: &Done) {}
    fn error(&mut self, error: &SqlError) {
        self.0.get_or_insert_with(|| error.clone());
    }
    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_shown_by_restore() {
        for (_, from) in SET_COLUMNS {
            assert!(header::COLUMNS.iter().any(|c| c.0 == *from), "{from}");
        }
        for (_, from) in FILE_COLUMNS {
            assert!(files::COLUMNS.iter().any(|c| c.0 == *from), "{from}");
        }
        assert_eq!(quoted("it's"), "N'it''s'");
    }
}
