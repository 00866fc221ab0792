//! What an error log begins with: who the server is and where it keeps things.

use duramen_os::machine;

use super::file::NAME;
use crate::databases::StorageConfig;
use crate::xe::file::LOG_FOLDER;

const INFORMATIONAL: &str = "This is an informational message; no user action is required.";

/// The log's name as scripts see it.
pub(crate) fn shown_name() -> String {
    format!("{LOG_FOLDER}{NAME}")
}

/// At the head of every file.
pub fn lines(config: &StorageConfig) -> Vec<String> {
    vec![
        crate::version::text(),
        "UTC adjustment: 0:00".to_owned(),
        format!("Server process ID is {}.", machine::process_id()),
        "Authentication mode is SQL-ONLY.".to_owned(),
        format!("Logging SQL Server messages in file '{}'.", shown_name()),
        format!("The data directory is '{}'.", config.data_dir.display()),
    ]
}

/// At a start only.
pub fn once(config: &StorageConfig) -> Vec<String> {
    let processors = machine::processors();
    let memory = machine::memory_bytes() >> 20;
    let instant = match config.instant_file_init {
        true => "enabled",
        false => "disabled",
    };
    vec![
        format!("SQL Server detected {processors} logical processors. {INFORMATIONAL}"),
        format!("Detected {memory} MB of RAM. {INFORMATIONAL}"),
        "Default collation: SQL_Latin1_General_CP1_CI_AS (us_english 1033)".to_owned(),
        format!("Database Instant File Initialization: {instant}. {INFORMATIONAL}"),
    ]
}
