//! How much CPU others used while something was measured, from `/proc`: what all processors did, less what this process,
//! its clients and the server did.

use std::time::Instant;

/// Ticks of `/proc` in a second.
const TICKS: f64 = 100.0;

pub struct Noise {
    server: u32,
    start: Instant,
    busy: f64,
    own: f64,
}

impl Noise {
    pub fn start(server: u32) -> Noise {
        Noise {
            server,
            start: Instant::now(),
            busy: busy(),
            own: own(server),
        }
    }

    /// Percent of one core since the start.
    pub fn foreign(&self) -> f64 {
        let busy = busy() - self.busy;
        let own = own(self.server) - self.own;
        ((busy - own) / TICKS / self.start.elapsed().as_secs_f64() * 100.0).max(0.0)
    }
}

/// user, nice, system, irq, softirq of all processors.
fn busy() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let n: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|f| f.parse().ok())
        .collect();
    [0, 1, 2, 5, 6].iter().filter_map(|i| n.get(*i)).sum()
}

/// This process, the server, and the children of both, those that have ended included.
fn own(server: u32) -> f64 {
    let me = std::process::id();
    let mut sum = 0.0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // Behind the name, which may hold anything: state, ppid, ..., utime, stime, cutime, cstime.
        let Some((_, rest)) = stat.rsplit_once(')') else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let parent = fields.get(1).and_then(|f| f.parse::<u32>().ok());
        let ours = [me, server];
        if ours.contains(&pid) || parent.is_some_and(|p| ours.contains(&p)) {
            let ticks = fields.iter().skip(11).take(4);
            sum += ticks.filter_map(|f| f.parse::<f64>().ok()).sum::<f64>();
        }
    }
    sum
}
