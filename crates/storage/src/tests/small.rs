//! Small workloads on a small database, and everything that can happen to them: power lost at every change of the disk,
//! every read, write, sync and growth failing once or for good. What is checked is the whole of storage: after each of
//! these the database opens with a state that it may have, or says what is wrong.
//!
//! | module | owns |
//! |---|---|
//! | [`work`] | the operations, and what the database may hold after them |
//! | [`points`] | power lost at every change of the disk, and again in the recovery |
//! | [`failures`] | the n-th operation of the disk fails, for every n; a disk that is full |
//! | [`turned`] | bits that turn in pages, headers and the double-write file |
//!
//! Without settings a slice of each runs; `DURAMEN_SEEDS=3` takes workloads of three operations (`cargo xtask sim --small 3`).

mod failures;
mod points;
mod turned;
mod work;

/// The length of the longest workloads that were asked for; `None`: the slice of the tests.
fn asked() -> Option<usize> {
    std::env::var("DURAMEN_SEEDS").ok()?.parse().ok()
}
