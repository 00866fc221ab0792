//! CREATE, ALTER and DROP of logins and of the server's role members, in master.
//!
//! Texts and numbers: Microsoft Learn, "CREATE LOGIN", "ALTER LOGIN", "DROP LOGIN", "ALTER SERVER ROLE". Logins have
//! passwords only; MUST_CHANGE and CHECK_EXPIRATION = ON are refused, as no password grows old here.

use std::fmt::Display;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::now;
use duramen_catalog::security::{LOGIN_SA, SERVER_PUBLIC, SERVER_ROLES, SYSADMIN};
use duramen_catalog::{LoginDef, Security};
use duramen_core::security::{is_above, password};
use duramen_program::rights::Right;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{self, NamedOption, OptionValue};

use super::failure::RunResult;
use super::{Run, not_supported};

/// The option of that name, with what it is set to.
pub(super) fn option<'a>(options: &'a [NamedOption], name: &str) -> Option<&'a NamedOption> {
    options.iter().find(|o| o.name == name)
}

pub(super) fn word(o: &NamedOption) -> String {
    match &o.value {
        Some(OptionValue::Word(w)) => w.clone(),
        Some(OptionValue::String(s)) => s.value.clone(),
        _ => String::new(),
    }
}

/// `Cannot alter the login 'x', because it does not exist or you do not have permission.`
pub(super) fn cannot(verb: &str, what: &str, name: &str) -> SqlError {
    let args: [&dyn Display; 3] = [&verb, &what, &name];
    SqlError::new(&messages::CANNOT_ACT_ON_PRINCIPAL, &args)
}

fn cannot_at_all(verb: &str, what: &str, name: &str) -> SqlError {
    let args: [&dyn Display; 3] = [&verb, &what, &name];
    SqlError::new(&messages::CANNOT_ACT_ON, &args)
}

impl Run<'_> {
    /// CREATE or ALTER LOGIN, USER, ROLE, SERVER ROLE.
    pub(super) fn principal(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        match (stmt.kind.as_str(), stmt.alter) {
            ("LOGIN", false) => self.create_login(stmt),
            ("LOGIN", true) => self.alter_login(stmt),
            ("SERVER ROLE", _) => self.alter_server_role(stmt),
            ("USER", false) => self.create_user(stmt),
            ("USER", true) => self.alter_user(stmt),
            (_, false) => self.create_role(stmt),
            (_, true) => self.alter_role(stmt),
        }
    }

    fn security_of_master(&self) -> RunResult<std::sync::Arc<Security>> {
        let master = self.session.instance.databases.master()?;
        Ok(master.catalog.snapshot()?.security.clone())
    }

    /// Whether the session is not below a login: of sysadmin, or holding CONTROL SERVER. Who could change its password
    /// would be that login.
    fn reaches(&self, login: i32, security: &Security) -> bool {
        let sysadmin = security.server_roles_of(login).contains(&SYSADMIN);
        let own = self.session.who.sysadmin;
        let controls = self.session.server_may(Right::ControlServer);
        own || !sysadmin && (!is_above(login, security) || controls)
    }

    /// 15247 for who may not change logins.
    fn may_alter_logins(&self) -> RunResult<()> {
        match self.session.server_may(Right::AlterAnyLogin) {
            true => Ok(()),
            false => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]).into()),
        }
    }

    fn create_login(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        self.may_alter_logins()?;
        let security = self.security_of_master()?;
        let name = &stmt.name;
        let reserved = SERVER_ROLES
            .iter()
            .any(|(_, r)| r.eq_ignore_ascii_case(name));
        if reserved || security.login(name).is_some() {
            return Err(SqlError::new(&messages::LOGIN_ALREADY_EXISTS, &[name]).into());
        }
        if name.contains('\\') {
            return Err(SqlError::new(&messages::INVALID_NAME_CHARACTERS, &[name]).into());
        }
        let Some(given) = option(&stmt.options, "PASSWORD") else {
            return Err(not_supported("CREATE LOGIN without PASSWORD").into());
        };
        let time = now();
        let mut login = LoginDef {
            id: self
                .session
                .instance
                .databases
                .master()?
                .catalog
                .next_login_id()?,
            name: name.clone(),
            sid: new_sid(),
            disabled: false,
            policy: true,
            created: time,
            modified: time,
            database: "master".to_owned(),
            language: "us_english".to_owned(),
            hash: None,
        };
        self.set_login(&mut login, &stmt.options, false)?;
        login.hash = Some(secret(given, &stmt.options, &login)?);
        if let Some(sid) = option(&stmt.options, "SID") {
            login.sid = match &sid.value {
                Some(OptionValue::Binary(b)) if b.len() == 16 => b.clone(),
                _ => return Err(SqlError::new(&messages::SID_LENGTH, &[]).into()),
            };
            if security.login_of(&login.sid).is_some() {
                return Err(SqlError::new(&messages::SID_IN_USE, &[]).into());
            }
        }
        self.define_in("master", Kind::CreateLogin.definition(), |d| {
            d.db.catalog.put_login(d.tx, &login)
        })
    }

    /// What CREATE and ALTER LOGIN have in common.
    fn set_login(
        &self,
        login: &mut LoginDef,
        options: &[NamedOption],
        alter: bool,
    ) -> RunResult<()> {
        for o in options {
            match o.name.as_str() {
                "PASSWORD" | "HASHED" | "OLD_PASSWORD" | "UNLOCK" => {}
                "SID" if !alter => {}
                "NAME" | "ENABLE" | "DISABLE" if alter => {}
                "DEFAULT_DATABASE" => {
                    let database = word(o);
                    let instance = &self.session.instance;
                    login.database = instance.database_name(&database).ok_or_else(|| {
                        SqlError::new(&messages::DATABASE_NAME_NOT_FOUND, &[&database])
                    })?;
                }
                "DEFAULT_LANGUAGE" => {
                    let mut own = duramen_program::options::Options::default();
                    if !own.set_language(&word(o)) {
                        let message = &messages::INVALID_LANGUAGE_NAME;
                        return Err(SqlError::new(message, &[&word(o)]).into());
                    }
                    login.language = own.language.data().name.to_owned();
                }
                "CHECK_POLICY" => {
                    let on = o.value.as_ref().and_then(OptionValue::as_on_off);
                    login.policy = on.unwrap_or(true);
                }
                "CHECK_EXPIRATION" => {
                    if o.value.as_ref().and_then(OptionValue::as_on_off) != Some(false) {
                        return Err(not_supported("CHECK_EXPIRATION = ON").into());
                    }
                }
                other => return Err(not_supported(&format!("LOGIN ... {other}")).into()),
            }
        }
        Ok(())
    }

    fn alter_login(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let security = self.security_of_master()?;
        let Some(found) = security.login(&stmt.name) else {
            return Err(cannot("alter", "login", &stmt.name).into());
        };
        let mut login = found.clone();
        let old = option(&stmt.options, "OLD_PASSWORD");
        // Everybody may change the own password, knowing the old one.
        let own = login.id == self.session.who.login && old.is_some();
        let only_password = stmt
            .options
            .iter()
            .all(|o| matches!(o.name.as_str(), "PASSWORD" | "OLD_PASSWORD"));
        if !(own && only_password) {
            let may = self.session.server_may(Right::AlterAnyLogin);
            if !may || !self.reaches(login.id, &security) {
                return Err(cannot("alter", "login", &stmt.name).into());
            }
        }
        if let Some(old) = old {
            let matches = |h: &Vec<u8>| password::matches(&word(old), h);
            match &login.hash {
                Some(hash) if matches(hash) => {}
                // The first password of sa is not known to this room.
                None => {
                    return Err(not_supported("OLD_PASSWORD with the first password of sa").into());
                }
                Some(_) => return Err(cannot("alter", "login", &stmt.name).into()),
            }
        }
        self.set_login(&mut login, &stmt.options, true)?;
        if let Some(name) = option(&stmt.options, "NAME") {
            let name = word(name);
            let other = security.login(&name).is_some_and(|l| l.id != login.id);
            if other
                || SERVER_ROLES
                    .iter()
                    .any(|(_, r)| r.eq_ignore_ascii_case(&name))
            {
                return Err(SqlError::new(&messages::LOGIN_ALREADY_EXISTS, &[&name]).into());
            }
            login.name = name;
        }
        if let Some(given) = option(&stmt.options, "PASSWORD") {
            login.hash = Some(secret(given, &stmt.options, &login)?);
        }
        for o in &stmt.options {
            match o.name.as_str() {
                "ENABLE" => login.disabled = false,
                "DISABLE" => login.disabled = true,
                _ => {}
            }
        }
        login.modified = now();
        self.define_in("master", Kind::AlterLogin.definition(), |d| {
            d.db.catalog.put_login(d.tx, &login)
        })
    }

    pub(super) fn drop_login(&mut self, name: &str) -> RunResult<()> {
        self.may_alter_logins()?;
        let security = self.security_of_master()?;
        let Some(login) = security.login(name) else {
            return Err(cannot("drop", "login", name).into());
        };
        if login.id == LOGIN_SA {
            return Err(cannot_at_all("drop", "login", name).into());
        }
        let id = login.id;
        if self.session.instance.is_logged_in(id) {
            return Err(SqlError::new(&messages::LOGIN_IN_USE, &[&login.name]).into());
        }
        if !self.reaches(id, &security) {
            return Err(cannot("drop", "login", name).into());
        }
        self.owns_no_database(&login.name, &login.sid)?;
        self.define_in("master", Kind::DropLogin.definition(), |d| {
            d.db.catalog.drop_login(d.tx, id)
        })
    }

    /// ALTER SERVER ROLE ... ADD | DROP MEMBER.
    fn alter_server_role(&mut self, stmt: &ast::PrincipalStmt) -> RunResult<()> {
        let security = self.security_of_master()?;
        let named = SERVER_ROLES
            .iter()
            .find(|(_, r)| r.eq_ignore_ascii_case(&stmt.name));
        let Some((role, _)) = named else {
            return Err(cannot("alter", "server role", &stmt.name).into());
        };
        if *role == SERVER_PUBLIC {
            return Err(SqlError::new(&messages::PUBLIC_MEMBERSHIP, &[]).into());
        }
        for o in &stmt.options {
            let add = match o.name.as_str() {
                "ADD MEMBER" => true,
                "DROP MEMBER" => false,
                other => return Err(not_supported(&format!("ALTER SERVER ROLE {other}")).into()),
            };
            let member = word(o);
            let verb = if add { "add" } else { "drop" };
            let Some(login) = security.login(&member) else {
                return Err(cannot(verb, "server principal", &member).into());
            };
            // Who is in a fixed role of the server may add others to it.
            let own = security.server_roles_of(self.session.who.login);
            if !self.session.who.sysadmin && !own.contains(role) {
                return Err(cannot("alter", "server role", &stmt.name).into());
            }
            if login.id == LOGIN_SA {
                return Err(SqlError::new(&messages::SPECIAL_PRINCIPAL, &[&"sa"]).into());
            }
            let pair = (*role, login.id);
            self.define_in("master", Kind::AlterServerRole.definition(), |d| {
                d.db.catalog.set_member(d.tx, true, pair, add)
            })?;
        }
        Ok(())
    }
}

/// The hash of the password that a statement gives, as text or HASHED.
fn secret(given: &NamedOption, options: &[NamedOption], login: &LoginDef) -> SqlResult<Vec<u8>> {
    let hashed = option(options, "HASHED").is_some();
    match &given.value {
        Some(OptionValue::Binary(b)) if hashed && password::is_hash(b) => Ok(b.clone()),
        Some(OptionValue::String(s)) if !hashed => {
            password::check(&s.value, &login.name, login.policy)?;
            Ok(password::hash(&s.value))
        }
        _ => Err(SqlError::new(
            &messages::INVALID_PARAMETER_VALUE,
            &[&"PASSWORD"],
        )),
    }
}

/// A SID of a login's own.
fn new_sid() -> Vec<u8> {
    let mut sid = vec![0; 16];
    duramen_os::random::fill(&mut sid);
    sid
}
