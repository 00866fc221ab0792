//! storage: pages, allocation, rows, recovery.

#![forbid(unsafe_code)]

pub mod format;
