//! What follows the server's settings when they are read at the start, and at RECONFIGURE.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, SqlResult, messages};

use crate::instance_core::InstanceCore;
use crate::settings::{Holds, all, default_of, option};

/// Above so many minutes RECONFIGURE wants to be told twice.
const LONGEST_RECOVERY_MINUTES: i64 = 60;

impl InstanceCore {
    /// Settings that were kept hold from now on.
    pub fn load_settings(&self) -> SqlResult<()> {
        let kept = self.databases.master()?.catalog.settings()?;
        let known = kept
            .into_iter()
            .filter(|(id, _)| all().iter().any(|s| s.id == *id && s.holds != Holds::Never));
        let known: BTreeMap<i32, i64> = known.collect();
        self.settings.configured.lock().clone_from(&known);
        *self.settings.holding.lock() = known;
        self.follow_settings();
        Ok(())
    }

    /// RECONFIGURE: 5807 for a recovery interval that is too long without `with_override`.
    pub fn keep_settings(&self, with_override: bool) -> SqlResult<()> {
        let configured = self.settings.configured.lock().clone();
        let minutes = configured.get(&option::RECOVERY_INTERVAL);
        if minutes.is_some_and(|m| *m > LONGEST_RECOVERY_MINUTES) && !with_override {
            return Err(SqlError::new(
                &messages::RECOVERY_INTERVAL_TOO_LONG,
                &[&LONGEST_RECOVERY_MINUTES],
            ));
        }
        let kept: Vec<(i32, i64)> = configured
            .iter()
            .filter(|(id, value)| default_of(**id) != **value)
            .map(|(id, value)| (*id, *value))
            .collect();
        self.databases.master()?.catalog.put_settings(&kept)?;
        let now = |id: &i32| all().iter().any(|s| s.id == *id && s.holds == Holds::Now);
        let mut holding = self.settings.holding.lock();
        for (id, value) in configured.iter().filter(|(id, _)| now(id)) {
            holding.insert(*id, *value);
        }
        drop(holding);
        self.follow_settings();
        Ok(())
    }

    fn follow_settings(&self) {
        let serial = self.settings.holding(option::MAX_PARALLELISM) == 1;
        self.settings.serial.store(serial, Ordering::Relaxed);
        let minutes = self.settings.holding(option::RECOVERY_INTERVAL);
        let engine = &self.databases.engine;
        engine.set_recovery_interval(u32::try_from(minutes).unwrap_or(0));
        let blocked = u64::try_from(self.settings.holding(option::BLOCKED_THRESHOLD));
        let blocked = blocked.ok().filter(|seconds| *seconds > 0);
        self.locks
            .set_blocked_threshold(blocked.map(std::time::Duration::from_secs));
        let asked = self.settings.holding(option::MAX_SERVER_MEMORY);
        let asked = u64::try_from(asked)
            .unwrap_or(u64::MAX)
            .saturating_mul(1 << 20);
        let memory = asked.min(self.databases.config.memory);
        engine.set_memory_limit(memory);
        let rows = crate::startup::workspace_bytes(memory);
        self.workspace
            .set_limit(usize::try_from(rows).unwrap_or(usize::MAX));
    }
}
