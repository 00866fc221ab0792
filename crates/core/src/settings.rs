//! Server settings: `sp_configure` and RECONFIGURE.
//!
//! `sp_configure` changes what is configured, RECONFIGURE makes it hold and keeps it in master: at once, or, for options
//! that are not dynamic, from the next start on. An option that nothing here follows can have its default only; any other
//! value is refused, so that nobody relies on it.
//!
//! The rows of [`list`] say what follows each.

mod list;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;

/// When a value holds that was configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    Now,
    AtStart,
    /// The option has its default.
    Never,
}

/// An option, as in `sys.configurations`.
#[derive(Debug)]
pub struct Setting {
    pub id: i32,
    pub name: &'static str,
    pub least: i64,
    pub greatest: i64,
    pub default: i64,
    pub dynamic: bool,
    pub advanced: bool,
    pub holds: Holds,
    /// What follows it here; nothing of one that can have its default only.
    pub follows: &'static str,
    pub description: &'static str,
}

/// `configuration_id` of options that are followed.
pub mod option {
    pub const RECOVERY_INTERVAL: i32 = 101;
    pub const USER_CONNECTIONS: i32 = 103;
    pub const NESTED_TRIGGERS: i32 = 115;
    pub const SHOW_ADVANCED: i32 = 518;
    pub const MEDIA_RETENTION: i32 = 1537;
    pub const COST_THRESHOLD: i32 = 1538;
    pub const MAX_PARALLELISM: i32 = 1539;
    pub const MAX_SERVER_MEMORY: i32 = 1544;
    pub const BACKUP_COMPRESSION: i32 = 1579;
    pub const DEFAULT_TRACE: i32 = 1568;
    pub const BLOCKED_THRESHOLD: i32 = 1569;
    pub const BACKUP_CHECKSUM: i32 = 1584;
}

/// What is configured and what holds, of options that have not their default.
#[derive(Debug, Default)]
pub struct Settings {
    pub(crate) configured: Mutex<BTreeMap<i32, i64>>,
    pub(crate) holding: Mutex<BTreeMap<i32, i64>>,
    pub(crate) serial: AtomicBool,
}

pub fn all() -> &'static [Setting] {
    list::ALL
}

pub(crate) fn default_of(id: i32) -> i64 {
    let found = all().iter().find(|s| s.id == id);
    found.map_or(0, |s| s.default)
}

impl Settings {
    /// `value_in_use`
    pub fn holding(&self, id: i32) -> i64 {
        let kept = self.holding.lock().get(&id).copied();
        kept.unwrap_or_else(|| default_of(id))
    }

    /// Whether `max degree of parallelism` is 1: asked by every statement.
    pub fn is_serial(&self) -> bool {
        self.serial.load(Ordering::Relaxed)
    }

    /// `value`
    pub fn configured(&self, id: i32) -> i64 {
        let kept = self.configured.lock().get(&id).copied();
        kept.unwrap_or_else(|| default_of(id))
    }

    /// The option that a name or a part of one means: 15123 for none, 15124 for several.
    pub fn find(&self, name: &str) -> SqlResult<&'static Setting> {
        let wanted = name.to_ascii_lowercase();
        let advanced = self.holding(option::SHOW_ADVANCED) != 0;
        let seen = || all().iter().filter(|s| advanced || !s.advanced);
        if let Some(found) = seen().find(|s| s.name.eq_ignore_ascii_case(&wanted)) {
            return Ok(found);
        }
        let mut parts = seen().filter(|s| s.name.to_ascii_lowercase().contains(&wanted));
        match (parts.next(), parts.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(SqlError::new(
                &messages::CONFIGURATION_OPTION_NOT_FOUND,
                &[&name],
            )),
            _ => Err(SqlError::new(
                &messages::CONFIGURATION_OPTION_NOT_UNIQUE,
                &[&name],
            )),
        }
    }

    /// `sp_configure name, value`: the option and what was configured before.
    pub fn configure(&self, name: &str, value: i64) -> SqlResult<(&'static Setting, i64)> {
        let setting = self.find(name)?;
        if !(setting.least..=setting.greatest).contains(&value) && value != setting.default {
            return Err(SqlError::new(
                &messages::CONFIGURATION_VALUE_INVALID,
                &[&value, &setting.name],
            ));
        }
        if setting.holds == Holds::Never && value != setting.default {
            let what = format!("sp_configure '{}', {value}", setting.name);
            return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
        }
        let before = self.configured(setting.id);
        self.configured.lock().insert(setting.id, value);
        Ok((setting, before))
    }
}
