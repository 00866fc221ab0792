//! Every view and table-valued function of the system with its object id, which is its own for ever: scripts keep ids.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{
    View, character_sets, collations, columns, configurations, constraints, counters,
    database_files, database_scoped_configurations, databases, dblog, dependencies, dump_dblog,
    event_files, event_sessions, exec, file_space, first_result_set, index_operations,
    index_physical, index_usage, indexes, input_buffer, io_stats, languages, list_properties,
    live_plans, locks, log_info, log_preparation, log_space, log_stats, memory, memory_grants,
    messages, missing_indexes, my_permissions, no_rows, objects, os, page_allocations, page_info,
    page_resource, parameters, partitions, pending_io, plan_attributes, principals, properties,
    query_stats, recovery_status, ring_buffers, server_registry, spaces, stats, stats_values,
    tasks, trace, transactions, version_store, wait_stats, xe_objects, xe_sessions,
};

/// What each file of views declares: object id and view.
const FILES: &[&[(i32, &View)]] = &[
    character_sets::VIEWS,
    collations::VIEWS,
    columns::VIEWS,
    configurations::VIEWS,
    constraints::VIEWS,
    counters::VIEWS,
    database_files::VIEWS,
    database_scoped_configurations::VIEWS,
    databases::VIEWS,
    dblog::VIEWS,
    dependencies::VIEWS,
    dump_dblog::VIEWS,
    event_files::VIEWS,
    event_sessions::VIEWS,
    exec::VIEWS,
    file_space::VIEWS,
    first_result_set::VIEWS,
    index_operations::VIEWS,
    index_physical::VIEWS,
    index_usage::VIEWS,
    indexes::VIEWS,
    input_buffer::VIEWS,
    io_stats::VIEWS,
    languages::VIEWS,
    list_properties::VIEWS,
    live_plans::VIEWS,
    locks::VIEWS,
    log_info::VIEWS,
    log_preparation::VIEWS,
    log_space::VIEWS,
    log_stats::VIEWS,
    memory::VIEWS,
    memory_grants::VIEWS,
    messages::VIEWS,
    missing_indexes::VIEWS,
    my_permissions::VIEWS,
    no_rows::VIEWS,
    objects::VIEWS,
    os::VIEWS,
    page_allocations::VIEWS,
    page_info::VIEWS,
    page_resource::VIEWS,
    parameters::VIEWS,
    partitions::VIEWS,
    pending_io::VIEWS,
    plan_attributes::VIEWS,
    principals::VIEWS,
    properties::VIEWS,
    query_stats::VIEWS,
    recovery_status::VIEWS,
    ring_buffers::VIEWS,
    server_registry::VIEWS,
    spaces::VIEWS,
    stats::VIEWS,
    stats_values::VIEWS,
    tasks::VIEWS,
    trace::VIEWS,
    transactions::VIEWS,
    version_store::VIEWS,
    wait_stats::VIEWS,
    xe_objects::VIEWS,
    xe_sessions::VIEWS,
];

/// Ids of functions are from here down, those of views above.
const FIRST_FUNCTION: i32 = -5001;

/// A view or function of the system.
#[derive(Clone, Copy)]
pub struct Listed {
    pub id: i32,
    pub view: &'static View,
    pub is_function: bool,
}

/// All of them by falling id: views, then functions.
fn listed() -> &'static BTreeMap<Reverse<i32>, Listed> {
    static ALL: OnceLock<BTreeMap<Reverse<i32>, Listed>> = OnceLock::new();
    ALL.get_or_init(|| {
        let all = FILES.iter().copied().flatten();
        let listed = |(id, view): &(i32, &'static View)| Listed {
            id: *id,
            view,
            is_function: *id <= FIRST_FUNCTION,
        };
        all.map(|row| (Reverse(row.0), listed(row))).collect()
    })
}

/// All of them, views first.
pub fn every() -> impl Iterator<Item = Listed> {
    listed().values().copied()
}

/// The one of that name, whatever its letter case.
pub fn by_name(name: &str) -> Option<Listed> {
    static NAMES: OnceLock<BTreeMap<String, Listed>> = OnceLock::new();
    let lower = |l: Listed| (l.view.name.to_ascii_lowercase(), l);
    let names = NAMES.get_or_init(|| every().map(lower).collect());
    match names.get(name) {
        Some(found) => Some(*found),
        None => names.get(name.to_ascii_lowercase().as_str()).copied(),
    }
}

pub fn by_id(id: i32) -> Option<Listed> {
    listed().get(&Reverse(id)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_one_each() {
        let declared: usize = FILES.iter().map(|f| f.len()).sum();
        assert_eq!(every().count(), declared, "an id twice");
        for listed in every() {
            let name = listed.view.name;
            assert_eq!(by_name(&name.to_uppercase()).map(|l| l.id), Some(listed.id));
            assert_eq!(by_id(listed.id).map(|l| l.view.name), Some(name));
        }
        assert!(by_id(-1000).is_none() && by_id(-1).is_none() && by_id(-9999).is_none());
    }
}
