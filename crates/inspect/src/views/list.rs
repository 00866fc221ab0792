//! Every view and table-valued function of the system with its object id, which is its own for ever: scripts keep ids.

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

/// Object id and declaration, by falling id: a new one takes the next.
#[rustfmt::skip]
const VIEWS: &[(i32, &View)] = &[
    (-1001, &wait_stats::WAIT_STATS),
    (-1002, &exec::SESSIONS),
    (-1003, &databases::VIEW),
    (-1004, &database_files::DATABASE_FILES),
    (-1005, &objects::TABLES),
    (-1006, &objects::OBJECTS),
    (-1007, &columns::COLUMNS_VIEW),
    (-1008, &objects::SCHEMAS),
    (-1009, &indexes::INDEXES),
    (-1010, &database_files::MASTER_FILES),
    (-1011, &wait_stats::LATCH_STATS),
    (-1012, &wait_stats::WAITING_TASKS),
    (-1013, &file_space::VIEW),
    (-1014, &log_space::VIEW),
    (-1015, &counters::VIEW),
    (-1016, &locks::VIEW),
    (-1017, &version_store::VIEW),
    (-1018, &exec::REQUESTS),
    (-1019, &exec::CONNECTIONS),
    (-1020, &objects::ALL_OBJECTS),
    (-1021, &objects::SYSTEM_OBJECTS),
    (-1022, &columns::ALL_COLUMNS),
    (-1023, &columns::SYSTEM_COLUMNS),
    (-1024, &columns::IDENTITY_COLUMNS),
    (-1025, &columns::TYPES),
    (-1026, &indexes::INDEX_COLUMNS),
    (-1027, &indexes::PARTITIONS),
    (-1028, &partitions::PARTITION_FUNCTIONS),
    (-1029, &partitions::PARTITION_PARAMETERS),
    (-1030, &partitions::PARTITION_RANGE_VALUES),
    (-1031, &partitions::PARTITION_SCHEMES),
    (-1032, &partitions::DESTINATION_DATA_SPACES),
    (-1033, &indexes::ALLOCATION_UNITS),
    (-1034, &constraints::KEY_CONSTRAINTS),
    (-1035, &constraints::DEFAULT_CONSTRAINTS),
    (-1036, &constraints::CHECK_CONSTRAINTS),
    (-1037, &constraints::FOREIGN_KEYS),
    (-1038, &constraints::FOREIGN_KEY_COLUMNS),
    (-1039, &constraints::SQL_MODULES),
    (-1040, &spaces::DATA_SPACES),
    (-1041, &spaces::FILEGROUPS),
    (-1042, &database_scoped_configurations::VIEW),
    (-1043, &transactions::ACTIVE),
    (-1044, &transactions::SESSIONS),
    (-1045, &transactions::DATABASES),
    (-1046, &parameters::PARAMETERS),
    (-1047, &parameters::ALL_PARAMETERS),
    (-1048, &parameters::SYSTEM_PARAMETERS),
    (-1049, &constraints::SYSTEM_SQL_MODULES),
    (-1050, &languages::VIEW),
    (-1051, &character_sets::VIEW),
    (-1052, &objects::SYNONYMS),
    (-1053, &objects::TRIGGERS),
    (-1054, &objects::TRIGGER_EVENTS),
    (-1055, &columns::COMPUTED_COLUMNS),
    (-1056, &messages::VIEW),
    (-1057, &stats::STATS),
    (-1058, &stats::STATS_COLUMNS),
    (-1059, &principals::SERVER_PRINCIPALS),
    (-1060, &principals::SQL_LOGINS),
    (-1061, &principals::SERVER_ROLE_MEMBERS),
    (-1062, &principals::SERVER_PERMISSIONS),
    (-1063, &principals::DATABASE_PRINCIPALS),
    (-1064, &principals::DATABASE_ROLE_MEMBERS),
    (-1065, &principals::DATABASE_PERMISSIONS),
    (-1066, &properties::VIEW),
    (-1067, &configurations::VIEW),
    (-1068, &columns::TABLE_TYPES),
    (-1069, &recovery_status::VIEW),
    (-1070, &log_preparation::VIEW),
    (-1071, &event_sessions::SESSIONS),
    (-1072, &event_sessions::EVENTS),
    (-1073, &event_sessions::ACTIONS),
    (-1074, &event_sessions::TARGETS),
    (-1075, &event_sessions::FIELDS),
    (-1076, &xe_sessions::SESSIONS),
    (-1077, &xe_sessions::TARGETS),
    (-1078, &xe_sessions::EVENTS),
    (-1079, &xe_sessions::ACTIONS),
    (-1080, &xe_sessions::COLUMNS),
    (-1081, &xe_objects::PACKAGES),
    (-1082, &xe_objects::OBJECTS),
    (-1083, &xe_objects::COLUMNS),
    (-1084, &xe_objects::MAP_VALUES),
    (-1085, &os::SYS_INFO),
    (-1086, &os::SYS_MEMORY),
    (-1087, &os::PROCESS_MEMORY),
    (-1088, &os::SCHEDULERS),
    (-1089, &os::NODES),
    (-1090, &os::MEMORY_NODES),
    (-1091, &memory::MEMORY_CLERKS),
    (-1092, &os::BUFFERS),
    (-1093, &os::HOST_INFO),
    (-1094, &os::SERVICES),
    (-1095, &trace::TRACES),
    (-1096, &trace::EVENTS),
    (-1097, &trace::CATEGORIES),
    (-1098, &trace::FIELDS),
    (-1099, &trace::SUBCLASSES),
    (-1100, &query_stats::QUERY_STATS),
    (-1101, &query_stats::CACHED_PLANS),
    (-1102, &query_stats::PROCEDURE_STATS),
    (-1103, &index_usage::VIEW),
    (-1104, &pending_io::VIEW),
    (-1105, &query_stats::TRIGGER_STATS),
    (-1106, &query_stats::FUNCTION_STATS),
    (-1107, &tasks::TASKS),
    (-1108, &memory_grants::MEMORY_GRANTS),
    (-1109, &memory_grants::SEMAPHORES),
    (-1110, &wait_stats::SESSION_WAIT_STATS),
    (-1111, &server_registry::REGISTRY),
    (-1112, &server_registry::LISTENERS),
    (-1113, &ring_buffers::VIEW),
    (-1114, &missing_indexes::DETAILS),
    (-1115, &missing_indexes::GROUPS),
    (-1116, &missing_indexes::STATS),
    (-1117, &missing_indexes::BY_QUERY),
    (-1118, &version_store::VERSIONS),
    (-1119, &version_store::ACTIVE),
    (-1120, &version_store::CURRENT),
    (-1121, &live_plans::PROFILES),
    (-1122, &dependencies::DEPENDENCIES),
];

/// The same of table-valued functions.
#[rustfmt::skip]
const FUNCTIONS: &[(i32, &View)] = &[
    (-5001, &log_info::VIEW),
    (-5002, &dblog::VIEW),
    (-5003, &log_stats::VIEW),
    (-5004, &io_stats::VIEW),
    (-5005, &dump_dblog::VIEW),
    (-5006, &event_files::VIEW),
    (-5007, &os::VOLUMES),
    (-5008, &trace::TABLE),
    (-5009, &trace::INFO),
    (-5010, &query_stats::SQL_TEXT),
    (-5011, &query_stats::PLAN),
    (-5012, &query_stats::PLAN_TEXT),
    (-5013, &no_rows::CURSORS),
    (-5014, &no_rows::XML_HANDLES),
    (-5015, &missing_indexes::COLUMNS_OF),
    (-5016, &no_rows::INCREMENTAL),
    (-5017, &no_rows::DISABLED),
    (-5018, &no_rows::KEYWORDS),
    (-5019, &no_rows::KEYWORDS_BY_DOCUMENT),
    (-5020, &no_rows::NODES),
    (-5021, &no_rows::DRIVES),
    (-5022, &no_rows::FILE_STATS),
    (-5023, &index_physical::VIEW),
    (-5024, &page_allocations::VIEW),
    (-5025, &index_operations::VIEW),
    (-5026, &stats_values::PROPERTIES),
    (-5027, &stats_values::HISTOGRAM),
    (-5028, &input_buffer::VIEW),
    (-5029, &page_info::VIEW),
    (-5030, &page_resource::VIEW),
    (-5031, &plan_attributes::VIEW),
    (-5032, &collations::VIEW),
    (-5033, &my_permissions::VIEW),
    (-5034, &first_result_set::VIEW),
    (-5035, &live_plans::STATISTICS_XML),
    (-5036, &dependencies::REFERENCING),
    (-5037, &list_properties::VIEW),
];

/// A view or function of the system.
#[derive(Clone, Copy)]
pub struct Listed {
    pub id: i32,
    pub view: &'static View,
    pub is_function: bool,
}

/// All of them, views first.
pub fn every() -> impl Iterator<Item = Listed> {
    let listed = |is_function| {
        move |(id, view): &(i32, &'static View)| Listed {
            id: *id,
            view,
            is_function,
        }
    };
    let functions = FUNCTIONS.iter().map(listed(true));
    VIEWS.iter().map(listed(false)).chain(functions)
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
    let list = if id > -5000 { VIEWS } else { FUNCTIONS };
    let at = list.binary_search_by(|(n, _)| id.cmp(n)).ok()?;
    Some(Listed {
        id,
        view: list[at].1,
        is_function: id <= -5000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fall_and_names_are_one_each() {
        for list in [VIEWS, FUNCTIONS] {
            assert!(list.is_sorted_by(|a, b| a.0 > b.0));
        }
        for listed in every() {
            let name = listed.view.name;
            assert_eq!(by_name(&name.to_uppercase()).map(|l| l.id), Some(listed.id));
            assert_eq!(by_id(listed.id).map(|l| l.view.name), Some(name));
        }
        assert!(by_id(-1000).is_none() && by_id(-1).is_none() && by_id(-9999).is_none());
    }
}
