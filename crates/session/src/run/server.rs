//! Statements and procedures about the whole server: `sp_configure` with a value, RECONFIGURE, SHUTDOWN, and some of
//! databases and sessions.

use duramen_base::{SqlError, messages};
use duramen_program::program::same;
use duramen_program::rights::Right;
use duramen_types::Value;

use super::arguments::Arguments;
use super::exec::{Called, Given};
use super::failure::RunResult;
use super::{Run, command, not_supported};

/// The value of an argument of `sp_configure`, unless it is NULL.
fn argument<'a>(given: &'a [Given], at: usize, name: &str) -> Option<&'a Value> {
    let named = |g: &&Given| g.name.as_deref().is_some_and(|n| same(n, name));
    let positional = given.get(at).filter(|g| g.name.is_none());
    let found = given.iter().find(named).or(positional)?;
    found.value.as_ref().filter(|v| !v.is_null())
}

impl Run<'_> {
    /// `sp_configure` with a value; `None` when it only asks, which the procedure itself answers.
    pub(super) fn set_configuration(&mut self, given: &[Given]) -> Option<RunResult<Called>> {
        let value = argument(given, 1, "@configvalue")?;
        let changed = self.change_configuration(given, value);
        let procedure = |e| SqlError {
            procedure: Some("sp_configure".to_owned()),
            ..e
        };
        Some(changed.map_err(|f| f.map(procedure)))
    }

    fn change_configuration(&mut self, given: &[Given], value: &Value) -> RunResult<Called> {
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
        let message = SqlError::new(&messages::CONFIGURATION_CHANGED, &args);
        self.session.instance.log_of(self.session, &message.message);
        self.sink.info(&message);
        Ok(Called::with_status(0))
    }

    /// sp_detach_db. Statistics are not updated, whatever `@skipchecks` says: what is missing is told of no plan here
    /// (*assumed* to be of no interest to the files' next server).
    pub(super) fn detach_db(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let Some(name) = args.text("@dbname") else {
            return Err(args.missing("@dbname").into());
        };
        if self.session.in_transaction() {
            let name = "sys.sp_detach_db";
            return Err(SqlError::new(&messages::PROCEDURE_IN_TRANSACTION, &[&name]).into());
        }
        self.may_detach(&name)?;
        let instance = self.session.instance.clone();
        let mut admin =
            duramen_admin::database_ddl::Admin::new(instance, self.session, self.cancel);
        admin.detach_database(&name)?;
        Ok(Called::with_status(0))
    }

    /// sp_flush_log
    pub(super) fn flush_log(&mut self) -> RunResult<Called> {
        let db = self.session.instance.databases.find(&self.session.database);
        if let Some(log) = db.as_ref().and_then(|d| d.db.log()) {
            log.flush_all()
                .map_err(|e| e.to_sql(&self.session.database))?;
        }
        Ok(Called::with_status(0))
    }

    /// sp_set_session_context
    pub(super) fn set_session_context(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let Some(name) = args.text("@key") else {
            let shown: [&dyn std::fmt::Display; 2] = [&1, &args.row.name];
            return Err(SqlError::new(&messages::INVALID_PARAMETER_FOR, &shown).into());
        };
        let Some(value) = args.given("@value") else {
            return Err(args.missing("@value").into());
        };
        let read_only = args.number("@read_only") == Some(1);
        let context = &mut self.session.state.context;
        context.set(&name, value.ty, value.value.clone(), read_only)?;
        Ok(Called::with_status(0))
    }

    /// 15247 unless the session owns the database or may alter any.
    fn may_detach(&self, name: &str) -> RunResult<()> {
        let db = self.session.instance.databases.find(name);
        let owns = db.map_or(Ok(false), |db| self.session.owns(&db))?;
        match owns || self.session.server_may(Right::AlterAnyDatabase) {
            true => Ok(()),
            false => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]).into()),
        }
    }

    /// RECONFIGURE [WITH OVERRIDE]
    pub(super) fn reconfigure(&mut self, with_override: bool) -> RunResult<()> {
        if !self.session.server_may(Right::AlterSettings) {
            return Err(SqlError::new(&messages::RECONFIGURE_PERMISSION, &[]).into());
        }
        if self.session.in_transaction() {
            return Err(SqlError::new(&messages::NOT_IN_USER_TRANSACTION, &[&"CONFIG"]).into());
        }
        self.session.instance.reconfigure(with_override)?;
        self.done(None, command::OTHER, false);
        Ok(())
    }

    /// SHUTDOWN: what runs is cancelled, every database takes a checkpoint and closes. WITH NOWAIT: the process ends here;
    /// the next start recovers. SQL Server lets running statements end first.
    pub(super) fn shut_down(&mut self, nowait: bool) -> RunResult<()> {
        if !self.session.server_may(Right::Shutdown) {
            return Err(SqlError::new(&messages::SHUTDOWN_PERMISSION, &[]).into());
        }
        let instance = self.session.instance.clone();
        let Some(stop) = instance.stop.get() else {
            return Err(not_supported("SHUTDOWN of an embedded server").into());
        };
        let login = self.session.login.user.clone();
        let message = SqlError::new(&messages::SHUTDOWN_BY_LOGIN, &[&login]);
        self.session.instance.log_of(self.session, &message.message);
        self.sink.info(&message);
        self.done(None, command::OTHER, false);
        stop(nowait);
        Ok(())
    }
}
