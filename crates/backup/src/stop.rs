//! Where a restore of log ends when it does not go to the end of the backup: STOPAT, STOPATMARK, STOPBEFOREMARK.
//!
//! Commits tell their time and their mark. A time is reached at the first record that tells a later one: that record and
//! everything behind it is left out, so what was committed at that time or before is in. A mark is reached at the commit
//! of the marked transaction. <https://learn.microsoft.com/sql/t-sql/statements/restore-statements-arguments-transact-sql>

use duramen_base::{Lsn, SqlResult};
use duramen_os::{Env, IoError, thread};
use duramen_types::temporal::days_from_ymd;
use duramen_wal::record::{Lop, RecordView};
use duramen_wal::{LogError, LogFileReader, LogFileSpec, OpenBlock};

use super::blocks::LogBlocks;
use super::read::{BackupSet, Medium};
use super::set::TapeTime;

/// A moment as log records have it: days since 1900-01-01 and ticks of 1/300 s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct RecordTime {
    pub days: i32,
    pub ticks: u32,
}

impl RecordTime {
    /// The time that a record tells.
    fn of(view: &RecordView<'_>) -> Option<RecordTime> {
        let b = view.datetime()?;
        Some(RecordTime {
            days: i32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            ticks: u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        })
    }

    /// A moment of a set's header, to the second.
    pub fn of_tape(time: TapeTime) -> RecordTime {
        let (year, month, day, hour, minute, second) = time.parts();
        /// Days from 0001-01-01 to 1900-01-01.
        const TO_1900: i32 = 693_595;
        let days = days_from_ymd(i32::from(year), month.into(), day.into());
        let seconds = (u32::from(hour) * 60 + u32::from(minute)) * 60 + u32::from(second);
        RecordTime {
            days: days.map_or(0, |d| d - TO_1900),
            ticks: seconds * 300,
        }
    }
}

/// A point to stop at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopPoint {
    Time(RecordTime),
    /// The first mark of that name, at or after a time; `before`: its transaction is left out.
    Mark {
        name: String,
        after: Option<RecordTime>,
        before: bool,
    },
    /// `before`: the record of that LSN is left out.
    Lsn {
        lsn: Lsn,
        before: bool,
    },
}

/// Where the point is in a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// This record is the first to be left out.
    Before(Lsn),
    /// At the end of the backup.
    End,
    Behind,
}

/// Looks for the point in the records of a set from `from` on.
pub(super) fn find(
    medium: &Medium,
    set: &BackupSet,
    from: Lsn,
    point: &StopPoint,
) -> SqlResult<Stop> {
    let mut last = Lsn::NULL;
    for block in LogBlocks::new(medium, set) {
        let block = block?;
        for (lsn, view) in records(&block) {
            if lsn < from {
                continue;
            }
            last = lsn;
            match point.meets(lsn, &view) {
                None => {}
                Some(true) => return Ok(Stop::Before(lsn)),
                // What follows it goes.
                Some(false) => {
                    return Ok(Stop::Before(Lsn {
                        slot: lsn.slot + 1,
                        ..lsn
                    }));
                }
            }
        }
    }
    let reached = match point {
        StopPoint::Time(time) => RecordTime::of_tape(set.header.finished) >= *time,
        StopPoint::Lsn { lsn, .. } => *lsn <= last,
        StopPoint::Mark { .. } => false,
    };
    Ok(if reached { Stop::End } else { Stop::Behind })
}

fn records(block: &OpenBlock) -> impl Iterator<Item = (Lsn, RecordView<'_>)> {
    (1..=block.header.records).filter_map(|slot| {
        let view = block.record(slot).and_then(RecordView::parse)?;
        Some((block.lsn(slot), view))
    })
}

impl StopPoint {
    /// Whether the restore ends here: before this record (true) or behind it (false).
    fn meets(&self, lsn: Lsn, view: &RecordView<'_>) -> Option<bool> {
        match self {
            StopPoint::Time(time) => (RecordTime::of(view)? > *time).then_some(true),
            StopPoint::Mark {
                name,
                after,
                before,
            } => {
                let (mark, _) = view.mark()?;
                let early = after.is_some_and(|after| RecordTime::of(view) < Some(after));
                (mark.eq_ignore_ascii_case(name) && !early).then_some(*before)
            }
            StopPoint::Lsn { lsn: at, before } => (lsn == *at).then_some(*before),
        }
    }
}

/// The time of the last commit before `end` in a log file that is being restored.
pub(super) fn newest_commit(
    env: &Env,
    spec: &LogFileSpec,
    end: Lsn,
) -> Result<Option<RecordTime>, LogError> {
    let mut newest = None;
    let mut reader = LogFileReader::open(&*env.disk, &spec.path)?;
    while let Some(block) = reader.next_block()? {
        if thread::is_given_up() {
            return Err(LogError::Io {
                path: spec.path.clone(),
                cause: IoError::GivenUp,
            });
        }
        for (lsn, view) in records(&block) {
            if lsn < end && view.op() == Lop::COMMIT_XACT {
                newest = newest.max(RecordTime::of(&view));
            }
        }
    }
    Ok(newest)
}

impl Medium {
    /// The time of the last commit in a set's log.
    pub fn newest_commit(&self, set: &BackupSet) -> SqlResult<Option<RecordTime>> {
        let mut newest = None;
        for block in LogBlocks::new(self, set) {
            let block = block?;
            let commits = records(&block).filter(|(_, v)| v.op() == Lop::COMMIT_XACT);
            for (_, view) in commits {
                newest = newest.max(RecordTime::of(&view));
            }
        }
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_count_from_1900() {
        let time = RecordTime::of_tape(TapeTime::new(2026, 11, 22, 1, 2, 3));
        assert_eq!((time.days, time.ticks), (46_346, 3_723 * 300));
        let first = RecordTime::of_tape(TapeTime::new(1900, 1, 1, 0, 0, 0));
        assert_eq!(first, RecordTime::default());
    }
}
