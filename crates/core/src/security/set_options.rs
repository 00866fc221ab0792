//! What SET options need: a row each.

use duramen_program::rights::needs::OWN;
use duramen_program::rights::{Need, Needs, Of, Right};

/// What a SET option needs; `None` for one that is not here. Which of several an option is does not matter to its right.
pub fn of_option(name: &str) -> Option<Needs> {
    OPTIONS
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, needs)| *needs)
}

/// The plan of a statement tells of the data that it is made for.
const PLANS: Needs = Needs::AnyOf(&[Need {
    right: Right::Showplan,
    of: Of::CurrentDatabase,
}]);
/// The table that the option names.
const ALTER: Needs = Needs::AnyOf(&[Need {
    right: Right::Alter,
    of: Of::Object,
}]);

/// SET options by name; those of STATISTICS with that word.
pub const OPTIONS: &[(&str, Needs)] = &[
    ("ANSI_DEFAULTS", OWN),
    ("ANSI_NULLS", OWN),
    ("ANSI_NULL_DFLT_OFF", OWN),
    ("ANSI_NULL_DFLT_ON", OWN),
    ("ANSI_PADDING", OWN),
    ("ANSI_WARNINGS", OWN),
    ("ARITHABORT", OWN),
    ("ARITHIGNORE", OWN),
    ("CONCAT_NULL_YIELDS_NULL", OWN),
    ("CONTEXT_INFO", OWN),
    ("CURSOR_CLOSE_ON_COMMIT", OWN),
    ("DATEFIRST", OWN),
    ("DATEFORMAT", OWN),
    ("DEADLOCK_PRIORITY", OWN),
    ("FMTONLY", OWN),
    ("FORCEPLAN", OWN),
    ("IDENTITY_INSERT", ALTER),
    ("IMPLICIT_TRANSACTIONS", OWN),
    ("LANGUAGE", OWN),
    ("LOCK_TIMEOUT", OWN),
    ("NOCOUNT", OWN),
    ("NOEXEC", OWN),
    ("NO_BROWSETABLE", OWN),
    ("NUMERIC_ROUNDABORT", OWN),
    ("PARSEONLY", OWN),
    ("QUERY_GOVERNOR_COST_LIMIT", OWN),
    ("QUOTED_IDENTIFIER", OWN),
    ("REMOTE_PROC_TRANSACTIONS", OWN),
    ("ROWCOUNT", OWN),
    ("SHOWPLAN_ALL", PLANS),
    ("SHOWPLAN_TEXT", PLANS),
    ("SHOWPLAN_XML", PLANS),
    ("STATISTICS IO", OWN),
    ("STATISTICS PROFILE", PLANS),
    ("STATISTICS TIME", OWN),
    ("STATISTICS XML", PLANS),
    ("TEXTSIZE", OWN),
    ("TRANSACTION ISOLATION LEVEL", OWN),
    ("XACT_ABORT", OWN),
];
