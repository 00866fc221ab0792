//! Every row inside a procedure: what a chain of ownership opens, and what it does not.

use duramen_session::Session;

use super::people::{IDENTITIES, enter, fine, id_of, set_up};
use super::probes::{Names, probe};
use super::rows::{asked, attempt, fails, is_done, is_refused};
use super::table::Line;
use super::{failure, refusal};
use crate::{instance, run};

/// How a row stands in a procedure of `dbo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Its objects are of the same owner.
    Unbroken,
    /// They are of another.
    Broken,
    /// In a string that is executed.
    InString,
    BrokenInString,
    /// In a procedure of another database, which everybody may enter.
    Across,
}

const WAYS: &[Way] = &[
    Way::Unbroken,
    Way::Broken,
    Way::InString,
    Way::BrokenInString,
    Way::Across,
];

/// What may not stand in a procedure, and how that is told.
const NOT_IN_MODULES: &[(&str, i32)] = &[
    ("CREATE VIEW", 111),
    ("ALTER VIEW", 111),
    ("CREATE PROCEDURE", 111),
    ("ALTER PROCEDURE", 111),
    ("CREATE FUNCTION", 111),
    ("ALTER FUNCTION", 111),
    ("CREATE TRIGGER", 111),
    ("ALTER TRIGGER", 111),
    ("CREATE SCHEMA", 111),
    ("USE", 154),
    // It is asked in master, where USE goes.
    ("GRANT, DENY, REVOKE on the server", 154),
    ("SHOWPLAN_ALL", 1067),
    ("SHOWPLAN_TEXT", 1067),
    ("SHOWPLAN_XML", 1067),
    ("sys.sp_execute", 40517),
    ("sys.sp_prepare", 40517),
    ("sys.sp_prepexec", 40517),
    ("sys.sp_prepexecrpc", 40517),
    ("sys.sp_unprepare", 40517),
];

/// What has no object in the schema of another owner: modules are in schemas of `dbo` only.
const ONLY_OF_DBO: &[&str] = &[
    "DROP VIEW",
    "DROP PROCEDURE",
    "DROP FUNCTION",
    "EXECUTE",
    "CREATE SYNONYM",
    "DROP SYNONYM",
];

/// What does not take a name with a database.
const NOT_ACROSS: &[&str] = &[
    "CREATE SYNONYM",
    "CREATE TYPE",
    "DROP FUNCTION",
    "DROP PROCEDURE",
    "DROP SYNONYM",
    "DROP TYPE",
    "DROP VIEW",
    "GRANT, DENY, REVOKE",
    "INSERT BULK",
];

impl Way {
    fn is_broken(self) -> bool {
        matches!(self, Way::Broken | Way::BrokenInString)
    }

    fn is_in_string(self) -> bool {
        matches!(self, Way::InString | Way::BrokenInString)
    }

    /// Whether a row can stand so.
    fn is_of(self, line: &Line, text: &str) -> bool {
        let name = line.name.as_str();
        let of_objects = ["{o}", "{s}", "{id}"].iter().any(|p| text.contains(p));
        match self {
            Way::Unbroken | Way::InString => true,
            Way::Broken | Way::BrokenInString => of_objects && !ONLY_OF_DBO.contains(&name),
            Way::Across => text.contains("{o}") && !NOT_ACROSS.contains(&name),
        }
    }

    /// The rule: a chain that holds gives what reads, changes and executes; a string breaks it, as the other owner and the
    /// other database do.
    fn opens(self, asked: &Line) -> bool {
        self == Way::Unbroken && asked.is_chained()
    }
}

/// Makes the procedure; the number that it is refused with.
fn make(sa: &mut Session, way: Way, sql: &str) -> Option<i32> {
    let body = match way.is_in_string() {
        true => format!("EXEC ('{}')", sql.replace('\'', "''")),
        false => sql.to_owned(),
    };
    let db = if way == Way::Across { "g" } else { "d" };
    run(sa, &format!("USE {db}"));
    let lines = run(
        sa,
        &format!("CREATE OR ALTER PROCEDURE m.{way:?} AS {body}"),
    );
    let number = |l: &String| l.strip_prefix("Msg ")?.split(',').next()?.parse().ok();
    lines.iter().find_map(number)
}

/// What is tried in one procedure: a row, or several that ask for nothing, of which none must be refused.
struct Trial {
    line: Line,
    asked: Line,
    text: String,
}

/// How many rows that ask for nothing stand in one procedure.
const TOGETHER: usize = 40;

fn trials() -> Vec<Trial> {
    let of = |(line, asked): (Line, Line)| Trial {
        text: probe(&line),
        line,
        asked,
    };
    let all = asked().into_iter().map(of);
    let is_plain = |t: &Trial| t.asked.is_public() && t.line.kind != "statement" && !fails(&t.line);
    let (plain, mut trials): (Vec<Trial>, Vec<Trial>) = all.partition(is_plain);
    let mut plain = plain.into_iter();
    while let Some(mut first) = plain.next() {
        let others = plain.by_ref().take(TOGETHER - 1);
        let texts: Vec<String> = others.map(|t| t.text).collect();
        first.text = format!("{}\n{}", first.text, texts.join("\n"));
        trials.push(first);
    }
    trials
}

impl Trial {
    /// What was wrong with it, as everybody.
    fn run(
        &self,
        way: Way,
        sa: &mut Session,
        sessions: &mut [Session],
        ids: &[i32],
    ) -> Vec<String> {
        let (line, asked) = (&self.line, &self.asked);
        let names = Names {
            db: "d",
            schema: if way.is_broken() { "o" } else { "dbo" },
            far: way == Way::Across,
            id: ids[usize::from(way.is_broken())],
        };
        let sql = names.put(&self.text);
        let known = NOT_IN_MODULES.iter().find(|(n, _)| *n == line.name);
        let number = match (line.is_refused(), known) {
            _ if way.is_in_string() => None,
            (true, _) => Some(40517),
            (_, known) => known.map(|(_, number)| *number),
        };
        let made = make(sa, way, &sql);
        let mut wrong = Vec::new();
        if made != number {
            wrong.push(format!("{} {way:?}: {sql}: made with {made:?}", line.name));
        }
        if made.is_some() {
            return wrong;
        }
        let db = if way == Way::Across { "g" } else { "d" };
        for (who, s) in IDENTITIES.iter().zip(sessions) {
            let place = who.in_d();
            run(s, &format!("USE {}", place.home));
            let lines = attempt(sa, s, line, &format!("EXEC {db}.m.{way:?}"));
            let refused = is_refused(line, &lines);
            let enters = place.held.is_some();
            let may = enters && (way.opens(asked) || who.holds(asked, &place));
            let ok = match (line.is_refused(), enters) {
                (true, true) => lines.iter().any(|l| l.starts_with("Msg 40517")),
                _ => may != refused && (who.name != "sysad" || is_done(line, &lines)),
            };
            if !ok {
                let said = failure(&lines).or(lines.first());
                wrong.push(format!(
                    "{} {way:?} as {}: {sql}: {said:?}",
                    line.name, who.name
                ));
            }
        }
        wrong
    }
}

#[test]
fn every_row_in_modules_lets_in_whom_the_chain_or_its_right_lets_in() {
    let instance = instance();
    let mut sa = set_up(&instance);
    let ids = [id_of(&mut sa, "d", "dbo"), id_of(&mut sa, "d", "o")];
    let all = IDENTITIES.iter();
    let mut sessions: Vec<Session> = all.map(|who| enter(&instance, who.name)).collect();
    let mut wrong = Vec::new();
    for trial in trials() {
        for way in WAYS.iter().filter(|w| w.is_of(&trial.line, &trial.text)) {
            wrong.extend(trial.run(*way, &mut sa, &mut sessions, &ids));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn chains_open_what_is_of_the_same_owner_and_nothing_else() {
    let instance = instance();
    let mut sa = set_up(&instance);
    for sql in [
        "ALTER DATABASE d SET TRUSTWORTHY OFF",
        "USE e; CREATE TABLE far (v int); INSERT far VALUES (9); USE d",
        "CREATE SCHEMA foreign_one AUTHORIZATION other",
        "CREATE TABLE foreign_one.x (v int); INSERT foreign_one.x VALUES (1)",
        "CREATE PROCEDURE unbroken AS BEGIN SELECT COUNT(*) FROM t; UPDATE t SET v = v END",
        "CREATE PROCEDURE broken AS SELECT v FROM foreign_one.x",
        "CREATE PROCEDURE in_string AS EXEC ('SELECT v FROM t')",
        "CREATE PROCEDURE by_parameter AS EXEC sp_executesql N'SELECT v FROM t'",
        "CREATE PROCEDURE across AS SELECT v FROM e.dbo.far",
        "CREATE PROCEDURE defines AS TRUNCATE TABLE t",
        "CREATE PROCEDURE state AS SELECT COUNT(*) FROM sys.dm_os_wait_stats",
        "CREATE VIEW v_unbroken AS SELECT v FROM t",
        "CREATE VIEW v_broken AS SELECT v FROM foreign_one.x",
        "CREATE VIEW v_across AS SELECT v FROM e.dbo.far",
        "CREATE VIEW v_state AS SELECT wait_type FROM sys.dm_os_wait_stats",
        "CREATE FUNCTION f_broken () RETURNS int AS BEGIN RETURN (SELECT MAX(v) FROM foreign_one.x) END",
        "CREATE FUNCTION f_across () RETURNS TABLE AS RETURN SELECT v FROM e.dbo.far",
        "CREATE FUNCTION f_unbroken () RETURNS int AS BEGIN RETURN (SELECT COUNT(*) FROM t) END",
        "GRANT EXECUTE TO plain; GRANT SELECT ON v_unbroken TO plain; GRANT SELECT ON v_broken TO plain",
        "GRANT SELECT ON v_across TO plain; GRANT SELECT ON v_state TO plain; GRANT SELECT ON f_across TO plain",
    ] {
        fine(&mut sa, sql);
    }
    let cases: &[(&str, Option<i32>)] = &[
        ("EXEC unbroken", None),
        ("EXEC broken", Some(229)),
        ("EXEC in_string", Some(229)),
        ("EXEC by_parameter", Some(229)),
        ("EXEC across", Some(916)),
        ("EXEC defines", Some(1088)),
        ("EXEC state", Some(300)),
        ("SELECT * FROM v_unbroken", None),
        ("SELECT * FROM v_broken", Some(229)),
        ("SELECT * FROM v_across", Some(916)),
        ("SELECT * FROM v_state", Some(300)),
        ("SELECT dbo.f_broken()", Some(229)),
        ("SELECT dbo.f_unbroken()", None),
        ("SELECT * FROM f_across()", Some(916)),
        ("SELECT v FROM t", Some(229)),
    ];
    for trustworthy in ["OFF", "ON"] {
        // ON is not here: without EXECUTE AS nothing would be trusted.
        let lines = run(
            &mut sa,
            &format!("ALTER DATABASE d SET TRUSTWORTHY {trustworthy}"),
        );
        let refused = lines.iter().any(|l| l.starts_with("Msg 40517"));
        assert_eq!(refused, trustworthy == "ON", "{lines:?}");
        let mut plain = enter(&instance, "plain");
        fine(&mut plain, "USE d");
        for (sql, expected) in cases {
            let lines = run(&mut plain, sql);
            assert_eq!(
                refusal(&lines),
                *expected,
                "TRUSTWORTHY {trustworthy}: {sql}: {lines:?}"
            );
        }
        // A user of the other database still needs the right there.
        fine(
            &mut sa,
            "USE e; IF USER_ID('plain') IS NULL CREATE USER plain; USE d",
        );
        let lines = run(&mut plain, "EXEC across");
        assert_eq!(refusal(&lines), Some(229), "{lines:?}");
        fine(&mut sa, "USE e; DROP USER plain; USE d");
        let lines = run(&mut plain, "EXECUTE AS USER = 'dbo'");
        assert!(lines[0].starts_with("Msg 40517"), "{lines:?}");
    }
}
