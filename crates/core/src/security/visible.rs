//! What of a database's catalog a login may see: metadata visibility.
//!
//! A row of a catalog view is there for who owns the thing or holds any permission on it; its text for who may define it or
//! holds VIEW DEFINITION (Microsoft Learn, "Metadata Visibility Configuration"). Views and functions read a picture of the
//! catalog from which the rest was taken, so that none of them has to ask; it is made once for a login and a version.
//! Files and what is the same in every database are everybody's who is in the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_access::temporary::is_temporary_of;
use duramen_base::{DbId, ObjectId, SessionId, SqlResult};
use duramen_catalog::security::DB_OWNER;
use duramen_catalog::{ObjectDef, ObjectKind, Security, Snapshot};
use duramen_os::sync::Mutex;
use duramen_program::rights::Right;

use super::{Caller, On, Who};

/// How many pictures are kept.
const KEPT: usize = 64;
/// Schemas and roles that every database has have ids from here.
const FIRST_FIXED: i32 = 16_384;
/// Users that every database has have ids below.
const FIRST_USER: i32 = 5;

/// A catalog as somebody sees it.
#[derive(Debug, Default)]
pub struct Visible {
    pub snapshot: Arc<Snapshot>,
    /// Objects whose text is not to be seen.
    hidden: BTreeSet<ObjectId>,
}

impl Visible {
    /// The text of an object, or of what belongs to it.
    pub fn text<'t>(&self, object: ObjectId, text: &'t str) -> Option<&'t str> {
        (!self.hidden.contains(&object)).then_some(text)
    }

    /// A login's picture of tempdb as one of its sessions sees it: what the session's own temporary procedures say, too.
    fn to_session(self: Arc<Visible>, session: SessionId) -> Arc<Visible> {
        let is_own = |id: &ObjectId| {
            let found = self.snapshot.objects.get(id);
            found.is_some_and(|o| is_temporary_of(&o.name, session))
        };
        if !self.hidden.iter().any(is_own) {
            return self;
        }
        let others = self.hidden.iter().filter(|id| !is_own(id));
        Arc::new(Visible {
            snapshot: self.snapshot.clone(),
            hidden: others.copied().collect(),
        })
    }
}

/// The versions that a picture was made at, the catalog's and the login's, and the picture.
type Picture = (u64, u64, Arc<Visible>);

/// Pictures by database and login.
#[derive(Default)]
pub struct Pictures(Mutex<BTreeMap<(DbId, i32), Picture>>);

impl Pictures {
    /// The catalog of a database as the caller may see it; empty where it may not enter.
    pub fn of(&self, caller: &Caller<'_>, db: &OpenDb) -> SqlResult<Arc<Visible>> {
        let who = caller.who;
        let snapshot = db.catalog.snapshot()?;
        if who.sysadmin {
            return Ok(Arc::new(Visible {
                snapshot,
                ..Visible::default()
            }));
        }
        let Some(user) = who.user_in(db)? else {
            return Ok(Arc::default());
        };
        let key = (db.db.id, who.login);
        let versions = (snapshot.version, who.version);
        let tempdb = db.db.id == DbId::TEMPDB;
        let known = self.known(key, versions);
        let seen = known.unwrap_or_else(|| {
            let made = Arc::new(picture(who, &snapshot, user, tempdb));
            self.keep(key, versions, made.clone());
            made
        });
        match tempdb && !seen.hidden.is_empty() {
            true => Ok(seen.to_session(caller.session)),
            false => Ok(seen),
        }
    }

    fn known(&self, key: (DbId, i32), versions: (u64, u64)) -> Option<Arc<Visible>> {
        let all = self.0.lock();
        let (catalog, login, picture) = all.get(&key)?;
        ((*catalog, *login) == versions).then(|| picture.clone())
    }

    fn keep(&self, key: (DbId, i32), (catalog, login): (u64, u64), picture: Arc<Visible>) {
        let mut kept = self.0.lock();
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, (catalog, login, picture));
    }
}

/// Whether a right can be held of that kind of object: who may read all tables sees no procedure by it.
fn is_of(right: Right, kind: ObjectKind) -> bool {
    let runs = [ObjectKind::PROCEDURE, ObjectKind::SCALAR_FUNCTION].contains(&kind);
    match right {
        Right::Select | Right::Insert | Right::Update | Right::Delete => {
            !runs && kind != ObjectKind::TABLE_TYPE
        }
        Right::Execute => runs || [ObjectKind::SYNONYM, ObjectKind::TABLE_TYPE].contains(&kind),
        _ => true,
    }
}

fn picture(who: &Who, snapshot: &Arc<Snapshot>, user: i32, tempdb: bool) -> Visible {
    let roles = snapshot.security.roles_of(user);
    if user == super::DBO || roles.contains(&DB_OWNER) || who.server_may(Right::ControlServer) {
        return Visible {
            snapshot: snapshot.clone(),
            hidden: BTreeSet::new(),
        };
    }
    let holds = |right: Right, on: On| who.holds(snapshot, user, right, on);
    let of = |o: &ObjectDef| {
        // What belongs to a table is seen with it.
        let of = snapshot.objects.get(&o.parent).map_or(o, |p| &**p);
        let temporary = tempdb && of.name.starts_with('#');
        let on = On::Object {
            id: of.id.0,
            schema: of.schema,
        };
        (temporary, of.kind, on)
    };
    let seen = |o: &ObjectDef| {
        let (temporary, kind, on) = of(o);
        let all = Right::ALL.iter().copied().filter(|r| r.is_of_objects());
        temporary || all.filter(|r| is_of(*r, kind)).any(|r| holds(r, on))
    };
    // That a temporary procedure is there everybody sees; what it says may be another session's.
    let defined = |o: &ObjectDef| {
        let (temporary, _, on) = of(o);
        let all = [Right::ViewDefinition, Right::Alter, Right::Control];
        temporary && o.kind != ObjectKind::PROCEDURE || all.into_iter().any(|r| holds(r, on))
    };
    let mut picture = snapshot.only(&seen);
    let texts = picture.objects.values().filter(|o| !defined(o));
    let hidden = texts.map(|o| o.id).collect();
    let with_objects: BTreeSet<i32> = picture.objects.values().map(|o| o.schema).collect();
    picture.schemas.retain(|id, _| {
        let all = Right::ALL.iter().filter(|r| r.is_of_objects());
        *id < FIRST_USER
            || *id >= FIRST_FIXED
            || with_objects.contains(id)
            || all.copied().any(|r| holds(r, On::Schema(*id)))
    });
    picture.types.retain(|_, t| {
        let all = Right::ALL.iter().copied().filter(|r| r.is_of_objects());
        let mut of_types = all.filter(|r| is_of(*r, ObjectKind::TABLE_TYPE));
        of_types.any(|r| holds(r, On::Schema(t.schema)))
    });
    let on = On::Database;
    let defines = holds(Right::ViewDefinition, on);
    if !defines && !holds(Right::AlterAnyDataspace, on) {
        // Boundaries are values of rows.
        picture.partition_functions.clear();
        picture.partition_schemes.clear();
    }
    let properties = snapshot.properties.iter().filter(|p| match p.class {
        1 => picture.objects.contains_key(&ObjectId(p.id)),
        3 => picture.schemas.contains_key(&p.id),
        _ => true,
    });
    picture.properties = Arc::new(properties.cloned().collect());
    let all = (
        defines || holds(Right::AlterAnyUser, on),
        defines || holds(Right::AlterAnyRole, on),
    );
    picture.security = Arc::new(people(&snapshot.security, &roles, all));
    Visible {
        snapshot: Arc::new(picture),
        hidden,
    }
}

/// Users and roles that who is in `roles` may see: all of them, as far as `(users, roles)` says so, those of every database,
/// and its own.
fn people(security: &Security, own: &BTreeSet<i32>, (users, roles): (bool, bool)) -> Security {
    let mut seen = security.clone();
    seen.users.retain(|id, u| {
        let everybody = *id < FIRST_USER || *id >= FIRST_FIXED;
        let all = if u.role { roles } else { users };
        everybody || all || own.contains(id)
    });
    let there = |id: &i32| seen.users.contains_key(id);
    seen.members
        .retain(|(role, member)| own.contains(member) || roles && there(role) && there(member));
    let visible: Vec<_> = security
        .privileges
        .iter()
        .filter(|p| own.contains(&p.grantee) || (users || roles) && there(&p.grantee))
        .cloned()
        .collect();
    seen.privileges = visible;
    seen
}

/// Logins and their permissions that a login may see: its own, `sa`, and all with ALTER ANY LOGIN or VIEW ANY DEFINITION.
pub fn logins(who: &Who, security: &Arc<Security>) -> Arc<Security> {
    let all = [Right::AlterAnyLogin, Right::ViewAnyDefinition];
    if all.into_iter().any(|r| who.server_may(r)) {
        return security.clone();
    }
    let own = security.server_roles_of(who.login);
    let mut seen = (**security).clone();
    let sa = duramen_catalog::security::LOGIN_SA;
    seen.logins.retain(|id, _| *id == who.login || *id == sa);
    seen.server_members
        .retain(|(_, member)| own.contains(member));
    seen.privileges
        .retain(|p| p.class != 100 || own.contains(&p.grantee));
    Arc::new(seen)
}
