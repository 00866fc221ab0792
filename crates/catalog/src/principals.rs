//! Logins, users, roles and permissions: made, changed, given and taken.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlResult};
use duramen_txn::{Resource, Transaction};
use duramen_types::Value;

use crate::catalog::CatalogDb;
use crate::cells::{int, text};
use crate::claims::Claim;
use crate::def::fold;
use crate::draft::again;
use crate::rows::{Base, Fields, id};
use crate::security::*;
use crate::snapshot::Snapshot;

impl CatalogDb {
    /// Changes the picture as the rows were changed.
    fn secure(&self, tx: &Transaction, change: impl Fn(&mut Security) + Send + Sync + 'static) {
        self.patch(tx, move |s, _| change(Arc::make_mut(&mut s.security)));
    }

    fn login_lock(&self, login: i32) -> Resource {
        self.metadata(id::XLGNS, 0, login)
    }

    fn user_lock(&self, user: i32) -> Resource {
        self.metadata(id::OWNERS, 0, user)
    }

    /// A user or role that something is given to stays until `tx` ends.
    pub(crate) fn hold_user(&self, tx: &Transaction, user: i32) -> SqlResult<()> {
        // Those that every database has are never dropped.
        if !(FIRST_USER..=LAST_USER).contains(&user) {
            return Ok(());
        }
        let there = |s: &Snapshot| s.security.users.contains_key(&user);
        self.hold(tx, self.user_lock(user), there)
    }

    fn hold_login(&self, tx: &Transaction, login: i32) -> SqlResult<()> {
        if login < FIRST_LOGIN {
            return Ok(());
        }
        let there = |s: &Snapshot| s.security.logins.contains_key(&login);
        self.hold(tx, self.login_lock(login), there)
    }

    /// The login belongs to `tx`, under the name that it has and the one that it gets.
    fn claim_login(&self, tx: &Transaction, login: i32, name: &str) -> SqlResult<()> {
        let seen = self.seen_by(tx)?;
        let old = seen.security.logins.get(&login);
        let claims = old.map(|l| Claim::Login(fold(&l.name)));
        let claims = claims
            .into_iter()
            .chain([Claim::Login(fold(name)), Claim::Number(id::XLGNS, 0, login)]);
        self.claim(tx, claims, self.login_lock(login))?;
        let seen = self.seen_by(tx)?;
        match seen.security.login(name).is_some_and(|l| l.id != login) {
            true => Err(again()),
            false => Ok(()),
        }
    }

    fn claim_user(&self, tx: &Transaction, user: i32, name: &str) -> SqlResult<()> {
        let seen = self.seen_by(tx)?;
        let old = seen.security.users.get(&user);
        let claims = old.map(|u| Claim::User(fold(&u.name)));
        let claims = claims
            .into_iter()
            .chain([Claim::User(fold(name)), Claim::Number(id::OWNERS, 0, user)]);
        self.claim(tx, claims, self.user_lock(user))?;
        let seen = self.seen_by(tx)?;
        match seen.security.user(name).is_some_and(|u| u.id != user) {
            true => Err(again()),
            false => Ok(()),
        }
    }

    /// An id that no login has had.
    pub fn next_login_id(&self) -> SqlResult<i32> {
        let snapshot = self.snapshot()?;
        let last = snapshot.security.logins.keys().next_back().copied();
        let least = last.unwrap_or(0).max(FIRST_LOGIN - 1) + 1;
        let taken = |id: &i32| self.claims.has(&Claim::Number(id::XLGNS, 0, *id));
        Ok((least..).find(|id| !taken(id)).unwrap_or(least))
    }

    /// Writes a login, new or changed.
    pub fn put_login(&self, tx: &Transaction, login: &LoginDef) -> SqlResult<()> {
        let base = self.base(tx);
        self.claim_login(tx, login.id, &login.name)?;
        let flag = |on: bool, bit| if on { bit } else { 0 };
        base.delete(id::XLGNS, &[Value::Int(login.id)], |_| true)?;
        let hash = login.hash.clone().map_or(Value::Null, Value::Binary);
        base.insert(
            Fields::new(id::XLGNS)?
                .int("id", i64::from(login.id))
                .text("name", &login.name)
                .set("sid", Value::Binary(login.sid.clone()))
                .int(
                    "status",
                    flag(login.disabled, LOGIN_DISABLED) | flag(login.policy, LOGIN_POLICY),
                )
                .set("type", Value::varchar("S"))
                .set("crdate", Value::DateTime(login.created))
                .set("modate", Value::DateTime(login.modified))
                .text("dbname", &login.database)
                .text("lang", &login.language)
                .set("pwdhash", hash),
        )?;
        let login = login.clone();
        self.secure(tx, move |s| {
            s.logins.insert(login.id, login.clone());
        });
        Ok(())
    }

    /// Removes a login with its memberships and permissions.
    pub fn drop_login(&self, tx: &Transaction, login: i32) -> SqlResult<()> {
        let base = self.base(tx);
        if let Some(l) = self.seen_by(tx)?.security.logins.get(&login) {
            self.claim_login(tx, login, &l.name)?;
        }
        base.delete(id::XLGNS, &[Value::Int(login)], |_| true)?;
        base.delete(id::MULTIOBJREFS, &[], |row| {
            int(row, 0) == CLASS_SERVER_MEMBER && int(row, 1) == i64::from(login)
        })?;
        base.delete(id::PRIVS, &[], |row| {
            int(row, 0) == 100 && int(row, 3) == i64::from(login)
        })?;
        self.secure(tx, move |s| {
            s.logins.remove(&login);
            s.server_members.retain(|(_, m)| *m != login);
            s.privileges
                .retain(|p| !(p.class == 100 && p.grantee == login));
        });
        Ok(())
    }

    /// Puts a member into a role, or takes it out; `server`: a login and a role of the server.
    pub fn set_member(
        &self,
        tx: &Transaction,
        server: bool,
        (role, member): (i32, i32),
        is_member: bool,
    ) -> SqlResult<()> {
        match server {
            true => self.hold_login(tx, member)?,
            false => {
                self.hold_user(tx, role)?;
                self.hold_user(tx, member)?;
            }
        }
        let class = if server {
            CLASS_SERVER_MEMBER
        } else {
            CLASS_MEMBER
        };
        self.claim_rows(tx, id::MULTIOBJREFS, class, role)?;
        let base = self.base(tx);
        base.delete(id::MULTIOBJREFS, &[], |row| {
            int(row, 0) == class
                && int(row, 1) == i64::from(member)
                && int(row, 3) == i64::from(role)
        })?;
        if is_member {
            base.insert(
                Fields::new(id::MULTIOBJREFS)?
                    .int("class", class)
                    .int("depid", i64::from(member))
                    .int("indepid", i64::from(role)),
            )?;
        }
        self.secure(tx, move |s| {
            let members = match server {
                true => &mut s.server_members,
                false => &mut s.members,
            };
            match is_member {
                true => members.insert((role, member)),
                false => members.remove(&(role, member)),
            };
        });
        Ok(())
    }

    /// An id for a user or role.
    pub fn next_user_id(&self) -> SqlResult<i32> {
        let snapshot = self.snapshot()?;
        let taken = &snapshot.security.users;
        let claimed = |id: &i32| self.claims.has(&Claim::Number(id::OWNERS, 0, *id));
        let mut free =
            (FIRST_USER..=LAST_USER).filter(|id| !taken.contains_key(id) && !claimed(id));
        Ok(free.next().unwrap_or(LAST_USER))
    }

    /// Writes a user or role, new or changed.
    pub fn put_user(&self, tx: &Transaction, user: &UserDef) -> SqlResult<()> {
        self.claim_user(tx, user.id, &user.name)?;
        let base = self.base(tx);
        base.delete(id::OWNERS, &[Value::Int(user.id)], |_| true)?;
        let sid = user.sid.clone().map_or(Value::Null, Value::Binary);
        base.insert(
            Fields::new(id::OWNERS)?
                .int("id", i64::from(user.id))
                .text("name", &user.name)
                .set("type", Value::varchar(if user.role { "R" } else { "S" }))
                .set("sid", sid)
                .text("dfltsch", &user.default_schema)
                .set("created", Value::DateTime(user.created))
                .set("modified", Value::DateTime(user.modified)),
        )?;
        let user = user.clone();
        self.secure(tx, move |s| {
            s.users.insert(user.id, user.clone());
        });
        Ok(())
    }

    /// Removes a user or role with its memberships and what it was granted.
    pub fn drop_user(&self, tx: &Transaction, user: i32) -> SqlResult<()> {
        if let Some(u) = self.seen_by(tx)?.security.users.get(&user) {
            self.claim_user(tx, user, &u.name)?;
        }
        self.unused(tx, |s| {
            s.schemas.values().any(|d| d.owner == user)
                || s.security.members.iter().any(|(role, _)| *role == user)
        })?;
        let base = self.base(tx);
        let gone = user;
        let user = i64::from(user);
        base.delete(id::OWNERS, &[Value::Int(gone)], |_| true)?;
        base.delete(id::MULTIOBJREFS, &[], |row| {
            int(row, 0) == CLASS_MEMBER && (int(row, 1) == user || int(row, 3) == user)
        })?;
        base.delete(id::PRIVS, &[], |row| {
            int(row, 0) < 100 && int(row, 3) == user
        })?;
        self.secure(tx, move |s| {
            s.users.remove(&gone);
            s.members.retain(|(r, m)| *r != gone && *m != gone);
            s.privileges
                .retain(|p| !(p.class < 100 && p.grantee == gone));
        });
        Ok(())
    }

    /// Writes a permission, or takes it away when `state` is `None`.
    pub fn set_privilege(
        &self,
        tx: &Transaction,
        p: &PrivilegeDef,
        state: Option<u8>,
    ) -> SqlResult<()> {
        match p.class {
            100 => self.hold_login(tx, p.grantee)?,
            _ => self.hold_user(tx, p.grantee)?,
        }
        match p.class {
            1 => {
                let object = Resource::Object(self.database().id, ObjectId(p.id));
                let there = |s: &Snapshot| s.objects.contains_key(&ObjectId(p.id));
                if self.seen_by(tx)?.objects.contains_key(&ObjectId(p.id)) {
                    self.hold(tx, object, there)?;
                }
            }
            3 => self.hold_schema(tx, p.id)?,
            _ => {}
        }
        self.claim_rows(tx, id::PRIVS, i64::from(p.class), p.id)?;
        let base = self.base(tx);
        let same = |row: &[Value]| {
            int(row, 0) == i64::from(p.class)
                && int(row, 1) == i64::from(p.id)
                && int(row, 3) == i64::from(p.grantee)
                && text(row, 5).trim_end() == p.kind
        };
        base.delete(id::PRIVS, &[], same)?;
        if let Some(state) = state {
            let state = char::from(state).to_string();
            base.insert(
                Fields::new(id::PRIVS)?
                    .int("class", i64::from(p.class))
                    .int("id", i64::from(p.id))
                    .int("grantee", i64::from(p.grantee))
                    .int("grantor", i64::from(p.grantor))
                    .set("type", Value::varchar(&format!("{:4}", p.kind)))
                    .set("state", Value::varchar(&state)),
            )?;
        }
        let given = p.clone();
        self.secure(tx, move |s| s.set_privilege(&given, state));
        Ok(())
    }

    /// Takes away what was granted or denied on an object or schema that is being dropped.
    pub(crate) fn forget_privileges(&self, base: &Base<'_>, class: u8, of: i32) -> SqlResult<()> {
        let key = [Value::TinyInt(class), Value::Int(of)];
        if base.delete(id::PRIVS, &key, |_| true)? > 0 {
            self.secure(base.tx, move |s| {
                s.privileges.retain(|p| !(p.class == class && p.id == of));
            });
        }
        Ok(())
    }
}
