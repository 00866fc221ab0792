//! Alias types: rows of `sysscalartypes` from id 257 on.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::Transaction;
use duramen_types::{SqlType, Value};

use crate::catalog::{CatalogDb, now};
use crate::claims::Claim;
use crate::def::{TypeDef, fold};
use crate::doubt::{self, Doubt};
use crate::draft::begin_again;
use crate::rows::{Fields, id};

/// Types of users have ids from here; `sysname` is the one before.
pub(super) const FIRST_TYPE: i32 = 257;

impl CatalogDb {
    /// Creates an alias type.
    pub fn create_type(
        &self,
        tx: &Transaction,
        schema: i32,
        name: &str,
        ty: SqlType,
        nullable: bool,
    ) -> SqlResult<Arc<TypeDef>> {
        let snapshot = self.seen_by(tx)?;
        if snapshot.find_type(schema, name).is_some() {
            let full = format!("{}.{name}", snapshot.schema_name(schema));
            return Err(SqlError::new(&messages::TYPE_ALREADY_EXISTS, &[&full]));
        }
        self.hold_schema(tx, schema)?;
        let kind = (id::SCALARTYPES, 0, FIRST_TYPE);
        let number = self.claim_number(tx, kind, |s| s.types.keys().last().copied())?;
        self.claim_type(tx, schema, name, number)?;
        if self.seen_by(tx)?.find_type(schema, name).is_some() {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        let def = Arc::new(TypeDef {
            id: number,
            schema,
            name: name.to_owned(),
            ty,
            nullable,
        });
        let time = Value::DateTime(now());
        self.base(tx).insert(
            Fields::new(id::SCALARTYPES)?
                .int("id", i64::from(def.id))
                .int("schid", i64::from(schema))
                .text("name", name)
                .int("xtype", i64::from(ty.id.xtype()))
                .int("length", i64::from(ty.catalog_length()))
                .int("prec", i64::from(ty.precision))
                .int("scale", i64::from(ty.scale))
                .int("collationid", i64::from(ty.collation.0 as i32))
                .int("status", i64::from(!nullable))
                .set("created", time.clone())
                .set("modified", time),
        )?;
        let cached = def.clone();
        self.patch(tx, move |s, _| {
            s.types.insert(cached.id, cached.clone());
        });
        Ok(def)
    }

    fn claim_type(&self, tx: &Transaction, schema: i32, name: &str, id: i32) -> SqlResult<()> {
        let claim = Claim::Type(schema, fold(name));
        self.claim(tx, [claim], self.metadata(id::SCALARTYPES, 0, id))
    }

    /// Drops an alias type. The caller has checked that no column has it.
    pub fn drop_type(&self, tx: &Transaction, type_id: i32) -> SqlResult<()> {
        if let Some(t) = self.seen_by(tx)?.types.get(&type_id) {
            self.claim_type(tx, t.schema, &t.name, type_id)?;
        }
        self.unused(tx, |s| {
            let mut columns = s.tables.values().flat_map(|t| &t.columns);
            columns.any(|c| c.user_type == type_id)
        })?;
        let key = [Value::Int(type_id)];
        self.base(tx).delete(id::SCALARTYPES, &key, |_| true)?;
        self.patch(tx, move |s, _| {
            s.types.remove(&type_id);
        });
        Ok(())
    }
}
