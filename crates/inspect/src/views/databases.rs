//! `sys.databases`: a row a database.
//!
//! What Duramen does not have is shown as off (0); NULL stands where SQL Server itself has NULL for such a database.

use std::sync::Arc;

use duramen_access::database_options::model_of;
use duramen_access::database_options::option;
use duramen_access::database_options::switch;
use duramen_access::open_db::OpenDb;
use duramen_admin::backup::model_name;
use duramen_catalog::DatabaseEntry;
use duramen_core::databases::durability_of;
use duramen_core::unavailable::DatabaseState;
use duramen_program::column::*;
use duramen_txn::SnapshotState;
use duramen_types::{CollationId, SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1003, &VIEW),
];

pub struct Source {
    /// None: offline.
    db: Option<Arc<OpenDb>>,
    entry: DatabaseEntry,
    state: DatabaseState,
}

impl Source {
    fn snapshots(&self) -> SnapshotState {
        let db = self.db.as_ref();
        db.map_or(SnapshotState::Off, |d| {
            d.db.transactions.versioning.snapshot_state()
        })
    }

    fn has(&self, bits: u64) -> Value {
        bit(self.entry.options & bits != 0)
    }

    /// A switch of ALTER DATABASE SET, by its name there.
    fn switch(&self, name: &str) -> Value {
        bit(switch(self.entry.options, name).unwrap_or(false))
    }

    fn user_access(&self) -> (u8, &'static str) {
        match self.entry.options {
            o if o & option::SINGLE_USER != 0 => (1, "SINGLE_USER"),
            o if o & option::RESTRICTED_USER != 0 => (2, "RESTRICTED_USER"),
            _ => (0, "MULTI_USER"),
        }
    }

    fn reuse_reason(&self) -> Option<&'static str> {
        let db = self.db.as_ref()?;
        db.db.log().map(|l| l.reuse_reason())
    }

    /// That of a database that is not open is not known here.
    fn owner(&self) -> Value {
        let owner = self.db.as_ref().and_then(|d| d.owner().ok());
        owner.map_or(Value::Null, Value::Binary)
    }

    fn collation(&self) -> Option<&'static str> {
        CollationId(self.db.as_ref()?.db.boot().collation).name()
    }
}

/// `log_reuse_wait` of its description.
fn reuse_number(reason: &str) -> Value {
    const REASONS: &[(&str, u8)] = &[
        ("NOTHING", 0),
        ("CHECKPOINT", 1),
        ("LOG_BACKUP", 2),
        ("ACTIVE_BACKUP_OR_RESTORE", 3),
        ("ACTIVE_TRANSACTION", 4),
        ("LOG_SCAN", 8),
        ("OLDEST_PAGE", 13),
    ];
    let found = REASONS.iter().find(|(r, _)| *r == reason);
    // 14: OTHER_TRANSIENT.
    tiny(found.map_or(14, |(_, n)| *n))
}

columns! { Source;
    "name", T::SYSNAME, NOT_NULL, |d| text(&d.entry.name);
    "database_id", T::INT, NOT_NULL, |d| int(d.entry.id.0);
    "source_database_id", T::INT, NULL, |_| Value::Null;
    "owner_sid", T::varbinary(85), NULL, |d| d.owner();
    "create_date", T::DATETIME, NOT_NULL, |d| Value::DateTime(d.entry.created);
    "compatibility_level", T::TINYINT, NOT_NULL, |d| tiny(d.entry.compatibility_level);
    "collation_name", T::SYSNAME, NULL, |d| text_or_null(d.collation());
    "user_access", T::TINYINT, NULL, |d| tiny(d.user_access().0);
    "user_access_desc", DESC, NULL, |d| text(d.user_access().1);
    "is_read_only", T::BIT, NULL, |d| d.has(option::READ_ONLY);
    "is_auto_close_on", T::BIT, NOT_NULL, |_| bit(false);
    "is_auto_shrink_on", T::BIT, NULL, |_| bit(false);
    "state", T::TINYINT, NULL, |d| tiny(d.state as u8);
    "state_desc", DESC, NULL, |d| text(d.state.name());
    "is_in_standby", T::BIT, NULL, |d| d.has(option::STANDBY);
    "is_cleanly_shutdown", T::BIT, NULL, |_| bit(false);
    "is_supplemental_logging_enabled", T::BIT, NULL, |_| bit(false);
    "snapshot_isolation_state", T::TINYINT, NULL, |d| tiny(d.snapshots() as u8);
    "snapshot_isolation_state_desc", DESC, NULL, |d| text(d.snapshots().name());
    "is_read_committed_snapshot_on", T::BIT, NULL, |d| bit(d.entry.options & option::READ_COMMITTED_SNAPSHOT != 0);
    "recovery_model", T::TINYINT, NULL, |d| tiny(model_of(d.entry.options) as u8);
    "recovery_model_desc", DESC, NULL, |d| text(model_name(d.entry.options));
    "page_verify_option", T::TINYINT, NULL, |_| tiny(2);
    "page_verify_option_desc", DESC, NULL, |_| text("CHECKSUM");
    "is_auto_create_stats_on", T::BIT, NULL, |d| d.switch("AUTO_CREATE_STATISTICS");
    "is_auto_create_stats_incremental_on", T::BIT, NULL, |_| bit(false);
    "is_auto_update_stats_on", T::BIT, NULL, |d| d.switch("AUTO_UPDATE_STATISTICS");
    "is_auto_update_stats_async_on", T::BIT, NULL, |d| d.switch("AUTO_UPDATE_STATISTICS_ASYNC");
    "is_ansi_null_default_on", T::BIT, NULL, |d| d.switch("ANSI_NULL_DEFAULT");
    "is_ansi_nulls_on", T::BIT, NULL, |d| d.switch("ANSI_NULLS");
    "is_ansi_padding_on", T::BIT, NULL, |d| d.switch("ANSI_PADDING");
    "is_ansi_warnings_on", T::BIT, NULL, |d| d.switch("ANSI_WARNINGS");
    "is_arithabort_on", T::BIT, NULL, |d| d.switch("ARITHABORT");
    "is_concat_null_yields_null_on", T::BIT, NULL, |d| d.switch("CONCAT_NULL_YIELDS_NULL");
    "is_numeric_roundabort_on", T::BIT, NULL, |d| d.switch("NUMERIC_ROUNDABORT");
    "is_quoted_identifier_on", T::BIT, NULL, |d| d.switch("QUOTED_IDENTIFIER");
    "is_recursive_triggers_on", T::BIT, NULL, |_| bit(false);
    "is_cursor_close_on_commit_on", T::BIT, NULL, |d| d.switch("CURSOR_CLOSE_ON_COMMIT");
    "is_local_cursor_default", T::BIT, NULL, |_| bit(false);
    "is_fulltext_enabled", T::BIT, NULL, |_| bit(false);
    "is_trustworthy_on", T::BIT, NULL, |_| bit(false);
    "is_db_chaining_on", T::BIT, NULL, |_| bit(false);
    "is_parameterization_forced", T::BIT, NULL, |_| bit(false);
    "is_master_key_encrypted_by_server", T::BIT, NOT_NULL, |_| bit(false);
    "is_query_store_on", T::BIT, NULL, |_| bit(false);
    "is_published", T::BIT, NOT_NULL, |_| bit(false);
    "is_subscribed", T::BIT, NOT_NULL, |_| bit(false);
    "is_merge_published", T::BIT, NOT_NULL, |_| bit(false);
    "is_distributor", T::BIT, NOT_NULL, |_| bit(false);
    "is_sync_with_backup", T::BIT, NOT_NULL, |_| bit(false);
    "service_broker_guid", T::GUID, NOT_NULL, |d| Value::Guid(duramen_catalog::broker_guid(d.entry.id));
    "is_broker_enabled", T::BIT, NOT_NULL, |_| bit(false);
    "log_reuse_wait", T::TINYINT, NULL, |d| d.reuse_reason().map_or(Value::Null, reuse_number);
    "log_reuse_wait_desc", DESC, NULL, |d| text_or_null(d.reuse_reason());
    "is_date_correlation_on", T::BIT, NOT_NULL, |_| bit(false);
    "is_cdc_enabled", T::BIT, NOT_NULL, |_| bit(false);
    "is_encrypted", T::BIT, NULL, |_| bit(false);
    "is_honor_broker_priority_on", T::BIT, NULL, |_| bit(false);
    "replica_id", T::GUID, NULL, |_| Value::Null;
    "group_database_id", T::GUID, NULL, |_| Value::Null;
    "resource_pool_id", T::INT, NULL, |_| Value::Null;
    "default_language_lcid", T::SMALLINT, NULL, |_| Value::Null;
    "default_language_name", T::SYSNAME, NULL, |_| Value::Null;
    "default_fulltext_language_lcid", T::INT, NULL, |_| Value::Null;
    "default_fulltext_language_name", T::SYSNAME, NULL, |_| Value::Null;
    "is_nested_triggers_on", T::BIT, NULL, |_| Value::Null;
    "is_transform_noise_words_on", T::BIT, NULL, |_| Value::Null;
    "two_digit_year_cutoff", T::SMALLINT, NULL, |_| Value::Null;
    "containment", T::TINYINT, NULL, |_| tiny(0);
    "containment_desc", DESC, NULL, |_| text("NONE");
    "target_recovery_time_in_seconds", T::INT, NULL, |d| {
        d.db.as_ref().map_or(Value::Null, |d| int(d.db.target_recovery_time()))
    };
    "delayed_durability", T::INT, NULL, |d| int(durability_of(d.entry.options) as i32);
    "delayed_durability_desc", DESC, NULL, |d| text(durability_of(d.entry.options).name());
    "is_memory_optimized_elevate_to_snapshot_on", T::BIT, NULL, |_| bit(false);
    "is_federation_member", T::BIT, NULL, |_| bit(false);
    "is_remote_data_archive_enabled", T::BIT, NULL, |_| bit(false);
    "is_mixed_page_allocation_on", T::BIT, NULL, |_| bit(false);
    "is_temporal_history_retention_enabled", T::BIT, NULL, |_| bit(false);
    "catalog_collation_type", T::INT, NOT_NULL, |_| int(0);
    "catalog_collation_type_desc", DESC, NULL, |_| text("DATABASE_DEFAULT");
    "physical_database_name", T::SYSNAME, NULL, |d| text(&d.entry.name);
    "is_result_set_caching_on", T::BIT, NULL, |_| bit(false);
    "is_accelerated_database_recovery_on", T::BIT, NULL, |_| bit(false);
    "is_tempdb_spill_to_remote_store", T::BIT, NULL, |_| bit(false);
    "is_stale_page_detection_on", T::BIT, NULL, |_| bit(false);
    "is_memory_optimized_enabled", T::BIT, NULL, |_| bit(false);
    "is_data_retention_enabled", T::BIT, NULL, |_| bit(false);
    "is_ledger_on", T::BIT, NULL, |_| bit(false);
    "is_change_feed_enabled", T::BIT, NULL, |_| bit(false);
}

pub const VIEW: View = View::new("databases", VISIBLE, COLUMNS, |cx, _| {
    let databases = &cx.instance.databases;
    let all = databases.listed();
    let source = |(entry, db): (DatabaseEntry, Option<Arc<OpenDb>>)| {
        let state = databases.state(entry.id);
        row(&Source { db, entry, state })
    };
    Ok(all.into_iter().map(source).collect())
});
