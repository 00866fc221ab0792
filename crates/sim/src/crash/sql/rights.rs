//! Rights in a database and on the server: which are held, and what a user may do by its own and those of its roles.
//!
//! A right goes with what it is on and with whoever holds it; a table that gets another name keeps those on it. Users hold
//! CONNECT, and logins CONNECT SQL, from their beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{At, Db, No, missing};

type Done = Result<(), No>;

/// What a right is on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum On {
    Server,
    Database,
    Schema(String),
    Table(String),
    Procedure(String),
}

impl On {
    /// As the catalog's lines have it.
    fn word(&self) -> String {
        match self {
            On::Server => "server".to_owned(),
            On::Database => "database".to_owned(),
            On::Schema(name) => format!("schema {name}"),
            On::Table(name) | On::Procedure(name) => format!("object {name}"),
        }
    }

    /// What stands between the permission and TO.
    pub fn sql(&self) -> String {
        match self {
            On::Server | On::Database => String::new(),
            On::Schema(name) => format!(" ON SCHEMA::{name}"),
            On::Table(name) | On::Procedure(name) => format!(" ON dbo.{name}"),
        }
    }

    /// The permissions that are given on it.
    pub fn permissions(&self) -> &'static [&'static str] {
        match self {
            On::Server => &["VIEW SERVER STATE"],
            On::Database => &["CREATE TABLE", "SELECT", "EXECUTE"],
            On::Schema(_) => &["SELECT"],
            On::Table(_) => &["SELECT", "INSERT"],
            On::Procedure(_) => &["EXECUTE"],
        }
    }

    fn is_there(&self, db: &Db) -> bool {
        match self {
            On::Server | On::Database => true,
            On::Schema(name) => db.has("schema", name),
            On::Table(name) => db.tables.contains_key(name),
            On::Procedure(name) => db.has("P", name),
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Right {
    pub on: On,
    pub permission: &'static str,
    pub to: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    Granted,
    Denied,
}

pub type Rights = BTreeMap<Right, Held>;

/// The kind of principal that a name is one of.
pub fn kind_of(to: &str) -> &'static str {
    match to.as_bytes() {
        [b'u', ..] => "user",
        [b'l', ..] => "login",
        _ => "role",
    }
}

/// GRANT, DENY, or REVOKE of what may not be held.
pub fn change(db: &mut Db, right: &Right, held: Option<Held>) -> Done {
    if !right.on.is_there(db) || !db.has(kind_of(&right.to), &right.to) {
        return Err(missing());
    }
    match held {
        Some(held) => db.rights.insert(right.clone(), held),
        None => db.rights.remove(right),
    };
    Ok(())
}

/// What has gone takes its rights along.
pub fn follow(db: &mut Db) {
    let mut rights = std::mem::take(&mut db.rights);
    rights.retain(|r, _| r.on.is_there(db) && db.has(kind_of(&r.to), &r.to));
    db.rights = rights;
}

/// A table has another name.
pub fn renamed(db: &mut Db, from: &str, to: &str) {
    let moved = |(mut right, held): (Right, Held)| {
        if matches!(&right.on, On::Table(name) if name == from) {
            right.on = On::Table(to.to_owned());
        }
        (right, held)
    };
    db.rights = std::mem::take(&mut db.rights)
        .into_iter()
        .map(moved)
        .collect();
}

/// Everything that such a change is about.
pub fn touches(db: &str, right: &Right) -> Vec<(At, bool)> {
    let at = |table: String| {
        let db = db.to_owned();
        (At { db, table }, true)
    };
    let mut all = vec![at(format!("{} {}", kind_of(&right.to), right.to))];
    match &right.on {
        On::Server | On::Database => {}
        On::Schema(name) => all.push(at(format!("schema {name}"))),
        On::Table(name) => all.push(at(name.clone())),
        On::Procedure(name) => all.push(at(format!("P {name}"))),
    }
    all
}

/// What the catalog views say of them, line by line.
pub fn catalogued(db: &Db, out: &mut Vec<String>) {
    for what in db.others.keys() {
        match what.0.as_str() {
            "user" => out.push(format!("right database CONNECT {} G", what.1)),
            "login" => out.push(format!("right server CONNECT SQL {} G", what.1)),
            _ => {}
        }
    }
    for (right, held) in &db.rights {
        let state = match held {
            Held::Granted => 'G',
            Held::Denied => 'D',
        };
        let (on, permission, to) = (right.on.word(), right.permission, &right.to);
        out.push(format!("right {on} {permission} {to} {state}"));
    }
}

/// What rights can be on, of what there is.
pub fn securables(db: &Db) -> Vec<On> {
    let mut all = vec![On::Database];
    all.extend(db.tables.keys().cloned().map(On::Table));
    for what in db.others.keys() {
        match what.0.as_str() {
            "P" => all.push(On::Procedure(what.1.clone())),
            "schema" => all.push(On::Schema(what.1.clone())),
            _ => {}
        }
    }
    all
}

/// A user may do that: it or a role of its has been granted it there or on the database, and neither has been denied it.
fn may(db: &Db, user: &str, on: &On, permission: &str) -> bool {
    let of = |to: &str| to == user || db.has("member", &format!("{to} {user}"));
    let meant = |r: &Right| r.on == *on || r.on == On::Database;
    let held = db.rights.iter();
    let held = held.filter(|(r, _)| r.permission == permission && meant(r) && of(&r.to));
    let all: Vec<Held> = held.map(|(_, held)| *held).collect();
    !all.is_empty() && !all.contains(&Held::Denied)
}

/// What users may do, line by line.
pub fn done_by_users(db: &Db) -> BTreeSet<String> {
    let users = db.others.keys().filter(|w| w.0 == "user");
    let mut all = BTreeSet::new();
    for (_, user) in users {
        for on in securables(db) {
            let permissions = on.permissions().iter();
            let held = permissions.filter(|p| may(db, user, &on, p));
            all.extend(held.map(|p| format!("{user} may {p} on {}", on.word())));
        }
    }
    all
}

/// Asks for the lines of [`done_by_users`] that are about one user, in its own name: there is a row for what it may do.
pub fn question(db: &Db, user: &str) -> String {
    let mut rows = Vec::new();
    for on in securables(db) {
        let (class, name) = match &on {
            On::Server | On::Database => ("'DATABASE'", "DB_NAME()".to_owned()),
            On::Schema(name) => ("'SCHEMA'", format!("'{name}'")),
            On::Table(name) | On::Procedure(name) => ("'OBJECT'", format!("'dbo.{name}'")),
        };
        for p in on.permissions() {
            let line = format!("{user} may {p} on {}", on.word());
            rows.push(format!(
                "('{line}', HAS_PERMS_BY_NAME({name}, {class}, '{p}'))"
            ));
        }
    }
    let rows = rows.join(", ");
    format!("SELECT v.line FROM (VALUES {rows}) AS v(line, may) WHERE v.may = 1")
}

/// The catalog's lines of what one principal holds.
pub fn of(db: &Db, to: &str) -> BTreeSet<String> {
    let mut all = Vec::new();
    catalogued(db, &mut all);
    let is_of = |line: &String| line.rsplit(' ').nth(1) == Some(to);
    all.into_iter().filter(is_of).collect()
}
