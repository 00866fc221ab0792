//! Tests of the whole, from outside.

mod crash;
mod fuzz;
mod queries;
mod sql;
