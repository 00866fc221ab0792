//! Event sessions of the server: rows of master's `sysobjvalues` (class 202, ours: SQL Server keeps them in tables that
//! nobody has described), one for each session, holding the statement that would create it.

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::catalog::{CatalogDb, system_transaction};
use crate::cells::{decode_text, encode_text, int};
use crate::rows::{Base, Fields, id};

/// `sysobjvalues.valclass` of an event session; `objid` is its id.
const VALUE_EVENT_SESSION: i64 = 202;

impl CatalogDb {
    /// Ids and statements of what is kept.
    pub fn event_sessions(&self) -> SqlResult<Vec<(i32, String)>> {
        let tx = system_transaction(self.database(), "EventSessionsRead");
        let base = Base {
            db: self.database(),
            tx: &tx,
        };
        let rows = base.rows(id::OBJVALUES, &[Value::TinyInt(VALUE_EVENT_SESSION as u8)]);
        self.database().engine.locks.release_all(&tx.owner);
        let entry = |r: &Vec<Value>| (int(r, 1) as i32, decode_text(r));
        Ok(rows?.iter().map(entry).collect())
    }

    /// Keeps the statement of a session in place of the one kept before, or forgets it; durable when it returns.
    pub fn put_event_session(&self, session: i32, statement: Option<&str>) -> SqlResult<()> {
        let tx = system_transaction(self.database(), "EventSession");
        let base = Base {
            db: self.database(),
            tx: &tx,
        };
        let key = [
            Value::TinyInt(VALUE_EVENT_SESSION as u8),
            Value::Int(session),
        ];
        let written = (|| {
            base.delete(id::OBJVALUES, &key, |_| true)?;
            let Some(statement) = statement else {
                return Ok(());
            };
            let (kind, bytes) = encode_text(statement);
            base.insert(
                Fields::new(id::OBJVALUES)?
                    .int("valclass", VALUE_EVENT_SESSION)
                    .int("objid", i64::from(session))
                    .set("value", kind)
                    .set("imageval", bytes),
            )
        })();
        match written {
            Ok(()) => self.database().engine.commit(&tx, None).map(|_| ()),
            Err(e) => {
                self.database().engine.rollback(&tx, None)?;
                Err(e)
            }
        }
    }
}
