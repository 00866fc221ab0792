//! Looks at the server while it works: one small query ten times a second on a connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::progress::Live;
use crate::record::Samples;
use crate::sql::{Sql, number, quoted, string};

/// The time between two looks.
pub const EVERY: Duration = Duration::from_millis(100);

/// Columns and the counters they come from; the database's own where there is an instance of its name, else the
/// server's. `Log Flush Wait Time` is in ms.
const COUNTERS: [(&str, &str); 9] = [
    ("log_bytes_flushed", "Log Bytes Flushed/sec"),
    ("log_flushes", "Log Flushes/sec"),
    ("log_flush_wait_ms", "Log Flush Wait Time"),
    ("log_growths", "Log Growths"),
    ("transactions", "Transactions/sec"),
    ("checkpoint_pages", "Checkpoint pages/sec"),
    ("background_writer_pages", "Background writer pages/sec"),
    ("lazy_writes", "Lazy writes/sec"),
    ("pages_allocated", "Pages Allocated/sec"),
];

/// Columns of sys.dm_io_virtual_file_stats, added up over the database's files.
const FILES: [(&str, &str); 4] = [
    ("writes", "num_of_writes"),
    ("bytes_written", "num_of_bytes_written"),
    ("write_stall_ms", "io_stall_write_ms"),
    ("file_bytes", "size_on_disk_bytes"),
];

pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Samples, String>>,
}

impl Sampler {
    /// Begins to look; times are counted from now.
    pub fn start(mut sql: Sql, database: &str, live: Live) -> Sampler {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let text = query(database);
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            let mut samples = Samples {
                columns: columns(),
                rows: Vec::new(),
            };
            let mut next = began;
            loop {
                let last = stopped.load(Ordering::SeqCst);
                let row = look(&mut sql, &text, began)?;
                live.sampled(&samples, &row);
                samples.rows.push(row);
                if last {
                    return Ok(samples);
                }
                next = (next + EVERY).max(Instant::now());
                while Instant::now() < next && !stopped.load(Ordering::SeqCst) {
                    std::thread::sleep((next - Instant::now()).min(Duration::from_millis(10)));
                }
            }
        });
        Sampler { stop, thread }
    }

    /// Looks once more and gives all that was seen.
    pub fn stop(self) -> Result<Samples, String> {
        self.stop.store(true, Ordering::SeqCst);
        match self.thread.join() {
            Ok(samples) => samples,
            Err(_) => Err("the sampler ended".to_owned()),
        }
    }
}

fn columns() -> Vec<String> {
    let names = COUNTERS.iter().chain(&FILES).map(|c| c.0.to_owned());
    std::iter::once("seconds".to_owned()).chain(names).collect()
}

fn query(database: &str) -> String {
    let name = quoted(database);
    let counters: Vec<String> = COUNTERS.iter().map(|c| format!("'{}'", c.1)).collect();
    let files: Vec<String> = FILES
        .iter()
        .map(|c| format!("SUM(CONVERT(float, {}))", c.1))
        .collect();
    format!(
        "SELECT counter_name, cntr_value FROM sys.dm_os_performance_counters WHERE instance_name IN ({name}, '') AND counter_name IN ({}); \
         SELECT {} FROM sys.dm_io_virtual_file_stats(DB_ID({name}), NULL)",
        counters.join(", "),
        files.join(", ")
    )
}

fn look(sql: &mut Sql, text: &str, began: Instant) -> Result<Vec<f64>, String> {
    let sets = sql.query(text)?;
    let mut row = vec![began.elapsed().as_secs_f64()];
    let counters = sets.first().map_or(&[][..], |s| &s.rows);
    for (_, counter) in COUNTERS {
        let values = counters
            .iter()
            .filter(|r| string(&r[0]) == counter)
            .map(|r| number(&r[1]));
        row.push(values.sum());
    }
    let files = sets.get(1).and_then(|s| s.rows.first());
    for n in 0..FILES.len() {
        row.push(files.map_or(0.0, |r| number(&r[n])));
    }
    Ok(row)
}
