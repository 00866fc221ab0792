//! `sys.key_constraints`, `sys.default_constraints`, `sys.check_constraints`, `sys.foreign_keys`,
//! `sys.foreign_key_columns` and `sys.sql_modules`.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlResult};
use duramen_catalog::{ModuleDef, ObjectKind, Snapshot, TableDef};
use duramen_core::security::Visible;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::{Object, object_columns};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1034, &KEY_CONSTRAINTS),
    (-1035, &DEFAULT_CONSTRAINTS),
    (-1036, &CHECK_CONSTRAINTS),
    (-1037, &FOREIGN_KEYS),
    (-1038, &FOREIGN_KEY_COLUMNS),
    (-1039, &SQL_MODULES),
    (-1049, &SYSTEM_SQL_MODULES),
];

/// A constraint's object and what else its view shows.
pub struct Source<X> {
    object: Object,
    extra: X,
    /// Its expression may be seen.
    defined: bool,
}

impl<X> Source<X> {
    fn definition(&self, text: &str) -> Value {
        text_or_null(Some(text).filter(|_| self.defined))
    }
}

fn object<X>(s: &Source<X>) -> &Object {
    &s.object
}

fn source<X>(visible: &Visible, id: ObjectId, extra: X) -> Option<Source<X>> {
    let object = Object::of(visible.snapshot.objects.get(&id)?);
    let defined = visible.text(id, "").is_some();
    Some(Source {
        object,
        extra,
        defined,
    })
}

/// The constraints of every table, as `of` finds them.
fn each<X>(
    cx: &Context,
    of: impl Fn(&Snapshot, &TableDef) -> Vec<(ObjectId, X)>,
) -> SqlResult<Vec<Source<X>>> {
    let visible = cx.visible()?;
    let snapshot = &visible.snapshot;
    let mut all = Vec::new();
    for t in snapshot.tables.values() {
        all.extend(
            of(snapshot, t)
                .into_iter()
                .filter_map(|(id, extra)| source(&visible, id, extra)),
        );
    }
    Ok(all)
}

pub use keys::KEY_CONSTRAINTS;

mod keys {
    use super::*;

    object_columns! { Source<u16>, object;
        "unique_index_id", T::INT, NULL, |s| int(s.extra);
        "is_system_named", T::BIT, NOT_NULL, |s| bit(s.object.made_up);
        "is_enforced", T::BIT, NULL, |_| bit(true);
    }

    fn of(snapshot: &Snapshot, t: &TableDef) -> Vec<(ObjectId, u16)> {
        let found = |name: &str| {
            snapshot.objects.values().find(|o| {
                let key = [ObjectKind::PRIMARY_KEY, ObjectKind::UNIQUE].contains(&o.kind);
                key && o.parent == t.id && o.name == name
            })
        };
        t.indexes
            .iter()
            .filter(|i| i.primary_key || i.unique_constraint)
            .filter_map(|i| Some((found(&i.name)?.id, i.id)))
            .collect()
    }

    pub const KEY_CONSTRAINTS: View = View::new("key_constraints", VISIBLE, COLUMNS, |cx, _| {
        Ok(each(cx, of)?.iter().map(row).collect())
    });
}

pub use defaults::DEFAULT_CONSTRAINTS;

mod defaults {
    use super::*;

    object_columns! { Source<(i32, String)>, object;
        "parent_column_id", T::INT, NOT_NULL, |s| int(s.extra.0);
        "definition", T::NVARCHAR_MAX, NULL, |s| s.definition(&s.extra.1);
        "is_system_named", T::BIT, NOT_NULL, |s| bit(s.object.made_up);
    }

    fn of(_: &Snapshot, t: &TableDef) -> Vec<(ObjectId, (i32, String))> {
        t.columns
            .iter()
            .filter_map(|c| {
                let d = c.default.as_ref()?;
                Some((d.id, (c.id, d.text.clone())))
            })
            .collect()
    }

    pub const DEFAULT_CONSTRAINTS: View =
        View::new("default_constraints", VISIBLE, COLUMNS, |cx, _| {
            Ok(each(cx, of)?.iter().map(row).collect())
        });
}

pub use checks::CHECK_CONSTRAINTS;

mod checks {
    use duramen_catalog::CheckDef;

    use super::*;

    object_columns! { Source<CheckDef>, object;
        "is_disabled", T::BIT, NOT_NULL, |s| bit(s.extra.state.disabled);
        "is_not_for_replication", T::BIT, NOT_NULL, |s| bit(s.extra.state.not_for_replication);
        "is_not_trusted", T::BIT, NOT_NULL, |s| bit(s.extra.state.not_trusted);
        "parent_column_id", T::INT, NOT_NULL, |s| int(s.extra.column);
        "definition", T::NVARCHAR_MAX, NULL, |s| s.definition(&s.extra.text);
        "uses_database_collation", T::BIT, NULL, |_| bit(true);
        "is_system_named", T::BIT, NOT_NULL, |s| bit(s.object.made_up);
    }

    fn of(_: &Snapshot, t: &TableDef) -> Vec<(ObjectId, CheckDef)> {
        t.checks.iter().map(|c| (c.id, c.clone())).collect()
    }

    pub const CHECK_CONSTRAINTS: View =
        View::new("check_constraints", VISIBLE, COLUMNS, |cx, _| {
            Ok(each(cx, of)?.iter().map(row).collect())
        });
}

pub use foreign::{FOREIGN_KEY_COLUMNS, FOREIGN_KEYS};

mod foreign {
    use duramen_catalog::ForeignKeyDef;

    use super::*;

    fn action(n: u8) -> &'static str {
        ["NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT"]
            .get(usize::from(n))
            .copied()
            .unwrap_or("")
    }

    object_columns! { Source<ForeignKeyDef>, object;
        "referenced_object_id", T::INT, NULL, |s| int(s.extra.referenced.0);
        "key_index_id", T::INT, NULL, |s| int(s.extra.referenced_index);
        "is_disabled", T::BIT, NOT_NULL, |s| bit(s.extra.state.disabled);
        "is_not_for_replication", T::BIT, NOT_NULL, |s| bit(s.extra.state.not_for_replication);
        "is_not_trusted", T::BIT, NOT_NULL, |s| bit(s.extra.state.not_trusted);
        "delete_referential_action", T::TINYINT, NULL, |s| tiny(s.extra.on_delete);
        "delete_referential_action_desc", DESC, NULL, |s| text(action(s.extra.on_delete));
        "update_referential_action", T::TINYINT, NULL, |s| tiny(s.extra.on_update);
        "update_referential_action_desc", DESC, NULL, |s| text(action(s.extra.on_update));
        "is_system_named", T::BIT, NOT_NULL, |s| bit(s.object.made_up);
    }

    fn of(_: &Snapshot, t: &TableDef) -> Vec<(ObjectId, ForeignKeyDef)> {
        t.foreign_keys.iter().map(|f| (f.id, f.clone())).collect()
    }

    pub const FOREIGN_KEYS: View = View::new("foreign_keys", VISIBLE, COLUMNS, |cx, _| {
        Ok(each(cx, of)?.iter().map(row).collect())
    });

    pub use columns::FOREIGN_KEY_COLUMNS;

    mod columns {
        use super::*;

        /// Constraint, number, table and column here, table and column there.
        pub struct Pair([i32; 6]);

        columns! { Pair;
            "constraint_object_id", T::INT, NOT_NULL, |p| int(p.0[0]);
            "constraint_column_id", T::INT, NOT_NULL, |p| int(p.0[1]);
            "parent_object_id", T::INT, NOT_NULL, |p| int(p.0[2]);
            "parent_column_id", T::INT, NOT_NULL, |p| int(p.0[3]);
            "referenced_object_id", T::INT, NOT_NULL, |p| int(p.0[4]);
            "referenced_column_id", T::INT, NOT_NULL, |p| int(p.0[5]);
        }

        pub const FOREIGN_KEY_COLUMNS: View =
            View::new("foreign_key_columns", VISIBLE, COLUMNS, |cx, _| {
                let snapshot = crate::views::objects::snapshot(cx)?;
                let mut rows = Vec::new();
                for t in snapshot.tables.values() {
                    for f in &t.foreign_keys {
                        for (n, (here, there)) in (1..).zip(&f.columns) {
                            let pair = [f.id.0, n, t.id.0, *here, f.referenced.0, *there];
                            rows.push(row(&Pair(pair)));
                        }
                    }
                }
                Ok(rows)
            });
    }
}

pub use modules::{SQL_MODULES, SYSTEM_SQL_MODULES};

mod modules {
    use super::*;

    /// A module whose text may be seen, or not.
    pub struct Shown(Arc<ModuleDef>, bool);

    impl std::ops::Deref for Shown {
        type Target = Arc<ModuleDef>;

        fn deref(&self) -> &Arc<ModuleDef> {
            &self.0
        }
    }

    columns! { Shown;
        "object_id", T::INT, NOT_NULL, |m| int(m.id.0);
        "definition", T::NVARCHAR_MAX, NULL, |m| text_or_null(Some(&*m.text).filter(|_| m.1));
        "uses_ansi_nulls", T::BIT, NULL, |m| bit(m.ansi_nulls);
        "uses_quoted_identifier", T::BIT, NULL, |m| bit(m.quoted_identifier);
        "is_schema_bound", T::BIT, NULL, |m| bit(duramen_program::schema_bound::is_schema_bound(m));
        "uses_database_collation", T::BIT, NULL, |_| bit(false);
        "is_recompiled", T::BIT, NULL, |_| bit(false);
        "null_on_null_input", T::BIT, NULL, |_| bit(false);
        "execute_as_principal_id", T::INT, NULL, |_| Value::Null;
        "uses_native_compilation", T::BIT, NULL, |_| bit(false);
        "inline_type", T::BIT, NULL, |_| bit(false);
        "is_inlineable", T::BIT, NULL, |_| bit(false);
    }

    pub const SQL_MODULES: View = View::new("sql_modules", VISIBLE, COLUMNS, |cx, _| {
        let visible = cx.visible()?;
        let all = visible.snapshot.modules.values();
        let texts = all.filter(|m| m.kind != ObjectKind::SYNONYM);
        let shown = |m: &Arc<ModuleDef>| {
            let seen = visible.text(m.id, &m.text).is_some();
            row(&Shown(m.clone(), seen))
        };
        Ok(texts.map(shown).collect())
    });

    /// The procedures and views of the system that are T-SQL themselves.
    pub const SYSTEM_SQL_MODULES: View = View::new("system_sql_modules", FACTS, COLUMNS, |_, _| {
        let all = duramen_program::resource::listed();
        Ok(all.map(|m| row(&Shown(m.clone(), true))).collect())
    });
}
