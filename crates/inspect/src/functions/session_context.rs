//! CONTEXT_INFO and SESSION_CONTEXT: what a session keeps for its own statements.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::session_core::SessionCore;
use duramen_types::Value;

use super::Args;

pub fn context_info(s: &SessionCore, _: &Args<'_>) -> SqlResult<Value> {
    Ok(s.state
        .context
        .info
        .clone()
        .map_or(Value::Null, Value::Binary))
}

pub fn session_context(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let key = match args.0.first() {
        Some(Value::NVarChar(_)) => args.text(0).unwrap_or_default(),
        Some(Value::Null) | None => return Ok(Value::Null),
        Some(_) => {
            let args: [&dyn std::fmt::Display; 3] = [&"varchar", &1, &"session_context"];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
    };
    let found = s.state.context.entries.iter().find(|e| e.0 == key);
    Ok(match found {
        None | Some((_, _, Value::Null, _)) => Value::Null,
        Some((_, _, v @ Value::Variant(_), _)) => v.clone(),
        Some((_, ty, v, _)) => Value::Variant(Box::new((*ty, v.clone()))),
    })
}
