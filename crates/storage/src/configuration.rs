//! What a database is told about itself with ALTER DATABASE SCOPED CONFIGURATION: when its commits go on, whose rules
//! its log follows, how many threads its queries may use. All stand in the boot page, so that they go where the database goes; changes are logged there.

use duramen_base::{DbId, SqlResult};
use duramen_txn::{CommitWait, Transaction};
use duramen_wal::LogProfile;

use crate::engine::Database;

/// `OwnBoot::options`: COMMIT_WAIT = STATEMENT.
const STATEMENT_WAIT: u64 = 1;
/// `OwnBoot::options`: MAXDOP, 16 bits from here on; 0 leaves it to the server.
const MAX_DEGREE_AT: u32 = 16;
const MAX_DEGREE: u64 = 0xffff << MAX_DEGREE_AT;

/// What COMMIT_WAIT is where nobody has said anything: the versions we follow wait at each COMMIT.
pub fn default_commit_wait(profile: LogProfile) -> CommitWait {
    match profile {
        LogProfile::Native => CommitWait::Packet,
        _ => CommitWait::Statement,
    }
}

/// The options of a new database. tempdb outlives nothing and waits for nothing.
pub(crate) fn first_options(id: DbId, profile: LogProfile) -> u64 {
    match default_commit_wait(profile) {
        CommitWait::Statement if id != DbId::TEMPDB => STATEMENT_WAIT,
        _ => 0,
    }
}

pub(crate) fn profile_number(p: LogProfile) -> u32 {
    match p {
        LogProfile::V2012 => 2012,
        LogProfile::V2014 => 2014,
        LogProfile::V2019 => 2019,
        LogProfile::V2022 => 2022,
        LogProfile::Native => 0,
    }
}

pub(crate) fn profile_of(number: u32) -> LogProfile {
    match number {
        2012 => LogProfile::V2012,
        2014 => LogProfile::V2014,
        2019 => LogProfile::V2019,
        2022 => LogProfile::V2022,
        _ => LogProfile::Native,
    }
}

impl Database {
    /// Whether commits wait until they are hardened.
    pub fn commit_wait(&self) -> CommitWait {
        self.transactions.commit_wait()
    }

    /// Changes it for the commits that follow; kept over a restart once `tx` is.
    pub fn set_commit_wait(&self, tx: &Transaction, wait: CommitWait) -> SqlResult<()> {
        self.update_boot(tx, |b| {
            if let Some(own) = &mut b.own {
                own.options &= !STATEMENT_WAIT;
                if wait == CommitWait::Statement {
                    own.options |= STATEMENT_WAIT;
                }
            }
        })?;
        self.follow_configuration();
        Ok(())
    }

    /// MAXDOP: threads that a query of this database may use; 0 leaves it to the server's setting.
    pub fn max_degree(&self) -> u16 {
        let options = self.boot.lock().own.as_ref().map_or(0, |o| o.options);
        ((options & MAX_DEGREE) >> MAX_DEGREE_AT) as u16
    }

    pub fn set_max_degree(&self, tx: &Transaction, degree: u16) -> SqlResult<()> {
        self.update_boot(tx, |b| {
            if let Some(own) = &mut b.own {
                own.options &= !MAX_DEGREE;
                own.options |= u64::from(degree) << MAX_DEGREE_AT;
            }
        })
    }

    /// The version whose rules the log follows.
    pub fn log_profile(&self) -> LogProfile {
        self.boot
            .lock()
            .own
            .as_ref()
            .map_or(LogProfile::Native, |o| profile_of(o.log_profile))
    }

    /// Changes it, from the log's next growth on. COMMIT_WAIT stays as it is.
    pub fn set_log_profile(&self, tx: &Transaction, profile: LogProfile) -> SqlResult<()> {
        self.update_boot(tx, |b| {
            if let Some(own) = &mut b.own {
                own.log_profile = profile_number(profile);
            }
        })?;
        self.follow_configuration();
        Ok(())
    }

    /// Does as the boot page says: at start, after recovery, after a change and after its rollback.
    pub(crate) fn follow_configuration(&self) {
        let options = self.boot.lock().own.as_ref().map_or(0, |o| o.options);
        let wait = match options & STATEMENT_WAIT {
            0 => CommitWait::Packet,
            _ => CommitWait::Statement,
        };
        self.transactions.set_commit_wait(wait);
        if let Some(log) = &self.log {
            log.set_profile(self.log_profile());
        }
    }
}
