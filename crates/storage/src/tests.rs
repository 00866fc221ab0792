//! The engine from outside: databases on a simulated or real disk, rowsets, transactions, crashes.

mod crash;
mod fixture;
mod rows;
