//! Metadata visibility: which rows of the catalog's views somebody sees, held against `tests/visible.tsv`.

use std::collections::BTreeMap;

use super::people::{enter, fine, set_up};
use super::table::fields;
use crate::{instance, run};

/// What there is to be seen; the ids of some of it stand in the table's conditions.
const THINGS: &[&str] = &[
    "CREATE TABLE vt2 (id int PRIMARY KEY)",
    "CREATE TABLE vt (id int IDENTITY PRIMARY KEY, v int DEFAULT 7 CONSTRAINT vc CHECK (v > 0), w AS v + 1, \
     r int CONSTRAINT vfk REFERENCES vt2 (id))",
    "CREATE INDEX vi ON vt (v); CREATE STATISTICS vst ON vt (r)",
    "CREATE VIEW vv AS SELECT id FROM vt2",
    "CREATE PROCEDURE vp @a int AS SELECT @a",
    "CREATE FUNCTION vf () RETURNS int AS BEGIN RETURN 1 END",
    "CREATE TRIGGER vtr ON vt AFTER INSERT AS RETURN",
    "CREATE SYNONYM vs FOR vt",
    "CREATE SCHEMA hidden",
    "EXEC sp_addextendedproperty 'n', 'v', 'SCHEMA', 'dbo', 'TABLE', 'vt'",
    "GRANT SELECT ON vt2 TO u0",
    "CREATE TYPE vty FROM int",
    "CREATE TYPE vtt AS TABLE (a int)",
    "ALTER TABLE vt ADD t vty",
];

/// Who looks, besides those of the other tests, and what makes it so.
const MORE: &[(&str, &str)] = &[
    ("owner", "ALTER ROLE db_owner ADD MEMBER owner"),
    (
        "selects",
        "GRANT SELECT ON vt TO selects; GRANT SELECT ON vv TO selects",
    ),
    ("executes", "GRANT EXECUTE ON vp TO executes"),
    ("executesall", "GRANT EXECUTE TO executesall"),
    ("defines", "GRANT VIEW DEFINITION ON vt TO defines"),
    ("definesall", "GRANT VIEW DEFINITION TO definesall"),
    ("secadmin", ""),
];
const OTHERS: &[&str] = &[
    "plain",
    "backupop",
    "dbstate",
    "srvstate",
    "datareader",
    "ddladmin",
    "dbsecurity",
    "controls",
    "sysad",
];

/// What stands for an id in a condition, and the query of it.
const IDS: &[(&str, &str)] = &[
    ("{vt}", "OBJECT_ID('vt')"),
    ("{vv}", "OBJECT_ID('vv')"),
    ("{vp}", "OBJECT_ID('vp')"),
    ("{vf}", "OBJECT_ID('vf')"),
    ("{vtr}", "OBJECT_ID('vtr')"),
    ("{u0}", "USER_ID('u0')"),
    ("{r1}", "USER_ID('r1')"),
    ("{l0}", "SUSER_ID('l0')"),
    (
        "{pf}",
        "(SELECT function_id FROM sys.partition_functions WHERE name = 'pf')",
    ),
];

#[test]
fn rows_of_the_catalog_are_there_for_who_may_see_them() {
    let instance = instance();
    let mut sa = set_up(&instance);
    fine(&mut sa, "USE d");
    for sql in THINGS {
        fine(&mut sa, sql);
    }
    for (name, setup) in MORE {
        if *name != "secadmin" {
            fine(
                &mut sa,
                &format!("CREATE LOGIN {name} WITH PASSWORD = 'Secret-2'"),
            );
        }
        fine(&mut sa, &format!("CREATE USER {name}; {setup}"));
    }
    let id = |(name, of): &(&'static str, &str)| {
        (*name, run(&mut sa, &format!("SELECT {of}"))[1].clone())
    };
    let ids: Vec<(&str, String)> = IDS.iter().map(id).collect();
    assert!(
        ids.iter().all(|(_, id)| id.parse::<i32>().is_ok()),
        "{ids:?}"
    );
    let lines = fields("visible.tsv");
    let group = |l: &Vec<String>| match &l[..] {
        [name, who] => Some((name.clone(), who.clone())),
        _ => None,
    };
    let groups: BTreeMap<String, String> = lines.iter().filter_map(group).collect();
    let mut wrong = Vec::new();
    let more = MORE.iter().map(|(name, _)| *name);
    for name in more.chain(OTHERS.iter().copied()) {
        let mut s = enter(&instance, name);
        fine(&mut s, "USE d");
        for line in lines.iter().filter(|l| l.len() != 2) {
            let [view, rows, who, source] = &line[..] else {
                panic!("a line of four fields: {line:?}");
            };
            assert!(!source.is_empty(), "{view} has no source");
            let is_in = |of: &str| of.split(' ').any(|w| w == name);
            let (who, exactly) = match who.strip_prefix('=') {
                Some(who) => (who, true),
                None => (who.as_str(), who == "sysad"),
            };
            let mut all = !exactly && matches!(name, "sysad" | "controls") || name == who;
            for part in who.split(' ') {
                all |= match part.starts_with('@') {
                    true => is_in(&groups[part]),
                    false => part == name,
                };
            }
            let mut sql = format!("SELECT COUNT(*) FROM {view} WHERE {rows}");
            for (place, id) in &ids {
                sql = sql.replace(place, id);
            }
            let lines = run(&mut s, &sql);
            let count = lines.get(1).and_then(|l| l.parse::<i64>().ok());
            if count.map(|n| n > 0) != Some(all) {
                wrong.push(format!("{name}: {sql}: {lines:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
