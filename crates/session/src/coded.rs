//! Procedures that are code and not text: what they are called and what kind of object they are.
//!
//! They have no module in the resource room, but are objects like all others: `sys.all_objects` lists them and OBJECT_ID
//! finds them. Those that only drivers call, over the wire, say so when they are executed as text.

use duramen_catalog::ObjectKind;

/// `type` of procedures that SQL Server has as code.
pub(crate) const EXTENDED: ObjectKind = ObjectKind(*b"X ");

/// Name and kind.
const ALL: &[(&str, ObjectKind)] = &[
    ("sp_addextendedproperty", ObjectKind::PROCEDURE),
    ("sp_cycle_errorlog", ObjectKind::PROCEDURE),
    ("sp_describe_first_result_set", EXTENDED),
    ("sp_describe_undeclared_parameters", EXTENDED),
    ("sp_detach_db", ObjectKind::PROCEDURE),
    ("sp_dropextendedproperty", ObjectKind::PROCEDURE),
    ("sp_enumerrorlogs", ObjectKind::PROCEDURE),
    ("sp_execute", EXTENDED),
    ("sp_executesql", EXTENDED),
    ("sp_flush_log", EXTENDED),
    ("sp_getapplock", ObjectKind::PROCEDURE),
    ("sp_prepare", EXTENDED),
    ("sp_prepexec", EXTENDED),
    ("sp_prepexecrpc", EXTENDED),
    ("sp_readerrorlog", ObjectKind::PROCEDURE),
    ("sp_refreshsqlmodule", ObjectKind::PROCEDURE),
    ("sp_refreshview", ObjectKind::PROCEDURE),
    ("sp_releaseapplock", ObjectKind::PROCEDURE),
    ("sp_rename", ObjectKind::PROCEDURE),
    ("sp_set_session_context", EXTENDED),
    ("sp_unprepare", EXTENDED),
    ("sp_updateextendedproperty", ObjectKind::PROCEDURE),
    ("xp_enumerrorlogs", EXTENDED),
    ("xp_instance_regread", EXTENDED),
    ("xp_logevent", EXTENDED),
    ("xp_readerrorlog", EXTENDED),
    ("xp_regread", EXTENDED),
];

/// A procedure that is code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded {
    pub id: i32,
    pub name: &'static str,
    pub kind: ObjectKind,
}

/// All of them, by name.
pub(crate) fn all() -> impl Iterator<Item = Coded> {
    ALL.iter().map(|(name, kind)| Coded {
        id: crate::resource::id_of(duramen_catalog::SCHEMA_SYS, name),
        name,
        kind: *kind,
    })
}

/// The procedure that a name means, in `sys` or, as procedures of that prefix do, without a schema or in `dbo`.
pub(crate) fn find(schema: Option<&str>, name: &str) -> Option<Coded> {
    let system =
        schema.is_none_or(|s| s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo"));
    all().find(|c| system && c.name.eq_ignore_ascii_case(name))
}

pub(crate) fn by_id(id: i32) -> Option<Coded> {
    all().find(|c| c.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_nowhere_else() {
        assert!(ALL.is_sorted_by_key(|c| c.0));
        for c in all() {
            assert!(crate::resource::by_id(c.id).is_none(), "{}", c.name);
            assert!(
                crate::resource::object(Some("sys"), c.name).is_none(),
                "{}",
                c.name
            );
        }
        assert_eq!(
            find(Some("DBO"), "SP_EXECUTESQL").map(|c| c.name),
            Some("sp_executesql")
        );
        assert!(find(Some("other"), "sp_rename").is_none());
    }
}
