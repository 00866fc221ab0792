//! Who there is and who may what: logins and server roles (in master), users, roles and permissions (in every database).
//!
//! `sysxlgns`, `sysowners` and `sysprivs` are SQL Server's; memberships are rows of `sysmultiobjrefs` (the class numbers
//! are *assumed*). What is fixed (the login `sa`, the fixed roles of the server) has a row only once it differs from how
//! it begins. Every change is a logged row of the caller's transaction, and the same change of what it sees.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::{DateTime, Value};

use crate::cells::{date, int, text};
use crate::claims::{Claim, Claims};
use crate::def::fold;
use crate::rows::{Base, id};

/// The SID of `sa`.
pub const SID_SA: [u8; 1] = [1];

/// Ids of the principals that every database has.
pub const DBO: i32 = 1;
pub const GUEST: i32 = 2;
pub const DB_OWNER: i32 = 16384;
pub const DB_ACCESSADMIN: i32 = 16385;
pub const DB_SECURITYADMIN: i32 = 16386;
pub const DB_DDLADMIN: i32 = 16387;
pub const DB_BACKUPOPERATOR: i32 = 16389;
pub const DB_DATAREADER: i32 = 16390;
pub const DB_DATAWRITER: i32 = 16391;
pub const DB_DENYDATAREADER: i32 = 16392;
pub const DB_DENYDATAWRITER: i32 = 16393;

/// The login `sa`.
pub const LOGIN_SA: i32 = 1;
/// The server role `public`.
pub const SERVER_PUBLIC: i32 = 2;
/// The server role `sysadmin`.
pub const SYSADMIN: i32 = 3;
pub const DBCREATOR: i32 = 9;
/// The fixed server roles with their ids.
pub const SERVER_ROLES: &[(i32, &str)] = &[
    (SERVER_PUBLIC, "public"),
    (SYSADMIN, "sysadmin"),
    (4, "securityadmin"),
    (5, "serveradmin"),
    (6, "setupadmin"),
    (7, "processadmin"),
    (8, "diskadmin"),
    (DBCREATOR, "dbcreator"),
    (10, "bulkadmin"),
];
/// Logins of users have ids from here.
pub(crate) const FIRST_LOGIN: i32 = 257;
/// Users and roles of a database that users make have ids from here.
pub(crate) const FIRST_USER: i32 = 5;
pub(crate) const LAST_USER: i32 = 16_383;

/// `sysmultiobjrefs.class` of memberships: `depid` is the member, `indepid` the role.
pub(crate) const CLASS_MEMBER: i64 = 25;
pub(crate) const CLASS_SERVER_MEMBER: i64 = 26;

/// `sysxlgns.status` bits.
pub(crate) const LOGIN_DISABLED: i64 = 0x80;
pub(crate) const LOGIN_POLICY: i64 = 0x10000;

/// A login of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginDef {
    pub id: i32,
    pub name: String,
    /// 16 bytes; one for `sa`.
    pub sid: Vec<u8>,
    pub disabled: bool,
    /// CHECK_POLICY.
    pub policy: bool,
    pub created: DateTime,
    pub modified: DateTime,
    /// DEFAULT_DATABASE.
    pub database: String,
    /// DEFAULT_LANGUAGE.
    pub language: String,
    /// As SQL Server keeps it; `None`: `sa` still has the password of the first start.
    pub hash: Option<Vec<u8>>,
}

/// A user or role of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserDef {
    pub id: i32,
    pub name: String,
    pub role: bool,
    /// Of its login; `None` for roles.
    pub sid: Option<Vec<u8>>,
    pub default_schema: String,
    pub created: DateTime,
    pub modified: DateTime,
}

/// A permission granted or denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivilegeDef {
    /// 0 database, 1 object, 3 schema, 100 server.
    pub class: u8,
    /// The object or schema; 0 for the whole.
    pub id: i32,
    pub grantee: i32,
    pub grantor: i32,
    /// `SL`, `IN`, `EX`, ... without blanks.
    pub kind: String,
    /// `G` granted, `W` granted with the grant option, `D` denied, [`REVOKED`].
    pub state: u8,
}

/// The state of CONNECT and CONNECT SQL, which everybody who is there has without a row, where they have been revoked.
pub const REVOKED: u8 = b'R';

/// The picture of it all; `logins` and `server_members` only in master.
#[derive(Clone, Debug, Default)]
pub struct Security {
    pub logins: BTreeMap<i32, LoginDef>,
    pub users: BTreeMap<i32, UserDef>,
    /// Role and member.
    pub members: BTreeSet<(i32, i32)>,
    pub server_members: BTreeSet<(i32, i32)>,
    /// In the order of their rows' keys.
    pub privileges: Vec<PrivilegeDef>,
    /// See [`crate::Snapshot`].
    pub(crate) claims: Arc<Claims>,
}

impl Security {
    pub fn login(&self, name: &str) -> Option<&LoginDef> {
        let folded = fold(name);
        self.claims.ask(|| Claim::Login(folded.clone()));
        self.logins.values().find(|l| fold(&l.name) == folded)
    }

    pub fn login_of(&self, sid: &[u8]) -> Option<&LoginDef> {
        self.logins.values().find(|l| l.sid == sid)
    }

    pub fn user(&self, name: &str) -> Option<&UserDef> {
        let folded = fold(name);
        self.claims.ask(|| Claim::User(folded.clone()));
        self.users.values().find(|u| fold(&u.name) == folded)
    }

    /// The user that a login is in this database.
    pub fn user_of(&self, sid: &[u8]) -> Option<&UserDef> {
        let mut users = self.users.values();
        users.find(|u| !u.role && u.sid.as_deref() == Some(sid))
    }

    /// Whether a principal holds CONNECT (class 0, `CO`) or CONNECT SQL (class 100, `COSQ`), which it has by being there
    /// unless `by_default` is false: what is denied to it or a role of its counts most, then what is granted to one of them.
    pub fn connects(
        &self,
        (class, kind): (u8, &str),
        principal: i32,
        roles: impl FnOnce(&Security) -> BTreeSet<i32>,
        by_default: bool,
    ) -> bool {
        let from = self.privileges.partition_point(|p| p.class < class);
        let of_class = self.privileges[from..].iter();
        let all = of_class.take_while(|p| p.class == class);
        let all: Vec<_> = all.filter(|p| p.kind == kind).collect();
        if all.is_empty() {
            return by_default;
        }
        let roles = roles(self);
        let states = |of: &dyn Fn(&PrivilegeDef) -> bool, state: u8| {
            all.iter().any(|p| of(p) && p.state == state)
        };
        let any = |p: &PrivilegeDef| roles.contains(&p.grantee);
        let own = |p: &PrivilegeDef| p.grantee == principal;
        let granted = states(&any, b'G') || states(&any, b'W');
        !states(&any, b'D') && (granted || by_default && !states(&own, REVOKED))
    }

    /// Puts a permission in its place, or takes it away.
    pub(crate) fn set_privilege(&mut self, given: &PrivilegeDef, state: Option<u8>) {
        let key = |p: &PrivilegeDef| (p.class, p.id, p.grantee, p.grantor, p.kind.clone());
        let same = |p: &PrivilegeDef| {
            (p.class, p.id, p.grantee) == (given.class, given.id, given.grantee)
                && p.kind == given.kind
        };
        self.privileges.retain(|p| !same(p));
        if let Some(state) = state {
            let new = key(given);
            let at = self.privileges.partition_point(|p| key(p) < new);
            let given = PrivilegeDef {
                state,
                ..given.clone()
            };
            self.privileges.insert(at, given);
        }
    }

    /// A principal of this database with every role it is in, through other roles too; `public` (0) is one.
    pub fn roles_of(&self, principal: i32) -> BTreeSet<i32> {
        closure(&self.members, principal, 0)
    }

    /// The same of a login and the server's roles.
    pub fn server_roles_of(&self, login: i32) -> BTreeSet<i32> {
        closure(&self.server_members, login, SERVER_PUBLIC)
    }
}

fn closure(members: &BTreeSet<(i32, i32)>, principal: i32, public: i32) -> BTreeSet<i32> {
    let mut found = BTreeSet::from([principal, public]);
    loop {
        let more = members.iter().filter(|(_, m)| found.contains(m));
        let more: Vec<i32> = more
            .map(|(r, _)| *r)
            .filter(|r| !found.contains(r))
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// `sa` as it begins.
fn sa(created: DateTime) -> LoginDef {
    LoginDef {
        id: LOGIN_SA,
        name: "sa".to_owned(),
        sid: vec![1],
        disabled: false,
        policy: true,
        created,
        modified: created,
        database: "master".to_owned(),
        language: "us_english".to_owned(),
        hash: None,
    }
}

fn binary(row: &[Value], at: usize) -> Option<Vec<u8>> {
    match row.get(at) {
        Some(Value::Binary(b)) => Some(b.clone()),
        _ => None,
    }
}

/// Reads the picture. `master`: with the logins.
pub(crate) fn load(base: &Base<'_>, master: bool) -> SqlResult<Security> {
    let mut out = Security::default();
    for row in base.rows(id::OWNERS, &[])? {
        let user = UserDef {
            id: int(&row, 0) as i32,
            name: text(&row, 1),
            role: text(&row, 2).trim_end() == "R",
            sid: match int(&row, 0) {
                1 => binary(&row, 3).or(Some(vec![1])),
                2 => Some(vec![0]),
                _ => binary(&row, 3),
            },
            default_schema: text(&row, 5),
            created: date(&row, 7),
            modified: date(&row, 8),
        };
        out.users.insert(user.id, user);
    }
    for row in base.rows(id::MULTIOBJREFS, &[])? {
        let pair = (int(&row, 3) as i32, int(&row, 1) as i32);
        match int(&row, 0) {
            CLASS_MEMBER => out.members.insert(pair),
            CLASS_SERVER_MEMBER => out.server_members.insert(pair),
            _ => false,
        };
    }
    out.members.insert((16384, 1));
    for row in base.rows(id::PRIVS, &[])? {
        out.privileges.push(PrivilegeDef {
            class: int(&row, 0) as u8,
            id: int(&row, 1) as i32,
            grantee: int(&row, 3) as i32,
            grantor: int(&row, 4) as i32,
            kind: text(&row, 5).trim_end().to_owned(),
            state: text(&row, 6).bytes().next().unwrap_or(b'G'),
        });
    }
    if master {
        let made = out.users.get(&1).map(|u| u.created);
        let first = sa(made.unwrap_or(DateTime { days: 0, ticks: 0 }));
        out.logins.insert(LOGIN_SA, first);
        out.server_members.insert((SYSADMIN, LOGIN_SA));
        for row in base.rows(id::XLGNS, &[])? {
            let status = int(&row, 3);
            let login = LoginDef {
                id: int(&row, 0) as i32,
                name: text(&row, 1),
                sid: binary(&row, 2).unwrap_or_default(),
                disabled: status & LOGIN_DISABLED != 0,
                policy: status & LOGIN_POLICY != 0,
                created: date(&row, 5),
                modified: date(&row, 6),
                database: text(&row, 7),
                language: text(&row, 8),
                hash: binary(&row, 9),
            };
            out.logins.insert(login.id, login);
        }
    }
    Ok(out)
}
