//! Compatibility levels: what each changes, and how that is followed here.
//!
//! `ALTER DATABASE ... SET COMPATIBILITY_LEVEL` takes those of SQL Server 2008 to 2022. A level decides for the language
//! spoken in its database: a session's conversions (`Options::level`), what a text may name (`planner::bind::levels`).
//! Modules of the system speak that of 160 wherever they are called. What a level changes of plans alone, and no answer, is
//! not followed.
//! <https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-compatibility-level>

/// What is done about a difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Followed {
    /// It is followed; where.
    Yes(&'static str),
    /// Why not.
    No(&'static str),
}

/// From a level on something is otherwise than before.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    pub level: u8,
    pub what: &'static str,
    pub followed: Followed,
}

use Followed::{No, Yes};

const fn row(level: u8, what: &'static str, followed: Followed) -> Difference {
    Difference {
        level,
        what,
        followed,
    }
}

const PLANS_ONLY: Followed =
    No("no answer depends on it: there is one way of planning, which is that of all levels");
const NOT_HERE: Followed = No("what it is about is refused at all levels");

/// By level. A difference that is followed has a part of its own in `tests/golden/compatibility_levels.slt`, under its level
/// and name.
pub const DIFFERENCES: &[Difference] = &[
    row(
        100,
        "MERGE is a reserved word",
        Yes("at all levels, since none is below"),
    ),
    row(
        110,
        "the default style of time and datetime2 in computed columns is 121, before it was 0",
        Yes("planner::bind::levels"),
    ),
    row(110, "TRY_CONVERT", Yes("195 before: planner::bind::levels")),
    row(
        110,
        "adding a date, time, datetime2 or datetimeoffset to a datetime or smalldatetime is error 402",
        No("an error at all levels, as it is from 110 on"),
    ),
    row(
        110,
        "PIVOT in a recursive common table expression is an error",
        NOT_HERE,
    ),
    row(
        110,
        "string-length and substring of XQuery count a surrogate pair as one character",
        NOT_HERE,
    ),
    row(110, "no new material is encrypted by RC4", NOT_HERE),
    row(110, "version 4 of the CLR as it is", NOT_HERE),
    row(120, "the estimator of 2014", PLANS_ONLY),
    row(120, "SELECT INTO may be parallel", PLANS_ONLY),
    row(
        120,
        "the language counts when a date becomes a string",
        Yes("types::convert"),
    ),
    row(
        120,
        "recursive references on the right of EXCEPT, and columns of one name in a recursive expression, are errors",
        No("errors at all levels: before 120 the first does not end"),
    ),
    row(
        120,
        "ALTER TRIGGER leaves a disabled trigger disabled, before it enabled it",
        No("left as it is at all levels"),
    ),
    row(
        120,
        "OUTPUT INTO obeys IDENTITY_INSERT",
        No("obeyed at all levels"),
    ),
    row(
        120,
        "the collation of $action in contained databases",
        NOT_HERE,
    ),
    row(
        130,
        "STRING_SPLIT",
        Yes("208 before: planner::bind::levels"),
    ),
    row(
        130,
        "OPENJSON",
        No("refused by name at all levels: there is none yet"),
    ),
    row(
        130,
        "a datetime becomes a datetime2 with its thirds of a millisecond",
        Yes("types::convert"),
    ),
    row(
        130,
        "statistics are old after changes of the root of a thousand times the rows, before after 500 rows and a fifth",
        Yes("access::statistics"),
    ),
    row(
        130,
        "HASHBYTES refuses MD2, MD4, MD5, SHA and SHA1",
        No(
            "the documentation says so; servers of every version go on answering, and so does this one with those that it has",
        ),
    ),
    row(
        130,
        "more than 253 incoming foreign keys",
        No("no limit below that of 130 at any level"),
    ),
    row(130, "the estimator of 2016", PLANS_ONLY),
    row(
        130,
        "INSERT ... SELECT may be parallel, statistics are sampled by several threads",
        PLANS_ONLY,
    ),
    row(
        130,
        "sorts and windows over columnstore indexes in batch mode",
        NOT_HERE,
    ),
    row(
        140,
        "interleaved execution, adaptive joins, feedback of grants in batch mode",
        PLANS_ONLY,
    ),
    row(140, "the estimator of 2017", PLANS_ONLY),
    row(
        150,
        "batch mode on rows",
        No("no answer depends on it: operators work on batches at all levels"),
    ),
    row(150, "deferred compilation of table variables", PLANS_ONLY),
    row(
        150,
        "inlining of scalar functions",
        No(
            "functions are called at all levels, which is what a function that cannot be inlined does anyway",
        ),
    ),
    row(150, "feedback of grants in row mode", PLANS_ONLY),
    row(
        150,
        "error 2628 names the column and the value that is cut, before it was 8152",
        Yes("types::convert"),
    ),
    row(
        160,
        "GENERATE_SERIES",
        Yes("208 before: planner::bind::levels"),
    ),
    row(
        160,
        "the WINDOW clause",
        Yes("102 before: planner::bind::levels"),
    ),
    row(
        160,
        "LTRIM and RTRIM with characters",
        Yes("174 before: planner::bind::levels"),
    ),
    row(
        160,
        "plans for kinds of parameters, feedback of estimates and of the degree of parallelism",
        PLANS_ONLY,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_by_level_and_those_followed_have_a_test() {
        assert!(DIFFERENCES.is_sorted_by_key(|d| d.level));
        let script = include_str!("../../../tests/golden/compatibility_levels.slt");
        for d in DIFFERENCES {
            if let Yes(_) = d.followed {
                let title = format!("# {}: {}\n", d.level, d.what);
                assert!(script.contains(&title), "no part {title}");
            }
        }
    }
}
