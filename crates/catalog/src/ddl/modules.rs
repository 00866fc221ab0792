//! Modules (views, procedures, functions, triggers) and schemas.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_txn::Transaction;
use duramen_types::Value;

use super::constraints::Named;
use super::{FIRST_FIXED_ROLE_SCHEMA, FIRST_SCHEMA};
use crate::bootstrap::{self, CLASS_SCHEMA};
use crate::catalog::{CatalogDb, now};
use crate::cells::{self, VALUE_TEXT};
use crate::claims::Claim;
use crate::def::*;
use crate::doubt::{self, Doubt};
use crate::draft::begin_again;
use crate::load;
use crate::rows::{Fields, id};

impl CatalogDb {
    /// Creates a view, procedure, function or trigger.
    #[allow(clippy::too_many_arguments)]
    pub fn create_module(
        &self,
        tx: &Transaction,
        schema: i32,
        name: &str,
        kind: ObjectKind,
        parent: ObjectId,
        text: &str,
        (ansi_nulls, quoted_identifier): (bool, bool),
    ) -> SqlResult<Arc<ModuleDef>> {
        let base = self.base(tx);
        self.hold_schema(tx, schema)?;
        let mut status = 0;
        if ansi_nulls {
            status |= load::MODULE_ANSI_NULLS;
        }
        if quoted_identifier {
            status |= load::MODULE_QUOTED_IDENTIFIER;
        }
        let object = self.add_object(&base, schema, Named::As(name), kind, (parent, 0), status)?;
        self.add_text(&base, object.id, text)?;
        let module = ModuleDef {
            columns: Vec::new(),
            id: object.id,
            schema,
            name: name.to_owned(),
            kind,
            parent,
            text: text.to_owned(),
            ansi_nulls,
            quoted_identifier,
            version: 0,
        };
        Ok(self.publish_module(tx, module))
    }

    fn publish_module(&self, tx: &Transaction, module: ModuleDef) -> Arc<ModuleDef> {
        let made = module.clone();
        let version = self.patch(tx, move |s, version| {
            let stamped = ModuleDef {
                version,
                ..made.clone()
            };
            s.modules.insert(stamped.id, Arc::new(stamped));
        });
        Arc::new(ModuleDef { version, ..module })
    }

    /// The module belongs to `tx`, as its caller has found it.
    fn claim_module(&self, tx: &Transaction, module: &ModuleDef) -> SqlResult<()> {
        let seen = self.seen_by(tx)?;
        if let Some(o) = seen.objects.get(&module.id) {
            self.claim_object(tx, o)?;
        }
        let now = self.seen_by(tx)?;
        match now.modules.get(&module.id) {
            Some(m) if m.version == module.version => Ok(()),
            _ => {
                doubt::note(Doubt::Over);
                Err(begin_again())
            }
        }
    }

    /// ALTER of a module: new text, same id.
    pub fn alter_module(
        &self,
        tx: &Transaction,
        module: &ModuleDef,
        text: &str,
    ) -> SqlResult<Arc<ModuleDef>> {
        self.claim_module(tx, module)?;
        let base = self.base(tx);
        let key = [Value::TinyInt(VALUE_TEXT as u8), Value::Int(module.id.0)];
        base.delete(id::OBJVALUES, &key, |_| true)?;
        self.add_text(&base, module.id, text)?;
        let time = now();
        base.update(id::SCHOBJS, &[Value::Int(module.id.0)], |row| {
            row[10] = Value::DateTime(time);
            true
        })?;
        let altered = module.id;
        self.patch(tx, move |s, _| {
            if let Some(o) = s.objects.get_mut(&altered) {
                Arc::make_mut(o).modified = time;
            }
        });
        let next = ModuleDef {
            text: text.to_owned(),
            ..module.clone()
        };
        Ok(self.publish_module(tx, next))
    }

    /// Notes the columns that a module gives, in place of those it gave before.
    pub fn set_module_columns(
        &self,
        tx: &Transaction,
        module: &ModuleDef,
        columns: Vec<ModuleColumn>,
    ) -> SqlResult<()> {
        let base = self.base(tx);
        base.delete(id::COLPARS, &[Value::Int(module.id.0)], |_| true)?;
        for (at, c) in (1..).zip(&columns) {
            let row = bootstrap::column_row(module.id.0, at, &c.name, &c.ty, c.nullable)?;
            base.insert(row)?;
        }
        let next = ModuleDef {
            columns,
            ..module.clone()
        };
        self.publish_module(tx, next);
        Ok(())
    }

    /// Drops a module.
    pub fn drop_module(&self, tx: &Transaction, module: &ModuleDef) -> SqlResult<()> {
        self.claim_module(tx, module)?;
        let base = self.base(tx);
        base.delete(id::COLPARS, &[Value::Int(module.id.0)], |_| true)?;
        self.delete_object(&base, module.id)?;
        if module.kind == ObjectKind::TRIGGER
            && let Some(table) = self.seen_by(tx)?.table(module.parent).cloned()
        {
            let mut next = (*table).clone();
            next.triggers.retain(|t| t.id != module.id);
            self.publish(tx, next)?;
        }
        Ok(())
    }

    /// Says what fires a trigger that was just created or altered, and whether anything does.
    pub fn set_trigger(
        &self,
        tx: &Transaction,
        table: &TableDef,
        trigger: TriggerDef,
    ) -> SqlResult<Arc<TableDef>> {
        let state = i64::from(trigger.events) << object_status::TRIGGER_EVENTS_SHIFT;
        let state = state
            | match trigger.disabled {
                true => object_status::DISABLED,
                false => 0,
            };
        let kept = load::MODULE_ANSI_NULLS | load::MODULE_QUOTED_IDENTIFIER;
        let base = self.base(tx);
        base.update(id::SCHOBJS, &[Value::Int(trigger.id.0)], |row| {
            row[4] = Value::Int((cells::int(row, 4) & kept | state) as i32);
            true
        })?;
        let fired = trigger.id;
        self.patch(tx, move |s, _| {
            if let Some(o) = s.objects.get_mut(&fired) {
                let o = Arc::make_mut(o);
                o.status = o.status & kept | state;
            }
        });
        let mut next = table.clone();
        match next.triggers.iter_mut().find(|t| t.id == trigger.id) {
            Some(known) => *known = trigger,
            None => next.triggers.push(trigger),
        }
        self.publish(tx, next)
    }

    /// Creates a schema; its id.
    pub fn create_schema(&self, tx: &Transaction, name: &str, owner: i32) -> SqlResult<i32> {
        let snapshot = self.seen_by(tx)?;
        if snapshot.schema(name).is_some() {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        let kind = (id::CLSOBJS, CLASS_SCHEMA, FIRST_SCHEMA);
        let schema = self.claim_number(tx, kind, |s| {
            let of_users = s.schemas.keys().filter(|id| **id < FIRST_FIXED_ROLE_SCHEMA);
            of_users.max().copied()
        })?;
        self.claim_schema(tx, schema, name)?;
        if self.seen_by(tx)?.schema(name).is_some() {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        self.hold_user(tx, owner)?;
        let time = Value::DateTime(now());
        self.base(tx).insert(
            Fields::new(id::CLSOBJS)?
                .int("class", CLASS_SCHEMA)
                .int("id", i64::from(schema))
                .text("name", name)
                .int("intprop", i64::from(owner))
                .set("created", time.clone())
                .set("modified", time),
        )?;
        let def = Arc::new(SchemaDef {
            id: schema,
            name: name.to_owned(),
            owner,
        });
        self.patch(tx, move |s, _| {
            s.schemas.insert(schema, def.clone());
        });
        Ok(schema)
    }

    fn claim_schema(&self, tx: &Transaction, schema: i32, name: &str) -> SqlResult<()> {
        let resource = self.metadata(id::CLSOBJS, CLASS_SCHEMA, schema);
        self.claim(tx, [Claim::Schema(fold(name))], resource)
    }

    /// Drops an empty schema.
    pub fn drop_schema(&self, tx: &Transaction, schema: i32) -> SqlResult<()> {
        if let Some(s) = self.seen_by(tx)?.schemas.get(&schema) {
            self.claim_schema(tx, schema, &s.name)?;
        }
        self.unused(tx, |s| {
            s.objects.values().any(|o| o.schema == schema)
                || s.types.values().any(|t| t.schema == schema)
        })?;
        let key = [Value::TinyInt(CLASS_SCHEMA as u8), Value::Int(schema)];
        let base = self.base(tx);
        base.delete(id::CLSOBJS, &key, |_| true)?;
        self.forget_privileges(&base, 3, schema)?;
        self.forget_properties(&base, crate::properties::class::SCHEMA, schema, None)?;
        self.patch(tx, move |s, _| {
            s.schemas.remove(&schema);
        });
        Ok(())
    }
}
