//! What is no table: modules, types, synonyms, schemas, principals and whose members they are, partition functions.
//!
//! | kind | name | text |
//! |---|---|---|
//! | `P`, `V`, `FN` | of the module | its definition |
//! | `type`, `schema`, `role`, `pf` | its own | none |
//! | `SN` | of the synonym | the schema that it is in |
//! | `user` | its own | its default schema |
//! | `login` | its own, in master | whether it is disabled |
//! | `member` | role and user | none |
//! | `srvmember` | server role and login, in master | none |
//! | `ps` | of the partition scheme | its function |
//! | `DB` | of the database, in master | none |

use std::collections::BTreeMap;

use super::model::{At, EVERY, No, Other, missing, refused};

type Done = Result<(), No>;
type Others = BTreeMap<Other, String>;

fn has(others: &Others, kind: &str, name: &str) -> bool {
    others.contains_key(&(kind.to_owned(), name.to_owned()))
}

/// Role and user, or server role and login.
fn pair(name: &str) -> (&str, &str) {
    name.split_once(' ').unwrap_or((name, ""))
}

/// Who comes to a role again, or leaves it again, does so.
fn is_membership(kind: &str) -> bool {
    kind == "member" || kind == "srvmember"
}

/// The role and the member are there.
fn has_ends(others: &Others, kind: &str, name: &str) -> bool {
    match kind {
        "member" => has(others, "role", pair(name).0) && has(others, "user", pair(name).1),
        _ => has(others, "login", pair(name).1),
    }
}

/// Makes one (with its text), changes or drops it.
pub fn change(others: &mut Others, what: &Other, text: Option<&String>, replaces: bool) -> Done {
    let (kind, name) = (what.0.as_str(), what.1.as_str());
    let used = |kind: &str, text: &str| others.iter().any(|(w, t)| w.0 == kind && t == text);
    let of = |kind: &str, mine: &dyn Fn((&str, &str)) -> bool| {
        others.keys().any(|w| w.0 == kind && mine(pair(&w.1)))
    };
    let Some(text) = text else {
        match kind {
            "schema" if used("SN", name) => return Err(refused(&[3729])),
            "role" if of("member", &|p| p.0 == name) => return Err(refused(&[15144])),
            "pf" if used("ps", name) => return Err(No::Unknown),
            _ => {}
        }
        // Nobody minds whether a member that goes was one.
        if others.remove(what).is_none() && !(is_membership(kind) && has_ends(others, kind, name)) {
            return Err(missing());
        }
        // Whoever goes is nobody's member any more.
        let leaves = |w: &Other| match kind {
            "user" => w.0 == "member" && pair(&w.1).1 == name,
            "login" => w.0 == "srvmember" && pair(&w.1).1 == name,
            _ => false,
        };
        others.retain(|w, _| !leaves(w));
        return Ok(());
    };
    if others.contains_key(what) != replaces && !is_membership(kind) {
        return Err(missing());
    }
    // It is no longer where it is to be taken from.
    let elsewhere = |from: &String| from == text || text != "dbo" && from != "dbo";
    if kind == "SN" && replaces && others.get(what).is_some_and(elsewhere) {
        return Err(missing());
    }
    let stands = match kind {
        "SN" => text == "dbo" || has(others, "schema", text),
        "member" | "srvmember" => has_ends(others, kind, name),
        "ps" => has(others, "pf", text),
        _ => true,
    };
    if !stands {
        return Err(missing());
    }
    others.insert(what.clone(), text.clone());
    Ok(())
}

/// Everything that such a change is about.
pub fn touches(db: &str, what: &Other, text: Option<&String>) -> Vec<(At, bool)> {
    let at = |kind: &str, name: &str| {
        let table = format!("{kind} {name}");
        let db = db.to_owned();
        (At { db, table }, true)
    };
    let mut all = vec![at(&what.0, &what.1)];
    match (what.0.as_str(), text) {
        ("SN", Some(schema)) => all.push(at("schema", schema)),
        ("ps", Some(function)) => all.push(at("pf", function)),
        ("member", _) => {
            all.push(at("role", pair(&what.1).0));
            all.push(at("user", pair(&what.1).1));
        }
        ("srvmember", _) => all.push(at("login", pair(&what.1).1)),
        ("DB", _) => {
            let (db, table) = (what.1.clone(), EVERY.to_owned());
            all.push((At { db, table }, true));
        }
        _ => {}
    }
    all
}
