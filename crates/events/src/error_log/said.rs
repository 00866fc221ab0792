//! What the error log says of logins that fail, in SQL Server's words.

use std::fmt::Display;

use duramen_base::{SqlError, messages};

use duramen_program::login::LoginRequest;

use super::ErrorLog;

impl ErrorLog {
    /// 18456 with the state that the client is not told, and why.
    pub fn login_failed(&self, request: &LoginRequest, error: &SqlError, why: &(u8, String)) {
        let (state, reason) = why;
        let client = &request.client_address;
        let reason = match reason.as_str() {
            "" => String::new(),
            reason => format!(" Reason: {reason}"),
        };
        let mut shown = error.clone();
        if !matches!(error.number, 18456 | 18470) {
            let args: [&dyn Display; 3] = [&request.user, &"", &""];
            shown = SqlError::new(&messages::LOGIN_FAILED, &args);
        }
        let text = format!("{}{reason} [CLIENT: {client}]", shown.message);
        self.error("Logon", &shown, *state, &text);
    }
}
