//! Procedures that are code and not text: one row each ([`rows`](self::rows)), from which the dispatch of calls, the check
//! of their arguments, the rights, the catalog views and the generated reference take what they say.
//!
//! They have no module in the resource room, but are objects like all others: `sys.all_objects` lists them and OBJECT_ID
//! finds them. Those that only drivers call, over the wire, say so when they are executed as text.

mod rows;

use duramen_base::{SqlError, messages};
use duramen_catalog::ObjectKind;
use duramen_types::SqlType;

use self::rows::ROWS;
use crate::rights::needs::{LOGINS, SETTINGS};
use crate::rights::{Need, Needs, Of};

/// `type` of procedures that SQL Server has as code.
pub(crate) const EXTENDED: ObjectKind = ObjectKind(*b"X ");

/// `sp_configure`, which is text, with a value.
pub const CONFIGURES: (&str, Needs) = ("sp_configure with a value", SETTINGS);

/// Which code a procedure is; two that differ by what they take alone are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Procedure {
    AddProperty,
    CycleErrorLog,
    DescribeFirstResultSet,
    DescribeUndeclaredParameters,
    DetachDb,
    DropProperty,
    ExecuteSql,
    FlushLog,
    GetAppLock,
    ListErrorLogs,
    LogEvent,
    ReadErrorLog,
    RefreshModule,
    RegistryRead,
    ReleaseAppLock,
    Rename,
    SetSessionContext,
    UpdateProperty,
    /// Refused as text.
    Wire,
}

/// What holds where a parameter is given no argument, or DEFAULT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fallback {
    /// 201
    Needed,
    Null,
    /// The procedure tells it from NULL.
    Nothing,
    Number(i64),
    Text(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// With the `@`.
    pub name: &'static str,
    /// Another name by which it goes, or nothing.
    pub also: &'static str,
    pub ty: SqlType,
    pub without: Fallback,
    pub output: bool,
}

impl Parameter {
    pub fn is_called(&self, name: &str) -> bool {
        let same = |own: &str| own.eq_ignore_ascii_case(name);
        same(self.name) || !self.also.is_empty() && same(self.also)
    }
}

/// How arguments are matched to parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// By place or name, and converted to the parameter's type, as of a procedure that is text.
    Declared,
    /// By place; names that are no parameter's say nothing, and the procedure itself looks at types and at what is not
    /// there.
    ByPlace,
    /// The first as declared; what follows them is the procedure's own affair.
    More,
}

/// A procedure that is code.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub name: &'static str,
    pub procedure: Procedure,
    pub kind: ObjectKind,
    pub needs: Needs,
    pub takes: Takes,
    pub parameters: &'static [Parameter],
    /// A line of documentation.
    pub does: &'static str,
}

impl Row {
    const fn variadic(self) -> Row {
        Row {
            takes: Takes::More,
            ..self
        }
    }

    pub fn id(&self) -> i32 {
        crate::resource::id_of(duramen_catalog::SCHEMA_SYS, self.name)
    }

    /// Whether what is asked of is an argument that only the procedure itself reads.
    pub fn asks_itself(&self) -> bool {
        let named = |n: &Need| matches!(n.of, Of::Object | Of::NamedDatabase);
        matches!(self.needs, Needs::AnyOf(all) if all.iter().any(named))
    }

    /// SQL Server has it as text.
    pub fn is_text_elsewhere(&self) -> bool {
        self.kind == ObjectKind::PROCEDURE
    }

    /// The place of a parameter in the declaration.
    pub fn place(&self, parameter: &str) -> Option<usize> {
        self.parameters.iter().position(|p| p.is_called(parameter))
    }

    /// An error of this procedure, which says so.
    pub fn error(&self, error: SqlError) -> SqlError {
        SqlError {
            procedure: error.procedure.or_else(|| Some(self.name.to_owned())),
            ..error
        }
    }

    /// 15247, 15003 of what reads the error logs, 2571 of what is a DBCC statement.
    pub fn refused(&self, who: &str) -> SqlError {
        self.error(match self.needs {
            _ if self.procedure == Procedure::CycleErrorLog => {
                let args: [&dyn std::fmt::Display; 2] = [&who, &"errorlog"];
                SqlError::new(&messages::DBCC_PERMISSION_DENIED, &args)
            }
            LOGINS => SqlError::new(&messages::ONLY_MEMBERS_OF_ROLE, &[&"securityadmin"]),
            _ => SqlError::new(&messages::USER_PERMISSION_DENIED, &[]),
        })
    }
}

/// All of them, by name.
pub fn all() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// The procedure that a name means, in `sys` or, as procedures of that prefix do, without a schema or in `dbo`.
pub fn find(schema: Option<&str>, name: &str) -> Option<&'static Row> {
    let system = schema.is_none_or(|s| {
        s.is_empty() || s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo")
    });
    let prefixed = name
        .get(..3)
        .is_some_and(|p| p.eq_ignore_ascii_case("sp_") || p.eq_ignore_ascii_case("xp_"));
    if !system || !prefixed {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let at = ROWS.binary_search_by(|row| row.name.cmp(&lower));
    at.ok().map(|at| &ROWS[at])
}

pub fn by_id(id: i32) -> Option<&'static Row> {
    all().find(|c| c.id() == id)
}

/// Whether a procedure, by its name in lower case, exists for drivers, whose calls come as calls and not as text; cursors do
/// not come even so.
pub fn is_of_the_wire(name: &str) -> bool {
    let cursor = name.starts_with("sp_cursor") && !name.starts_with("sp_cursor_list");
    cursor || find(None, name).is_some_and(|row| row.procedure == Procedure::Wire)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_nowhere_else() {
        assert!(ROWS.is_sorted_by_key(|c| c.name));
        for c in all() {
            assert!(crate::resource::by_id(c.id()).is_none(), "{}", c.name);
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
        assert!(find(None, "rename").is_none());
    }

    #[test]
    fn parameters_have_one_name_each() {
        for row in all() {
            for (at, p) in row.parameters.iter().enumerate() {
                assert!(p.name.starts_with('@'), "{} {}", row.name, p.name);
                assert_eq!(row.place(p.name), Some(at), "{} {}", row.name, p.name);
            }
        }
    }

    #[test]
    fn what_the_wire_calls_is_known() {
        assert!(is_of_the_wire("sp_prepare") && is_of_the_wire("sp_cursoropen"));
        assert!(!is_of_the_wire("sp_cursor_list") && !is_of_the_wire("sp_rename"));
    }
}
