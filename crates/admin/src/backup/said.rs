//! What backups and restores write into the error log, in SQL Server's words.

use std::fmt::Display;

use duramen_backup::{SetHeader, SetKind};
use duramen_base::{Lsn, SqlError, messages};
use duramen_core::trace_flags::NO_BACKUP_LINES;
use duramen_types::temporal::ymd_from_days;

use crate::database_ddl::Admin;

/// Days from 0001-01-01 to 1900-01-01.
const EPOCH_1900: i32 = 693_595;

/// `(FILE=1, TYPE=DISK: {'C:\a.bak', 'C:\b.bak'})`, without the parentheses.
fn devices(position: u32, devices: &[String]) -> String {
    let named: Vec<String> = devices.iter().map(|d| format!("'{d}'")).collect();
    format!("FILE={position}, TYPE=DISK: {{{}}}", named.join(", "))
}

/// `37:288:1`
fn lsn(lsn: Lsn) -> String {
    format!("{}:{}:{}", lsn.vlf, lsn.block, lsn.slot)
}

/// `2026/11/22` and `12:00:00`
fn created((days, ticks): (i32, u32)) -> (String, String) {
    let (year, month, day) = ymd_from_days(EPOCH_1900 + days);
    let seconds = ticks / 300;
    (
        format!("{year:04}/{month:02}/{day:02}"),
        format!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    )
}

impl Admin<'_> {
    fn log_backup(&self, message: &'static messages::Message, args: &[&dyn Display]) {
        let text = SqlError::new(message, args).message;
        self.instance().error_log.say("Backup", &text);
    }

    /// A backup that was taken: 18264, 18265 or 18270. Trace flag 3226 keeps it back.
    pub(crate) fn log_backed(&self, header: &SetHeader, pages: u64, position: u32, to: &[String]) {
        if self.session().has_trace_flag(NO_BACKUP_LINES) {
            return;
        }
        let (date, time) = created(header.created);
        let (first, last) = (lsn(header.first_lsn), lsn(header.last_lsn));
        let (count, to) = (to.len(), devices(position, to));
        let name = &header.database;
        match header.kind {
            SetKind::Database => self.log_backup(
                &messages::DATABASE_BACKED_UP,
                &[name, &date, &time, &pages, &first, &last, &count, &to],
            ),
            SetKind::Differential => {
                let full = lsn(header.differential_base_lsn);
                self.log_backup(
                    &messages::DIFFERENTIAL_BACKED_UP,
                    &[
                        name, &date, &time, &pages, &first, &last, &full, &count, &to,
                    ],
                );
            }
            SetKind::Log => self.log_backup(
                &messages::LOG_BACKED_UP,
                &[name, &date, &time, &first, &last, &count, &to],
            ),
        }
    }

    /// A set that was restored: 18267, 18268 or 18271.
    pub(crate) fn log_restored(
        &self,
        database: &str,
        header: &SetHeader,
        position: u32,
        from: &[String],
    ) {
        let (date, time) = created(header.created);
        let (first, last) = (lsn(header.first_lsn), lsn(header.last_lsn));
        let (count, from) = (from.len(), devices(position, from));
        let message = match header.kind {
            SetKind::Database => &messages::DATABASE_RESTORED,
            SetKind::Differential => &messages::DIFFERENTIAL_RESTORED,
            SetKind::Log => &messages::LOG_RESTORED,
        };
        let args: [&dyn Display; 7] = [&database, &date, &time, &first, &last, &count, &from];
        self.log_backup(message, &args);
    }

    /// 4356
    pub(crate) fn log_restore_complete(&self, database: &str) {
        self.log_backup(&messages::RESTORE_COMPLETE, &[&database]);
    }

    /// 3041
    pub(crate) fn log_backup_failed(&self, command: &str, database: &str) {
        let command = format!("{command} {database}");
        let error = SqlError::new(&messages::BACKUP_FAILED_LOGGED, &[&command]);
        let log = &self.instance().error_log;
        log.error("Backup", &error, 1, &error.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_messages_have_their_form() {
        let two = ["C:\\a.bak".to_owned(), "C:\\b.bak".to_owned()];
        assert_eq!(
            devices(2, &two),
            "FILE=2, TYPE=DISK: {'C:\\a.bak', 'C:\\b.bak'}"
        );
        let at = (46_346, 300 * (3600 + 61));
        assert_eq!(created(at), ("2026/11/22".into(), "01:01:01".into()));
    }
}
