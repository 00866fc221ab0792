//! The experiments, a file each, in the order in which `all` runs them.

mod checkpoint;
mod durability;
mod growth;
mod percent_growth;
mod populate;
mod vlf;
mod vlf_count;

use crate::experiment::Experiment;

pub const ALL: [&Experiment; 7] = [
    &durability::EXPERIMENT,
    &growth::EXPERIMENT,
    &vlf::EXPERIMENT,
    &populate::EXPERIMENT,
    &percent_growth::EXPERIMENT,
    &vlf_count::EXPERIMENT,
    &checkpoint::EXPERIMENT,
];
