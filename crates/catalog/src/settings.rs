//! Server settings (`sp_configure`): rows of master's `sysobjvalues` (class 201, ours: SQL Server keeps them in a file of
//! its own making), one for each option that has another value than its default.

use duramen_base::SqlResult;
use duramen_types::{SqlType, Value};

use crate::catalog::{CatalogDb, system_transaction};
use crate::cells::int;
use crate::rows::{Base, Fields, id};

/// `sysobjvalues.valclass` of a setting; `objid` is its `configuration_id`.
const VALUE_SETTING: i64 = 201;

impl CatalogDb {
    /// The settings that are kept: `configuration_id` and value.
    pub fn settings(&self) -> SqlResult<Vec<(i32, i64)>> {
        let tx = system_transaction(self.database(), "SettingsRead");
        let base = Base {
            db: self.database(),
            tx: &tx,
        };
        let rows = base.rows(id::OBJVALUES, &[Value::TinyInt(VALUE_SETTING as u8)]);
        self.database().engine.locks.release_all(&tx.owner);
        let value = |row: &Vec<Value>| match row.get(4) {
            Some(Value::Variant(v)) => v.1.as_i64().unwrap_or(0),
            _ => 0,
        };
        Ok(rows?.iter().map(|r| (int(r, 1) as i32, value(r))).collect())
    }

    /// Keeps these settings in place of those that were kept; durable when it returns.
    pub fn put_settings(&self, settings: &[(i32, i64)]) -> SqlResult<()> {
        let tx = system_transaction(self.database(), "RECONFIGURE");
        let base = Base {
            db: self.database(),
            tx: &tx,
        };
        let written = (|| {
            base.delete(
                id::OBJVALUES,
                &[Value::TinyInt(VALUE_SETTING as u8)],
                |_| true,
            )?;
            for (option, value) in settings {
                let value = Value::Variant(Box::new((SqlType::BIGINT, Value::BigInt(*value))));
                base.insert(
                    Fields::new(id::OBJVALUES)?
                        .int("valclass", VALUE_SETTING)
                        .int("objid", i64::from(*option))
                        .set("value", value),
                )?;
            }
            Ok(())
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
