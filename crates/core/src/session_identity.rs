//! SET IDENTITY_INSERT of a session.

use duramen_access::identity_insert::IdentityInsert;
use duramen_access::temporary::short_name;
use duramen_base::{DbId, ObjectId, SqlResult};
use duramen_query::host::StoredId;

use crate::session_core::SessionCore;

impl SessionCore {
    /// A table as SET IDENTITY_INSERT has it; `None`: its database is not open.
    pub fn identity_insert_of(&self, table: StoredId) -> Option<IdentityInsert> {
        let database = self.instance.databases.get(DbId(table.database))?;
        Some(IdentityInsert::new(&database, table))
    }

    /// Whether SET IDENTITY_INSERT is ON for a table.
    pub fn has_identity_insert(&self, table: StoredId) -> bool {
        let on = self.state.identity_insert.as_ref();
        on.is_some_and(|on| {
            on.table == table && self.identity_insert_of(table).as_ref() == Some(on)
        })
    }

    /// Database, schema and name of the table for which it is ON. `None` as well where the table is gone: the option has
    /// gone with it. *Assumed*: no source says what becomes of it.
    pub fn identity_insert_name(&self) -> SqlResult<Option<[String; 3]>> {
        let on = self.state.identity_insert.as_ref();
        let on = on.filter(|on| self.has_identity_insert(on.table));
        let Some((on, db)) = on.and_then(|on| Some((on, on.database()?))) else {
            return Ok(None);
        };
        let snapshot = self.visible(&db)?.snapshot.clone();
        let Some(object) = snapshot.objects.get(&ObjectId(on.table.object)) else {
            return Ok(None);
        };
        let schema = snapshot.schemas.get(&object.schema);
        let schema = schema.map_or_else(String::new, |s| s.name.clone());
        let name = short_name(&object.name).to_owned();
        Ok(Some([db.db.name.clone(), schema, name]))
    }
}
