//! Sessions: a batch of text becomes a flat program, one loop runs it, results go to a sink.

#![forbid(unsafe_code)]

mod sink;

pub use sink::{ColumnMeta, Done, EnvChange, ResultSink};
