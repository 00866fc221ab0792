//! The machine that ran the trials, in words a reader can compare.

use std::path::Path;

use duramen_os::{Env, machine as here};

use crate::record::Machine;

pub fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cpu = read("/proc/cpuinfo");
    Machine {
        system: format!(
            "{} {} {}",
            std::env::consts::OS,
            read("/proc/sys/kernel/osrelease").trim(),
            std::env::consts::ARCH
        ),
        processor: field(&cpu, "model name").unwrap_or_else(|| "unknown".to_owned()),
        processors: duramen_os::thread::available_parallelism(),
        memory_mb: here::memory_bytes() >> 20,
    }
}

/// The space that is free below a directory, in bytes; `None` where the system cannot say.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    Env::real().disk.free_space(dir).ok()
}
