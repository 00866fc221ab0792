//! The machine that ran the trials, in words a reader can compare.

use std::path::Path;
use std::process::Command;

use crate::record::Machine;

pub fn machine() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cpu = read("/proc/cpuinfo");
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let kb = memory.and_then(|m| m.split(' ').next()?.parse::<u64>().ok());
    Machine {
        system: format!(
            "{} {} {}",
            std::env::consts::OS,
            read("/proc/sys/kernel/osrelease").trim(),
            std::env::consts::ARCH
        ),
        processor: field(&cpu, "model name").unwrap_or_else(|| "unknown".to_owned()),
        processors: std::thread::available_parallelism().map_or(1, |n| n.get()),
        memory_mb: kb.unwrap_or(0) / 1024,
    }
}

/// The space that is free below a directory, in bytes; `None` where `df` cannot say.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let out = Command::new("df")
        .args(["-P", "-k"])
        .arg(dir)
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let kb: u64 = text
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    Some(kb * 1024)
}
