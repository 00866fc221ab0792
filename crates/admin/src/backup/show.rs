//! What RESTORE HEADERONLY, FILELISTONLY and LABELONLY show, column by column.
//! <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-headeronly-transact-sql>

use duramen_backup::BackupSet;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::databases::media::time;
use duramen_program::column::*;
use duramen_program::sink::Columns;
use duramen_query::Row;
use duramen_tsql::ast::RestoreKind;
use duramen_types::{DateTime, Decimal, SqlType as T, Value};

use super::{Statement, known};
use crate::database_ddl::Admin;

const NAME: T = T::nvarchar(128);
const SIZE: T = T::numeric(20, 0);

fn size(n: u64) -> Value {
    Decimal::new(i128::from(n), 20, 0).map_or(Value::Null, Value::Decimal)
}

fn guid(g: [u8; 16]) -> Value {
    Value::Guid(g)
}

fn name_or_null(name: &str) -> Value {
    match name {
        "" => Value::Null,
        name => text(name),
    }
}

impl Admin<'_> {
    /// RESTORE HEADERONLY, FILELISTONLY and LABELONLY.
    pub fn show_backup(
        &mut self,
        kind: RestoreKind,
        stmt: &Statement,
    ) -> SqlResult<(Columns, Vec<Row>)> {
        let what = match kind {
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::FileListOnly => "RESTORE FILELIST",
            _ => "RESTORE LABELONLY",
        };
        let mut table = None;
        let result = self.show_checked(kind, what, stmt).map(|t| table = Some(t));
        self.with_3013(result, what)?;
        Ok(table.unwrap_or((label::COLUMNS, Vec::new())))
    }

    fn show_checked(
        &mut self,
        kind: RestoreKind,
        what: &str,
        stmt: &Statement,
    ) -> SqlResult<(Columns, Vec<Row>)> {
        let on = match kind {
            RestoreKind::HeaderOnly => known::HEADER,
            RestoreKind::FileListOnly => known::FILELIST,
            _ => known::LABEL,
        };
        stmt.options.check(what, known::RESTORE_OPTIONS, on)?;
        let medium = self.instance().databases.open_media(&stmt.devices)?;
        stmt.may_read(&medium)?;
        let (media, compressed) = (&medium.media, medium.compressed);
        if kind == RestoreKind::LabelOnly {
            let row = label::row(&label::Source { media, compressed });
            return Ok((label::COLUMNS, vec![row]));
        }
        let file = stmt.options.int("FILE");
        let asked = |s: &&BackupSet| file.is_none_or(|n| i64::from(s.position) == n);
        let mut sets = medium.sets.iter().filter(asked).peekable();
        if sets.peek().is_none() {
            let args: [&dyn std::fmt::Display; 2] = [&file.unwrap_or(1), &medium.shown];
            return Err(SqlError::new(&messages::BACKUP_FILE_MISSING, &args));
        }
        if kind == RestoreKind::HeaderOnly {
            let rows = sets.map(|set| {
                let (days, ticks) = set.header.created;
                let created = match set.header.own {
                    true => Value::DateTime(DateTime { days, ticks }),
                    false => Value::Null,
                };
                header::row(&header::Source {
                    set,
                    compressed,
                    created,
                })
            });
            return Ok((header::COLUMNS, rows.collect()));
        }
        // Without FILE it is the first set.
        let header = sets.next().map(|s| &s.header);
        let files = header.iter().flat_map(|h| &h.files);
        let rows = files.filter_map(|file| {
            let header = header?;
            Some(files::row(&files::Source { header, file }))
        });
        Ok((files::COLUMNS, rows.collect()))
    }
}

/// A row per set.
pub mod header {
    use duramen_backup::{BackupSet, SetKind};
    use duramen_types::CollationId;

    use super::*;

    pub struct Source<'a> {
        pub set: &'a BackupSet,
        pub compressed: bool,
        /// From master's row; NULL in sets of other programs.
        pub created: Value,
    }

    impl Source<'_> {
        fn is_damaged(&self) -> bool {
            !self.set.complete || self.set.header.damaged
        }

        /// The bits that the documentation names.
        fn flags(&self) -> i64 {
            let h = &self.set.header;
            i64::from(h.bulk_logged)
                | i64::from(h.checksums) << 4
                | i64::from(self.is_damaged()) << 5
                | i64::from(h.begins_log_chain) << 6
                | i64::from(h.incomplete) << 7
                | i64::from(h.copy_only) << 9
        }
    }

    columns! { Source<'_>;
        "BackupName", NAME, NULL, |s| name_or_null(&s.set.header.name);
        "BackupDescription", T::nvarchar(255), NULL, |s| name_or_null(&s.set.header.description);
        "BackupType", T::SMALLINT, NULL, |s| small(s.set.header.kind.number());
        "ExpirationDate", T::DATETIME, NULL, |s| time(s.set.header.expires);
        "Compressed", T::BIT, NULL, |s| bit(s.compressed);
        "Position", T::SMALLINT, NULL, |s| small(s.set.position);
        "DeviceType", T::TINYINT, NULL, |_| tiny(2);
        "UserName", NAME, NULL, |s| text(&s.set.header.user);
        "ServerName", NAME, NULL, |s| text(&s.set.header.server);
        "DatabaseName", NAME, NULL, |s| text(&s.set.header.database);
        "DatabaseVersion", T::INT, NULL, |s| int(s.set.header.version);
        "DatabaseCreationDate", T::DATETIME, NULL, |s| s.created.clone();
        "BackupSize", SIZE, NULL, |s| size(s.set.header.size);
        "FirstLSN", LSN, NULL, |s| lsn_number(s.set.header.first_lsn);
        "LastLSN", LSN, NULL, |s| lsn_number(s.set.header.last_lsn);
        "CheckpointLSN", LSN, NULL, |s| lsn_number(s.set.header.checkpoint_lsn);
        "DatabaseBackupLSN", LSN, NULL, |s| lsn_number(s.set.header.database_backup_lsn);
        "BackupStartDate", T::DATETIME, NULL, |s| time(s.set.header.started);
        "BackupFinishDate", T::DATETIME, NULL, |s| time(s.set.header.finished);
        "SortOrder", T::SMALLINT, NULL, |_| small(52);
        "CodePage", T::SMALLINT, NULL, |_| small(0);
        "UnicodeLocaleId", T::INT, NULL, |_| int(1033);
        "UnicodeComparisonStyle", T::INT, NULL, |_| int(196_609);
        "CompatibilityLevel", T::TINYINT, NULL, |s| tiny(s.set.header.compatibility_level);
        "SoftwareVendorId", T::INT, NULL, |_| int(4608);
        "SoftwareVersionMajor", T::INT, NULL, |s| int(s.set.header.product.0);
        "SoftwareVersionMinor", T::INT, NULL, |s| int(s.set.header.product.1);
        "SoftwareVersionBuild", T::INT, NULL, |s| int(s.set.header.product.2);
        "MachineName", NAME, NULL, |s| text(&s.set.header.server);
        "Flags", T::INT, NULL, |s| int(s.flags());
        "BindingID", T::GUID, NULL, |s| guid(s.set.header.family);
        "RecoveryForkID", T::GUID, NULL, |s| guid(s.set.header.fork);
        "Collation", NAME, NULL, |s| {
            let name = CollationId(s.set.header.collation).name();
            text_or_null(name.filter(|_| s.set.header.own))
        };
        "FamilyGUID", T::GUID, NULL, |s| guid(s.set.header.fork);
        "HasBulkLoggedData", T::BIT, NULL, |s| bit(s.set.header.bulk_logged);
        "IsSnapshot", T::BIT, NULL, |_| bit(false);
        "IsReadOnly", T::BIT, NULL, |_| bit(false);
        "IsSingleUser", T::BIT, NULL, |_| bit(false);
        "HasBackupChecksums", T::BIT, NULL, |s| bit(s.set.header.checksums);
        "IsDamaged", T::BIT, NULL, |s| bit(s.is_damaged());
        "BeginsLogChain", T::BIT, NULL, |s| bit(s.set.header.begins_log_chain);
        "HasIncompleteMetaData", T::BIT, NULL, |s| bit(s.set.header.incomplete);
        "IsForceOffline", T::BIT, NULL, |_| bit(false);
        "IsCopyOnly", T::BIT, NULL, |s| bit(s.set.header.copy_only);
        "FirstRecoveryForkID", T::GUID, NULL, |s| guid(s.set.header.fork);
        "ForkPointLSN", LSN, NULL, |_| Value::Null;
        "RecoveryModel", DESC, NULL, |s| text_or_null(match s.set.header.recovery_model {
            1 => Some("FULL"),
            2 => Some("BULK-LOGGED"),
            3 => Some("SIMPLE"),
            _ => None,
        });
        "DifferentialBaseLSN", LSN, NULL, |s| match s.set.header.kind {
            SetKind::Differential => lsn_number(s.set.header.differential_base_lsn),
            _ => Value::Null,
        };
        "DifferentialBaseGUID", T::GUID, NULL, |s| match s.set.header.kind {
            SetKind::Differential => guid(s.set.header.differential_base),
            _ => Value::Null,
        };
        "BackupTypeDescription", DESC, NULL, |s| text(match s.set.header.kind {
            SetKind::Database => "DATABASE",
            SetKind::Log => "TRANSACTION LOG",
            SetKind::Differential => "DATABASE DIFFERENTIAL",
        });
        "BackupSetGUID", T::GUID, NULL, |s| guid(s.set.header.guid);
        "CompressedBackupSize", T::BIGINT, NULL, |s| big(match s.compressed && s.set.stored > 0 {
            true => s.set.stored,
            false => s.set.header.size,
        });
        "Containment", T::TINYINT, NULL, |_| tiny(0);
        "KeyAlgorithm", T::nvarchar(32), NULL, |_| Value::Null;
        "EncryptorThumbprint", T::varbinary(20), NULL, |_| Value::Null;
        "EncryptorType", T::nvarchar(32), NULL, |_| Value::Null;
        "LastValidRestoreTime", T::DATETIME, NULL, |_| Value::Null;
        "TimeZone", T::nvarchar(32), NULL, |_| Value::Null;
        "CompressionAlgorithm", T::nvarchar(32), NULL, |s| {
            text_or_null(s.compressed.then_some("MS_XPRESS"))
        };
    }
}

/// A row per file of a set.
pub mod files {
    use duramen_backup::{SetFile, SetHeader};

    use super::*;

    pub struct Source<'a> {
        pub header: &'a SetHeader,
        pub file: &'a SetFile,
    }

    columns! { Source<'_>;
        "LogicalName", NAME, NULL, |s| text(&s.file.logical_name);
        "PhysicalName", T::nvarchar(260), NULL, |s| text(&s.file.path);
        "Type", T::char(1), NULL, |s| {
            Value::VarChar(if s.file.is_log { b"L" } else { b"D" }.as_slice().into())
        };
        "FileGroupName", NAME, NULL, |s| {
            let groups = &s.header.filegroups;
            let group = groups.iter().find(|g| g.0 == s.file.filegroup && !s.file.is_log);
            text_or_null(group.map(|g| g.1.as_str()))
        };
        "Size", SIZE, NULL, |s| size(s.file.size);
        "MaxSize", SIZE, NULL, |s| size(match (s.file.max_size, s.file.is_log) {
            (Some(max), _) => max,
            (None, true) => 2 << 40,
            (None, false) => 35_184_372_080_640,
        });
        "FileId", T::BIGINT, NULL, |s| big(u64::from(s.file.id));
        "CreateLSN", LSN, NULL, |s| lsn_number(s.file.create_lsn);
        "DropLSN", LSN, NULL, |_| size(0);
        "UniqueId", T::GUID, NULL, |s| match s.file.guid {
            g if g == [0; 16] => Value::Null,
            g => guid(g),
        };
        "ReadOnlyLSN", LSN, NULL, |_| size(0);
        "ReadWriteLSN", LSN, NULL, |_| size(0);
        "BackupSizeInBytes", T::BIGINT, NULL, |s| big(s.file.backup_bytes);
        "SourceBlockSize", T::INT, NULL, |_| int(512);
        "FileGroupId", T::INT, NULL, |s| int(s.file.filegroup);
        "LogGroupGUID", T::GUID, NULL, |_| Value::Null;
        "DifferentialBaseLSN", LSN, NULL, |s| lsn_number(s.header.differential_base_lsn);
        "DifferentialBaseGUID", T::GUID, NULL, |s| guid(s.header.differential_base);
        "IsReadOnly", T::BIT, NULL, |_| bit(false);
        "IsPresent", T::BIT, NULL, |_| bit(true);
        "TDEThumbprint", T::varbinary(32), NULL, |_| Value::Null;
        "SnapshotUrl", T::nvarchar(360), NULL, |_| Value::Null;
    }
}

/// One row about the medium.
pub mod label {
    use duramen_backup::Media;

    use super::*;

    pub struct Source<'a> {
        pub media: &'a Media,
        pub compressed: bool,
    }

    /// The family's number in the form of a GUID.
    fn family(media: &Media) -> Value {
        let mut g = [0; 16];
        g[..4].copy_from_slice(&media.family.to_le_bytes());
        guid(g)
    }

    columns! { Source<'_>;
        "MediaName", NAME, NULL, |s| name_or_null(&s.media.name);
        "MediaSetId", T::GUID, NULL, |s| guid(s.media.set_guid);
        "FamilyCount", T::INT, NULL, |s| int(s.media.families);
        "FamilySequenceNumber", T::INT, NULL, |s| int(s.media.number);
        "MediaFamilyId", T::GUID, NULL, |s| family(s.media);
        "MediaSequenceNumber", T::INT, NULL, |_| int(1);
        "MediaLabelPresent", T::TINYINT, NULL, |_| tiny(0);
        "MediaDescription", T::nvarchar(255), NULL, |s| name_or_null(&s.media.description);
        "SoftwareName", NAME, NULL, |s| text(&s.media.software);
        "SoftwareVendorId", T::INT, NULL, |_| int(4608);
        "MediaDate", T::DATETIME, NULL, |s| time(s.media.written);
        "MirrorCount", T::INT, NULL, |_| int(1);
        "IsCompressed", T::BIT, NULL, |s| bit(s.compressed);
    }
}
