//! The engine from outside: databases on a simulated or real disk, rowsets, transactions, crashes.

mod again;
mod columns;
mod concurrent;
mod counts;
mod crash;
mod cut;
mod files;
pub(crate) mod fixture;
mod heap_reads;
mod loads;
mod mixed;
mod planted;
mod pool;
mod raised;
mod recovery;
mod rows;
mod small;
mod speed;
mod tables;
mod temporary;
mod trim;
mod two;
mod want_of_locks;
