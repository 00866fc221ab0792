//! What an error log begins with: who the server is and where it keeps things.

use duramen_os::machine;

use duramen_core::databases::StorageConfig;
use duramen_core::folders::shown_error_log;

const INFORMATIONAL: &str = "This is an informational message; no user action is required.";

/// At the head of every file.
pub fn lines(config: &StorageConfig) -> Vec<String> {
    let mut lines = vec![
        duramen_access::version::text(),
        "UTC adjustment: 0:00".to_owned(),
        format!("Server process ID is {}.", machine::process_id()),
    ];
    let maker = (
        machine::firmware("sys_vendor"),
        machine::firmware("product_name"),
    );
    if let (Some(maker), Some(model)) = maker {
        lines.push(format!(
            "System Manufacturer: '{maker}', System Model: '{model}'."
        ));
    }
    lines.extend([
        "Authentication mode is SQL-ONLY.".to_owned(),
        format!(
            "Logging SQL Server messages in file '{}'.",
            shown_error_log()
        ),
        format!("The data directory is '{}'.", config.data_dir.display()),
    ]);
    lines
}

/// Names of what SQL Server lists as vectorization levels, as the kernel writes them and as it does.
const VECTORS: &[(&str, &str)] = &[
    ("sse", "SSE"),
    ("sse2", "SSE2"),
    ("pni", "SSE3"),
    ("ssse3", "SSSE3"),
    ("sse4_1", "SSE41"),
    ("sse4_2", "SSE42"),
    ("avx", "AVX"),
    ("avx2", "AVX2"),
    ("popcnt", "POPCNT"),
    ("bmi1", "BMI1"),
    ("bmi2", "BMI2"),
    ("avx512f", "AVX512"),
];

/// What the processors are, and how many of them the server uses.
fn processors() -> Vec<String> {
    let used = machine::processors();
    let Some(found) = machine::processor() else {
        return vec![format!(
            "SQL Server detected {used} logical processors. {INFORMATIONAL}"
        )];
    };
    let (sockets, cores, threads) = (found.sockets, found.cores, found.threads);
    let all = sockets * threads;
    let mut lines = vec![format!(
        "SQL Server detected {sockets} sockets with {cores} cores per socket and {threads} logical processors per socket, \
         {all} total logical processors; using {used} logical processors. {INFORMATIONAL}"
    )];
    let has = |(flag, _): &&(&str, &str)| found.flags.iter().any(|f| f == flag);
    let levels: Vec<&str> = VECTORS.iter().filter(has).map(|(_, name)| *name).collect();
    if !levels.is_empty() {
        lines.push(format!(
            "CPU vectorization level(s) detected:  {}",
            levels.join(" ")
        ));
    }
    lines
}

/// At a start only.
pub fn once(config: &StorageConfig) -> Vec<String> {
    let memory = machine::memory_bytes() >> 20;
    let instant = match config.instant_file_init {
        true => "enabled",
        false => "disabled",
    };
    let mut lines = processors();
    lines.extend([
        format!("Detected {memory} MB of RAM. {INFORMATIONAL}"),
        "Default collation: SQL_Latin1_General_CP1_CI_AS (us_english 1033)".to_owned(),
        format!("Database Instant File Initialization: {instant}. {INFORMATIONAL}"),
    ]);
    lines
}
