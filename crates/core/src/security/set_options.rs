//! SET options: a row each with what it needs and does.

use duramen_program::rights::needs::OWN;
use duramen_program::rights::{Need, Needs, Of, Right};

/// A SET option.
#[derive(Clone, Copy, Debug)]
pub struct SetOption {
    /// Those of STATISTICS with that word.
    pub name: &'static str,
    pub needs: Needs,
    /// A line of documentation.
    pub does: &'static str,
}

const fn option(name: &'static str, needs: Needs, does: &'static str) -> SetOption {
    SetOption { name, needs, does }
}

/// What a SET option needs; `None` for one that is not here. Which of several an option is does not matter to its right.
pub fn of_option(name: &str) -> Option<Needs> {
    let at = OPTIONS.binary_search_by(|o| o.name.cmp(name)).ok()?;
    Some(OPTIONS[at].needs)
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

/// By name.
#[rustfmt::skip]
pub const OPTIONS: &[SetOption] = &[
    option("ANSI_DEFAULTS", OWN, "ANSI_NULLS, ANSI_NULL_DFLT_ON, ANSI_PADDING, ANSI_WARNINGS, QUOTED_IDENTIFIER, IMPLICIT_TRANSACTIONS, CURSOR_CLOSE_ON_COMMIT together"),
    option("ANSI_NULLS", OWN, "OFF: = NULL is true of a NULL"),
    option("ANSI_NULL_DFLT_OFF", OWN, "ON: a new column without NULL or NOT NULL takes none"),
    option("ANSI_NULL_DFLT_ON", OWN, "ON: a new column without NULL or NOT NULL takes NULL"),
    option("ANSI_PADDING", OWN, "OFF: columns that would lose trailing blanks are refused when they are defined"),
    option("ANSI_WARNINGS", OWN, "a value that is cut is an error; NULLs in aggregates are warned of"),
    option("ARITHABORT", OWN, "ON: an overflow or a division by zero ends the batch, without ANSI_WARNINGS"),
    option("ARITHIGNORE", OWN, "ON: nothing is said of them"),
    option("CONCAT_NULL_YIELDS_NULL", OWN, "OFF: NULL counts as an empty text in +"),
    option("CONTEXT_INFO", OWN, "up to 128 bytes that CONTEXT_INFO() and dm_exec_sessions show"),
    option("CURSOR_CLOSE_ON_COMMIT", OWN, "remembered: there are no cursors that a commit would close"),
    option("DATEFIRST", OWN, "the first day of the week, 1 is Monday"),
    option("DATEFORMAT", OWN, "mdy, dmy, ymd, ydm, myd or dym: how dates with numbers are read"),
    option("DEADLOCK_PRIORITY", OWN, "LOW, NORMAL, HIGH or -10 to 10: who is the victim"),
    option("FMTONLY", OWN, "ON: results are described and not computed"),
    option("FORCEPLAN", OWN, "OFF only"),
    option("IDENTITY_INSERT", ALTER, "ON: INSERT may give values of the table's identity column"),
    option("IMPLICIT_TRANSACTIONS", OWN, "ON: a statement begins a transaction that COMMIT must end"),
    option("LANGUAGE", OWN, "names of months and days, DATEFIRST, DATEFORMAT"),
    option("LOCK_TIMEOUT", OWN, "milliseconds that a lock is waited for; -1 is for ever"),
    option("NOCOUNT", OWN, "ON leaves out how many rows a statement touched"),
    option("NOEXEC", OWN, "ON: batches are compiled and not run"),
    option("NO_BROWSETABLE", OWN, "OFF only"),
    option("NUMERIC_ROUNDABORT", OWN, "ON: a loss of precision is an error"),
    option("PARSEONLY", OWN, "ON: batches are parsed and not run"),
    option("QUERY_GOVERNOR_COST_LIMIT", OWN, "0 only: no limit"),
    option("QUOTED_IDENTIFIER", OWN, "OFF: \"x\" is a text"),
    option("REMOTE_PROC_TRANSACTIONS", OWN, "OFF only: there are no remote procedures"),
    option("ROWCOUNT", OWN, "a statement ends after so many rows; 0 is no limit"),
    option("SHOWPLAN_ALL", PLANS, "ON: plans are shown as rows, and nothing runs"),
    option("SHOWPLAN_TEXT", PLANS, "ON: plans are shown as text, and nothing runs"),
    option("SHOWPLAN_XML", PLANS, "ON: plans are shown as XML, and nothing runs"),
    option("STATISTICS IO", OWN, "ON: pages that each table cost"),
    option("STATISTICS PROFILE", PLANS, "ON: the plan of each statement with its rows"),
    option("STATISTICS TIME", OWN, "ON: time of compiling and running"),
    option("STATISTICS XML", PLANS, "ON: the plan of each statement as XML"),
    option("TEXTSIZE", OWN, "how many bytes of a large value are sent; 0 is 4096"),
    option("TRANSACTION ISOLATION LEVEL", OWN, "what a transaction may see of others"),
    option("XACT_ABORT", OWN, "ON: an error of a statement undoes its transaction"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_in_order() {
        assert!(OPTIONS.is_sorted_by_key(|o| o.name));
        assert!(of_option("NOCOUNT").is_some() && of_option("STATISTICS IO").is_some());
        assert!(of_option("NO_SUCH").is_none());
    }
}
