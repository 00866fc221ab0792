//! Statements about the whole server: `sp_configure` with a value, RECONFIGURE, SHUTDOWN.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::program::same;
use duramen_program::rights::Right;
use duramen_types::Value;

use super::exec::{Called, Given};
use super::{Run, command, not_supported};

pub(super) fn argument<'a>(given: &'a [Given], at: usize, name: &str) -> Option<&'a Value> {
    let named = |g: &&Given| g.name.as_deref().is_some_and(|n| same(n, name));
    let positional = given.get(at).filter(|g| g.name.is_none());
    let found = given.iter().find(named).or(positional)?;
    found.value.as_ref().filter(|v| !v.is_null())
}

/// 8144 when there are more arguments than parameters, 8145 for a name that is none of theirs.
pub(super) fn check_arguments(
    procedure: &str,
    given: &[Given],
    parameters: &[&str],
) -> SqlResult<()> {
    let place = |name: &str| parameters.iter().position(|p| same(p, name));
    check_places(procedure, given, parameters.len(), place)
}

/// The same of a procedure with so many parameters, of which `place` knows the names; 8143 for one that is given twice, by
/// its name or by its place and its name.
pub(super) fn check_places(
    procedure: &str,
    given: &[Given],
    count: usize,
    place: impl Fn(&str) -> Option<usize>,
) -> SqlResult<()> {
    if given.len() > count {
        let error = SqlError::new(&messages::TOO_MANY_ARGUMENTS, &[&procedure]);
        return Err(error.with_state(2));
    }
    // Names come behind places.
    let places = given.iter().take_while(|g| g.name.is_none()).count();
    for (i, g) in given.iter().enumerate().skip(places) {
        let Some(name) = &g.name else { continue };
        let Some(at) = place(name) else {
            let error = SqlError::new(&messages::NOT_A_PARAMETER, &[name, &procedure]);
            return Err(error.with_state(2));
        };
        let twice = |o: &Given| o.name.as_ref().is_some_and(|n| same(n, name));
        if at < places || given[places..i].iter().any(twice) {
            return Err(SqlError::new(&messages::PARAMETER_SUPPLIED_TWICE, &[name]));
        }
    }
    Ok(())
}

impl Run<'_> {
    /// `sp_configure` with a value; `None` when it only asks, which the procedure itself answers.
    pub(super) fn set_configuration(&mut self, given: &[Given]) -> Option<SqlResult<Called>> {
        let value = argument(given, 1, "@configvalue")?;
        let changed = self.change_configuration(given, value);
        let procedure = |e| SqlError {
            procedure: Some("sp_configure".to_owned()),
            ..e
        };
        Some(changed.map_err(procedure))
    }

    fn change_configuration(&mut self, given: &[Given], value: &Value) -> SqlResult<Called> {
        let name = argument(given, 0, "@configname").and_then(Value::as_text);
        let name = name.unwrap_or_default();
        let (_, needs) = duramen_program::coded::CONFIGURES;
        self.session.caller().require(&needs, &[], |_| {
            SqlError::new(&messages::USER_PERMISSION_DENIED, &[])
        })?;
        let asked = value
            .as_i64()
            .or_else(|| value.as_text()?.trim().parse().ok());
        let value = asked.ok_or_else(|| {
            let args: [&dyn std::fmt::Display; 2] = [&"nvarchar", &"int"];
            SqlError::new(&messages::ERROR_CONVERTING, &args)
        })?;
        let instance = self.session.instance.clone();
        let (setting, before) = instance.settings.configure(&name, value)?;
        let args: [&dyn std::fmt::Display; 3] = [&setting.name, &before, &value];
        let told = SqlError::new(&messages::CONFIGURATION_CHANGED, &args);
        self.session.instance.log_of(self.session, &told.message);
        self.sink.info(&told);
        Ok(Called::with_status(0))
    }

    /// `sp_detach_db @dbname, @skipchecks, @keepfulltextindexfile`. Statistics are not updated, whatever `@skipchecks` says:
    /// what is missing is told of no plan here (*assumed* to be of no interest to the files' next server).
    pub(super) fn detach_db(&mut self, given: &[Given]) -> SqlResult<Called> {
        self.detach_checked(given).map_err(|e| SqlError {
            procedure: Some("sp_detach_db".to_owned()),
            ..e
        })?;
        Ok(Called::with_status(0))
    }

    fn detach_checked(&mut self, given: &[Given]) -> SqlResult<()> {
        const NAME: &str = "sp_detach_db";
        let known = ["@dbname", "@skipchecks", "@keepfulltextindexfile"];
        check_arguments(NAME, given, &known)?;
        let asked = argument(given, 0, "@dbname").and_then(Value::as_text);
        match asked {
            None => {
                let args: [&dyn std::fmt::Display; 2] = [&NAME, &"@dbname"];
                Err(SqlError::new(&messages::PARAMETER_NOT_SUPPLIED, &args).with_state(4))
            }
            Some(_) if self.session.in_transaction() => {
                let name = "sys.sp_detach_db";
                Err(SqlError::new(&messages::PROCEDURE_IN_TRANSACTION, &[&name]))
            }
            Some(name) => self.may_detach(&name).and_then(|()| {
                let mut admin = duramen_admin::database_ddl::Admin::new(
                    self.session.instance.clone(),
                    self.session,
                    self.cancel,
                );
                admin.detach_database(&name)
            }),
        }
    }

    /// 15247 unless the session owns the database or may alter any.
    fn may_detach(&self, name: &str) -> SqlResult<()> {
        let db = self.session.instance.databases.find(name);
        let owns = db.map_or(Ok(false), |db| self.session.owns(&db))?;
        match owns || self.session.server_may(Right::AlterAnyDatabase) {
            true => Ok(()),
            false => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[])),
        }
    }

    /// RECONFIGURE [WITH OVERRIDE]
    pub(super) fn reconfigure(&mut self, with_override: bool) -> SqlResult<()> {
        if !self.session.server_may(Right::AlterSettings) {
            return Err(SqlError::new(&messages::RECONFIGURE_PERMISSION, &[]));
        }
        if self.session.in_transaction() {
            return Err(SqlError::new(
                &messages::NOT_IN_USER_TRANSACTION,
                &[&"CONFIG"],
            ));
        }
        self.session.instance.reconfigure(with_override)?;
        self.done(None, command::OTHER, false);
        Ok(())
    }

    /// SHUTDOWN: what runs is cancelled, every database takes a checkpoint and closes. WITH NOWAIT: the process ends here;
    /// the next start recovers. SQL Server lets running statements end first.
    pub(super) fn shut_down(&mut self, nowait: bool) -> SqlResult<()> {
        if !self.session.server_may(Right::Shutdown) {
            return Err(SqlError::new(&messages::SHUTDOWN_PERMISSION, &[]));
        }
        let instance = self.session.instance.clone();
        let Some(stop) = instance.stop.get() else {
            return Err(not_supported("SHUTDOWN of an embedded server"));
        };
        let login = self.session.login.user.clone();
        let told = SqlError::new(&messages::SHUTDOWN_BY_LOGIN, &[&login]);
        self.session.instance.log_of(self.session, &told.message);
        self.sink.info(&told);
        self.done(None, command::OTHER, false);
        stop(nowait);
        Ok(())
    }
}
