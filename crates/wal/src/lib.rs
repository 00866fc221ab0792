//! The log: files, VLFs, log blocks, records, append, flush, durability, growth, truncation, the end-of-log scan
//! and the reader. It knows no pages and no SQL: a record is a header (the bytes of [`record`]) and bytes.

#![forbid(unsafe_code)]

pub mod record;
