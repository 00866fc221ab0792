//! What statements tell of themselves when they have succeeded: the default trace and the events of objects.

use duramen_access::temporary::is_temporary;
use duramen_observe::events::{self, EventId, ObjectAltered, ObjectCreated, ObjectDeleted, emit};
use duramen_os::time;
use duramen_program::event_classes::{Column, class};
use duramen_program::statements::{Audit, Kind};
use duramen_tsql::ast::{DropKind, ModuleKind, ModuleMode, ObjectName, StatementKind};

use super::Run;
use duramen_events::trace::TraceRow;

const OBJECTS: u64 =
    EventId::ObjectCreated.bit() | EventId::ObjectAltered.bit() | EventId::ObjectDeleted.bit();

/// `ObjectType` of traces.
mod object_type {
    pub const PROCEDURE: i64 = 8272;
    pub const TABLE: i64 = 8277;
    pub const VIEW: i64 = 8278;
    pub const DATABASE: i64 = 16964;
    pub const SCHEMA: i64 = 17235;
    pub const INLINE_FUNCTION: i64 = 17993;
    pub const TABLE_FUNCTION: i64 = 18004;
    pub const SCALAR_FUNCTION: i64 = 20038;
    pub const TRIGGER: i64 = 21572;
    pub const STATISTICS: i64 = 21587;
    pub const INDEX: i64 = 22601;
}

/// An object that was made, changed or dropped.
struct Touched<'a> {
    class: u16,
    ty: i64,
    name: &'a ObjectName,
    /// The index or the statistics of the object.
    part: Option<&'a str>,
}

fn module_type(kind: &ModuleKind) -> i64 {
    match kind {
        ModuleKind::Procedure { .. } => object_type::PROCEDURE,
        ModuleKind::View { .. } => object_type::VIEW,
        ModuleKind::ScalarFunction { .. } => object_type::SCALAR_FUNCTION,
        ModuleKind::InlineFunction { .. } => object_type::INLINE_FUNCTION,
        ModuleKind::TableFunction { .. } => object_type::TABLE_FUNCTION,
        ModuleKind::Trigger { .. } => object_type::TRIGGER,
    }
}

fn touched(class: u16, statement: &StatementKind) -> Vec<Touched<'_>> {
    let one = |class, ty, name| Touched {
        class,
        ty,
        name,
        part: None,
    };
    match statement {
        StatementKind::CreateTable(s) => vec![one(class, object_type::TABLE, &s.name)],
        StatementKind::AlterTable(s) => vec![one(class, object_type::TABLE, &s.table)],
        StatementKind::CreateModule(s) => {
            let class = match s.mode {
                ModuleMode::CreateOrAlter => class::OBJECT_ALTERED,
                ModuleMode::Create | ModuleMode::Alter => class,
            };
            vec![one(class, module_type(&s.kind), &s.name)]
        }
        StatementKind::CreateIndex(s) => s
            .table
            .iter()
            .map(|table| Touched {
                part: Some(&s.name),
                ..one(class, object_type::INDEX, table)
            })
            .collect(),
        StatementKind::AlterIndex(s) => vec![one(class, object_type::INDEX, &s.table)],
        StatementKind::DropIndex { indexes, .. } => indexes
            .iter()
            .map(|(index, table)| Touched {
                part: Some(index),
                ..one(class, object_type::INDEX, table)
            })
            .collect(),
        StatementKind::CreateStatistics(s) => vec![one(class, object_type::STATISTICS, &s.table)],
        StatementKind::Drop { kind, names, .. } => {
            let ty = match kind {
                DropKind::Table => object_type::TABLE,
                DropKind::View => object_type::VIEW,
                DropKind::Procedure => object_type::PROCEDURE,
                DropKind::Function => object_type::SCALAR_FUNCTION,
                DropKind::Trigger => object_type::TRIGGER,
                _ => return Vec::new(),
            };
            names.iter().map(|n| one(class, ty, n)).collect()
        }
        _ => Vec::new(),
    }
}

impl Run<'_> {
    /// Tells of a statement that has succeeded.
    pub(super) fn audit(&self, at: usize, (kind, statement): (Kind, &StatementKind)) {
        match kind.row().audit {
            Audit::Nothing => {}
            Audit::Objects(class) => self.audit_objects(class, statement),
            Audit::Databases(class) => self.audit_databases(class, statement),
            Audit::Schema => {
                if let StatementKind::CreateSchema { name, .. } = statement {
                    self.audit_named(class::OBJECT_CREATED, object_type::SCHEMA, name);
                }
            }
            Audit::Dbcc => self.audit_text(class::DBCC, 0, at),
            Audit::Media(which) => self.audit_text(class::BACKUP_RESTORE, which, at),
        }
    }

    fn audit_databases(&self, class: u16, statement: &StatementKind) {
        match statement {
            StatementKind::CreateDatabase(s) => self.audit_database(class, &s.name),
            StatementKind::AlterDatabase(s) => {
                let name = s.name.as_deref().unwrap_or(&self.session.database);
                self.audit_database(class, name);
            }
            StatementKind::DropDatabase { names, .. } => {
                names.iter().for_each(|n| self.audit_database(class, n));
            }
            _ => {}
        }
    }

    fn row(&self, class: u16, database: &str, id: u64) -> TraceRow {
        TraceRow::new(class, time::wall())
            .by(Some(&self.session.activity))
            .text(Column::DatabaseName, database)
            .int(Column::DatabaseID, id as i64)
            .int(Column::NestLevel, i64::from(self.session.state.nesting))
    }

    /// A row of the current database.
    fn here(&self, class: u16) -> TraceRow {
        let id = u64::from(self.session.activity.database());
        self.row(class, &self.session.database, id)
    }

    /// Objects of tempdb are not traced: they come and go by the thousand.
    fn audit_objects(&self, class: u16, statement: &StatementKind) {
        let trace = self.session.instance.default_trace();
        if trace.is_none() && !events::are_wanted(OBJECTS) {
            return;
        }
        for t in touched(class, statement)
            .iter()
            .filter(|t| !is_temporary(t.name))
        {
            let (database, name) = self.session.definition_target(t.name);
            let open = self.session.instance.databases.find(&database);
            let snapshot = open.as_ref().and_then(|d| d.catalog.snapshot().ok());
            let schema = snapshot
                .as_ref()
                .and_then(|s| s.schema(name.schema().unwrap_or("dbo")));
            let found = schema.and_then(|s| {
                snapshot
                    .as_ref()?
                    .find_table(s.id, name.name())
                    .map(|t| t.id.0)
            });
            let database_id = open.as_ref().map_or(0, |d| u64::from(d.db.id.0));
            let (object_id, object_name): (i32, String) =
                (found.unwrap_or(0), name.name().to_owned());
            if let Some(trace) = &trace {
                let mut row = self
                    .row(t.class, &database, database_id)
                    .int(Column::ObjectType, t.ty)
                    .int(Column::EventSubClass, 0)
                    .text(Column::ObjectName, t.part.unwrap_or(&object_name));
                if t.part.is_some() {
                    row = row.text(Column::ParentName, &object_name);
                }
                if found.is_some() {
                    row = row.int(Column::ObjectID, i64::from(object_id));
                }
                trace.record(row);
            }
            let object_id = u64::from(object_id.unsigned_abs());
            match t.class {
                class::OBJECT_CREATED => emit(|| ObjectCreated {
                    database_id,
                    object_id,
                    object_name,
                }),
                class::OBJECT_ALTERED => emit(|| ObjectAltered {
                    database_id,
                    object_id,
                    object_name,
                }),
                _ => emit(|| ObjectDeleted {
                    database_id,
                    object_id,
                    object_name,
                }),
            }
        }
    }

    fn audit_database(&self, class: u16, name: &str) {
        if let Some(trace) = self.session.instance.default_trace() {
            let id = self.session.instance.database_id(name);
            let mut row = TraceRow::new(class, time::wall())
                .by(Some(&self.session.activity))
                .text(Column::DatabaseName, name)
                .text(Column::ObjectName, name)
                .int(Column::ObjectType, object_type::DATABASE)
                .int(Column::EventSubClass, 0);
            if let Some(id) = id {
                row = row.int(Column::DatabaseID, i64::from(id.0));
            }
            trace.record(row);
        }
    }

    fn audit_named(&self, class: u16, ty: i64, name: &str) {
        if let Some(trace) = self.session.instance.default_trace() {
            let row = self.here(class).text(Column::ObjectName, name);
            trace.record(
                row.int(Column::ObjectType, ty)
                    .int(Column::EventSubClass, 0),
            );
        }
    }

    /// A statement by its text.
    fn audit_text(&self, class: u16, subclass: i64, at: usize) {
        if let Some(trace) = self.session.instance.default_trace() {
            let (from, to) = self.program.steps[at].span;
            let text = &*self.program.shown_part((from, to));
            let mut row = self
                .here(class)
                .text(Column::TextData, text)
                .int(Column::Success, 1);
            if subclass > 0 {
                row = row.int(Column::EventSubClass, subclass);
            }
            trace.record(row);
        }
    }
}
