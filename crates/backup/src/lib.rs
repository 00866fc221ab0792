//! Backup sets: taken while others work, read, restored. The bytes are described in `docs/format/backup.md`.
//!
//! | module | owns |
//! |---|---|
//! | `tape`, `set` | the container: blocks, streams, what a set says of itself |
//! | `read` | media and their sets, of ours and of other programs |
//! | `units` | compressed media, unit by unit |
//! | `blocks` | the log of a set, block by block |
//! | `stripes` | several media that hold one set together |
//! | `take` | BACKUP: the fuzzy copy and its log |
//! | `team`, `copy`, `writers`, `sums` | who reads, checks and writes side by side |
//! | `tolerance` | CONTINUE_AFTER_ERROR |
//! | `tail` | BACKUP LOG of a database that cannot be opened |
//! | `restore` | RESTORE: files laid out, log laid behind |
//! | `pages` | RESTORE ... PAGE: a few pages brought up to the rest |
//! | `whole` | RESTORE ... FILE: the same with the pages of whole files |
//! | `standby` | RESTORE WITH STANDBY: to look at what a restore has come to, and go on |
//! | `stop` | STOPAT and marks: where in a log a restore ends |
//!
//! Why a fuzzy copy is a database:
//! 1. A checkpoint is taken; every change before its beginning is in the data files. Log from there on, and from the
//!    first record of the oldest transaction active then, is kept and goes into the set.
//! 2. Extents are copied as they stand on the disk, at different moments. No page is read while it is written: whoever
//!    writes pages into their places does it alone (`doublewrite`). A page on the disk never says more than the durable log.
//! 3. Copied is every extent that was allocated when the checkpoint began, those included that were freed since: a
//!    record behind the checkpoint that changes a page without formatting it first finds the page.
//! 4. Then everything appended so far is made durable and the log up to there is copied. So every commit that was
//!    acknowledged before the end is in the set, and recovery from the checkpoint makes of the copy what it would have
//!    made of the files after a crash at that moment.
//!
//! A log backup that finds extents in the ML map (`files::minimal`) has them, too, copied in the same way between a
//! checkpoint and its end: they are what its log does not tell. It waits for a database backup that is running, so the
//! extents of the one that ends later are the newer ones. In a restore they take their places before redo, which finds
//! them as a crash at the end of the backup would have left them: the log has to reach that end.

#![forbid(unsafe_code)]

mod blocks;
mod copy;
mod pages;
mod read;
mod restore;
mod set;
mod standby;
mod stop;
mod stripes;
mod sums;
mod tail;
mod take;
mod tape;
mod team;
mod tolerance;
mod units;
mod whole;
mod writers;

pub use blocks::LogBlocks;
pub use pages::{MOST_PAGES, PageRestore};
pub use read::{BEGUN, BackupSet, Medium, cannot_open};
pub use restore::{RestoreFiles, RestoreState, Restores, after_restore};
pub use set::{SetFile, SetHeader, SetKind, TapeTime};
pub use standby::{UndoOwner, open_standby};
pub use stop::{RecordTime, StopPoint};
pub use take::{Backed, BackedFile, BackupRequest, Progress, Stripe, back_up};
pub use tape::{Device, Media};
pub use team::Transfer;
pub use tolerance::Tolerance;

#[cfg(test)]
mod tests;
