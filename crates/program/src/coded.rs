//! Procedures that are code and not text: what they are called and what kind of object they are.
//!
//! They have no module in the resource room, but are objects like all others: `sys.all_objects` lists them and OBJECT_ID
//! finds them. Those that only drivers call, over the wire, say so when they are executed as text.

use duramen_base::{SqlError, messages};
use duramen_catalog::ObjectKind;

use crate::rights::needs::{ASKS, CONTROL_SERVER, FACTS, LOGINS, OWN, OWNER, SETTINGS};
use crate::rights::{Need, Needs, Of, Right};

/// `type` of procedures that SQL Server has as code.
pub(crate) const EXTENDED: ObjectKind = ObjectKind(*b"X ");

/// What names the object that it changes.
const ALTERS: Needs = Needs::AnyOf(&[Need {
    right: Right::Alter,
    of: Of::Object,
}]);

const DETACHES: Needs = Needs::AnyOf(&[
    Need {
        right: Right::Control,
        of: Of::NamedDatabase,
    },
    Need {
        right: Right::AlterAnyDatabase,
        of: Of::Server,
    },
]);

const LOGS: Needs = Needs::AnyOf(&[
    Need {
        right: Right::ControlServer,
        of: Of::Server,
    },
    Need {
        right: Right::Control,
        of: Of::Master,
    },
]);

/// `sp_configure`, which is text, with a value.
pub const CONFIGURES: (&str, Needs) = ("sp_configure with a value", SETTINGS);

/// Name, kind, and what it needs of its caller.
const ALL: &[(&str, ObjectKind, Needs)] = &[
    ("sp_addextendedproperty", ObjectKind::PROCEDURE, ALTERS),
    ("sp_cycle_errorlog", ObjectKind::PROCEDURE, CONTROL_SERVER),
    ("sp_describe_first_result_set", EXTENDED, ASKS),
    ("sp_describe_undeclared_parameters", EXTENDED, ASKS),
    ("sp_detach_db", ObjectKind::PROCEDURE, DETACHES),
    ("sp_dropextendedproperty", ObjectKind::PROCEDURE, ALTERS),
    ("sp_enumerrorlogs", ObjectKind::PROCEDURE, LOGINS),
    ("sp_execute", EXTENDED, ASKS),
    ("sp_executesql", EXTENDED, ASKS),
    (
        "sp_flush_log",
        EXTENDED,
        Needs::Public("makes durable what is committed"),
    ),
    ("sp_getapplock", ObjectKind::PROCEDURE, OWN),
    ("sp_prepare", EXTENDED, ASKS),
    ("sp_prepexec", EXTENDED, ASKS),
    ("sp_prepexecrpc", EXTENDED, ASKS),
    ("sp_readerrorlog", ObjectKind::PROCEDURE, LOGINS),
    ("sp_refreshsqlmodule", ObjectKind::PROCEDURE, ALTERS),
    ("sp_refreshview", ObjectKind::PROCEDURE, ALTERS),
    ("sp_releaseapplock", ObjectKind::PROCEDURE, OWN),
    ("sp_rename", ObjectKind::PROCEDURE, OWNER),
    ("sp_set_session_context", EXTENDED, OWN),
    ("sp_unprepare", EXTENDED, OWN),
    ("sp_updateextendedproperty", ObjectKind::PROCEDURE, ALTERS),
    ("xp_enumerrorlogs", EXTENDED, LOGINS),
    ("xp_instance_regread", EXTENDED, FACTS),
    ("xp_logevent", EXTENDED, LOGS),
    ("xp_readerrorlog", EXTENDED, LOGINS),
    ("xp_regread", EXTENDED, FACTS),
];

/// A procedure that is code.
#[derive(Clone, Copy, Debug)]
pub struct Coded {
    pub id: i32,
    pub name: &'static str,
    pub kind: ObjectKind,
    pub needs: Needs,
}

impl Coded {
    /// Whether what is asked of is an argument that only the procedure itself reads.
    pub fn asks_itself(&self) -> bool {
        let named = |n: &Need| matches!(n.of, Of::Object | Of::NamedDatabase);
        matches!(self.needs, Needs::AnyOf(all) if all.iter().any(named))
    }

    /// 15247, 15003 of what reads the error logs, 2571 of what is a DBCC statement.
    pub fn refused(&self, who: &str) -> SqlError {
        let error = match self.needs {
            _ if self.name == "sp_cycle_errorlog" => {
                let args: [&dyn std::fmt::Display; 2] = [&who, &"errorlog"];
                SqlError::new(&messages::DBCC_PERMISSION_DENIED, &args)
            }
            LOGINS => SqlError::new(&messages::ONLY_MEMBERS_OF_ROLE, &[&"securityadmin"]),
            _ => SqlError::new(&messages::USER_PERMISSION_DENIED, &[]),
        };
        SqlError {
            procedure: Some(self.name.to_owned()),
            ..error
        }
    }
}

/// All of them, by name.
pub fn all() -> impl Iterator<Item = Coded> {
    ALL.iter().map(|(name, kind, needs)| Coded {
        id: crate::resource::id_of(duramen_catalog::SCHEMA_SYS, name),
        name,
        kind: *kind,
        needs: *needs,
    })
}

/// The procedure that a name means, in `sys` or, as procedures of that prefix do, without a schema or in `dbo`.
pub fn find(schema: Option<&str>, name: &str) -> Option<Coded> {
    let system =
        schema.is_none_or(|s| s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo"));
    all().find(|c| system && c.name.eq_ignore_ascii_case(name))
}

pub fn by_id(id: i32) -> Option<Coded> {
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
