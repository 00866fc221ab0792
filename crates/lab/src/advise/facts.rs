//! What is looked at: files and their growth, VLFs, log reuse, waits, latencies, growths so far.

use crate::measure::is_idle;
use crate::sql::{number, string};
use crate::target::Target;

/// A server's state as far as its logs are concerned.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// 16 for 2022.
    pub major: u32,
    pub ours: bool,
    pub instant_file_init: Option<bool>,
    pub databases: Vec<Database>,
    /// All waits that are not idle ones: type and ms.
    pub waits: Vec<(String, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Database {
    pub name: String,
    pub recovery_model: String,
    pub log_reuse_wait: String,
    pub target_recovery_s: f64,
    pub vlfs: f64,
    pub log_used_percent: f64,
    pub log_growths: f64,
    pub files: Vec<File>,
}

#[derive(Clone, Debug, Default)]
pub struct File {
    pub name: String,
    pub is_log: bool,
    pub size_mb: f64,
    /// Percent when `percent`, else MB; 0: it never grows.
    pub growth: f64,
    pub percent: bool,
    pub writes: f64,
    pub write_stall_ms: f64,
}

impl Facts {
    /// The share of a wait type in all of them, 0 to 1.
    pub fn wait_share(&self, kind: &str) -> f64 {
        let all: f64 = self.waits.iter().map(|w| w.1).sum();
        let one = self.waits.iter().find(|w| w.0 == kind);
        one.map_or(0.0, |w| w.1 / all.max(1e-9))
    }

    pub fn wait_s(&self, kind: &str) -> f64 {
        let one = self.waits.iter().find(|w| w.0 == kind);
        one.map_or(0.0, |w| w.1 / 1000.0)
    }
}

pub fn read(target: &Target) -> Result<Facts, String> {
    let mut sql = target.connect("master")?;
    let mut facts = Facts {
        major: target.about.major,
        ours: target.about.ours,
        instant_file_init: target.about.instant_file_init,
        ..Facts::default()
    };
    let sets = sql.query(
        "SELECT d.name, d.recovery_model_desc, d.log_reuse_wait_desc, ISNULL(d.target_recovery_time_in_seconds, 0),
                (SELECT COUNT(*) FROM sys.dm_db_log_info(d.database_id)),
                (SELECT SUM(CONVERT(float, c.cntr_value)) FROM sys.dm_os_performance_counters AS c
                 WHERE c.counter_name = 'Percent Log Used' AND c.instance_name = d.name),
                (SELECT SUM(CONVERT(float, c.cntr_value)) FROM sys.dm_os_performance_counters AS c
                 WHERE c.counter_name = 'Log Growths' AND c.instance_name = d.name)
         FROM sys.databases AS d WHERE d.state = 0 AND d.database_id > 4 ORDER BY d.database_id;
         SELECT DB_NAME(f.database_id), f.name, f.type, f.size / 128.0, CONVERT(float, f.growth), f.is_percent_growth,
                CONVERT(float, s.num_of_writes), CONVERT(float, s.io_stall_write_ms)
         FROM sys.master_files AS f
         LEFT JOIN sys.dm_io_virtual_file_stats(NULL, NULL) AS s ON s.database_id = f.database_id AND s.file_id = f.file_id
         WHERE f.database_id > 4 AND f.type IN (0, 1);
         SELECT wait_type, CONVERT(float, wait_time_ms) FROM sys.dm_os_wait_stats WHERE wait_time_ms > 0",
    )?;
    let [databases, files, waits] = sets.as_slice() else {
        return Err("three result sets were expected".to_owned());
    };
    for row in &databases.rows {
        facts.databases.push(Database {
            name: string(&row[0]),
            recovery_model: string(&row[1]),
            log_reuse_wait: string(&row[2]),
            target_recovery_s: number(&row[3]),
            vlfs: number(&row[4]),
            log_used_percent: number(&row[5]),
            log_growths: number(&row[6]),
            files: Vec::new(),
        });
    }
    for row in &files.rows {
        let name = string(&row[0]);
        let Some(database) = facts.databases.iter_mut().find(|d| d.name == name) else {
            continue;
        };
        let percent = number(&row[5]) != 0.0;
        let growth = number(&row[4]);
        database.files.push(File {
            name: string(&row[1]),
            is_log: number(&row[2]) == 1.0,
            size_mb: number(&row[3]),
            // In pages unless in percent.
            growth: if percent { growth } else { growth / 128.0 },
            percent,
            writes: number(&row[6]),
            write_stall_ms: number(&row[7]),
        });
    }
    let wait = |row: &Vec<_>| (string(&row[0]), number(&row[1]));
    let all = waits.rows.iter().map(wait);
    facts.waits = all.filter(|(kind, _)| !is_idle(kind)).collect();
    Ok(facts)
}
