//! sim: programs and tests that attack the other rooms. [`fuzz`] feeds damaged input to everything that reads bytes
//! or text from outside; [`crash`] runs the whole engine on a disk that loses power; [`queries`] asks what others know.

#![forbid(unsafe_code)]

pub mod crash;
pub mod fuzz;
pub mod queries;
