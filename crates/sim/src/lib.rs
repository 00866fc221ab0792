//! sim: programs and tests that attack the other rooms. [`fuzz`] feeds damaged input to everything that reads bytes
//! or text from outside.

#![forbid(unsafe_code)]

pub mod fuzz;
