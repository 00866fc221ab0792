//! The log alone, in process: append, group commit, bandwidth, each beside what the disk did a moment before. The measuring is
//! done by an example of the log's crate (`crates/wal/examples/log_speed.rs`), which prints rows of a table.

use std::path::Path;
use std::process::Command;

use crate::target_dir;

pub fn is_wanted(only: Option<&str>) -> bool {
    only.is_none_or(|o| o == "log")
}

pub fn figures(dir: &Path) -> Result<String, String> {
    let program = target_dir()
        .join("release")
        .join("examples")
        .join("log_speed");
    let rows = crate::sql::finish(Command::new(program).arg(dir))?;
    println!("{rows}");
    Ok(format!(
        "| log alone | figure | target |\n|---|---|---|\n{rows}"
    ))
}
