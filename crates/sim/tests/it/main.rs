//! Tests of the whole, from outside.

mod fuzz;
