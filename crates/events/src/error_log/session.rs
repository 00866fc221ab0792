//! What a session has written into the error log.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::session_core::SessionCore;
use duramen_program::rights::Right;

use crate::instance::Instance;

impl Instance {
    /// An entry of a session.
    pub fn log_of(&self, session: &SessionCore, text: &str) {
        let source = format!("spid{}", session.spid.0);
        self.error_log.say(&source, text);
    }

    /// An error of a session that is written whatever its severity.
    pub fn log_error_of(&self, session: &SessionCore, error: &SqlError) {
        let source = format!("spid{}", session.spid.0);
        self.error_log
            .error(&source, error, error.state, &error.message);
    }

    /// sp_cycle_errorlog and DBCC ERRORLOG: 2571 for who is no administrator.
    pub fn cycle_error_log(&self, session: &SessionCore) -> SqlResult<()> {
        if !session.server_may(Right::ControlServer) {
            let args: [&dyn std::fmt::Display; 2] = [&session.login.user, &"errorlog"];
            return Err(SqlError::new(&messages::DBCC_PERMISSION_DENIED, &args));
        }
        let source = format!("spid{}", session.spid.0);
        self.error_log.cycle(&source)
    }
}
