//! `fn_listextendedproperty(name, level0type, level0name, level1type, level1name, level2type, level2name)`.
//!
//! Without a level it is the database's own properties; else those of the objects of the last type that is named, all of them
//! where that has no name. Nothing comes of a type that has no properties here.
//! <https://learn.microsoft.com/sql/relational-databases/system-functions/sys-fn-listextendedproperty-transact-sql>

use duramen_catalog::properties::{PropertyDef, class};
use duramen_catalog::{ObjectDef, ObjectKind, Snapshot, fold};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::snapshot;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5037, &VIEW),
];

pub struct Found {
    kind: Option<String>,
    name: Option<String>,
    property: PropertyDef,
}

columns! { Found;
    "objtype", T::SYSNAME, NULL, |f| f.kind.as_deref().map_or(Value::Null, text);
    "objname", T::SYSNAME, NULL, |f| f.name.as_deref().map_or(Value::Null, text);
    "name", T::SYSNAME, NOT_NULL, |f| text(&f.property.name);
    "value", T::VARIANT, NULL, |f| f.property.value.clone();
}

/// What is asked for: the property's name, and type and name of each level.
struct Asked {
    property: Option<String>,
    levels: [(Option<String>, Option<String>); 3],
}

/// A name fits where none is asked for.
fn fits(asked: &Option<String>, name: &str) -> bool {
    asked.as_ref().is_none_or(|a| fold(a) == fold(name))
}

/// The word of an object of the second level.
fn word_of(kind: ObjectKind) -> Option<&'static str> {
    Some(match kind {
        ObjectKind::TABLE => "TABLE",
        ObjectKind::VIEW => "VIEW",
        ObjectKind::PROCEDURE => "PROCEDURE",
        ObjectKind::SCALAR_FUNCTION | ObjectKind::INLINE_FUNCTION | ObjectKind::TABLE_FUNCTION => {
            "FUNCTION"
        }
        ObjectKind::SYNONYM => "SYNONYM",
        _ => return None,
    })
}

impl Asked {
    /// Type and name of what a property belongs to, if that is asked for.
    fn owner(
        &self,
        snapshot: &Snapshot,
        p: &PropertyDef,
    ) -> Option<(Option<String>, Option<String>)> {
        let [zero, one, two] = &self.levels;
        let Some(schema_word) = &zero.0 else {
            return (p.class == class::DATABASE).then_some((None, None));
        };
        if schema_word != "SCHEMA" && schema_word != "USER" {
            return None;
        }
        let Some(object_word) = &one.0 else {
            let schema = snapshot.schemas.get(&p.id)?;
            let meant = p.class == class::SCHEMA && fits(&zero.1, &schema.name);
            return meant.then(|| (Some("SCHEMA".to_owned()), Some(schema.name.clone())));
        };
        let object = snapshot.objects.get(&duramen_base::ObjectId(p.id))?;
        if p.class == class::SCHEMA || p.class == class::DATABASE {
            return None;
        }
        let within = |o: &ObjectDef| {
            let schema = snapshot.schemas.get(&o.schema);
            schema.is_some_and(|s| fits(&zero.1, &s.name))
                && word_of(o.kind) == Some(object_word.as_str())
                && fits(&one.1, &o.name)
        };
        let Some(part_word) = &two.0 else {
            let meant = p.class != class::INDEX && p.part == 0 && within(object);
            return meant.then(|| (Some(object_word.clone()), Some(object.name.clone())));
        };
        let name = self.part(snapshot, p, object, part_word, &within)?;
        fits(&two.1, &name).then(|| (Some(part_word.clone()), Some(name)))
    }

    /// The name of a part of an object, or of what hangs on it.
    fn part(
        &self,
        snapshot: &Snapshot,
        p: &PropertyDef,
        object: &ObjectDef,
        word: &str,
        within: &dyn Fn(&ObjectDef) -> bool,
    ) -> Option<String> {
        let table = snapshot.tables.get(&object.id);
        match word {
            "COLUMN" if p.class != class::INDEX && p.part > 0 && within(object) => match table {
                Some(t) => {
                    let column = t.columns.iter().find(|c| c.id == p.part)?;
                    Some(column.name.clone())
                }
                None => {
                    let at = usize::try_from(p.part).ok()?.checked_sub(1)?;
                    let view = snapshot.module(object.id)?;
                    view.columns.get(at).map(|c| c.name.clone())
                }
            },
            "INDEX" if p.class == class::INDEX && within(object) => {
                let index = table?.indexes.iter().find(|i| i32::from(i.id) == p.part)?;
                Some(index.name.clone())
            }
            "CONSTRAINT" | "TRIGGER" if p.class != class::INDEX && p.part == 0 => {
                let trigger = object.kind == ObjectKind::TRIGGER;
                let constraint = ["C", "D", "F", "PK", "UQ"].contains(&object.kind.as_str().trim());
                let alike = if word == "TRIGGER" {
                    trigger
                } else {
                    constraint
                };
                let parent = snapshot.objects.get(&object.parent)?;
                (alike && within(parent)).then(|| object.name.clone())
            }
            _ => None,
        }
    }
}

pub const VIEW: View = View::new("fn_listextendedproperty", VISIBLE, COLUMNS, |cx, args| {
    let word = |at: usize| args.get(at).and_then(Value::as_text);
    let level = |at: usize| {
        let kind = word(at).map(|k| k.trim().to_ascii_uppercase());
        (kind, word(at + 1))
    };
    let asked = Asked {
        property: word(0),
        levels: [level(1), level(3), level(5)],
    };
    let snapshot = snapshot(cx)?;
    let named = snapshot.properties.iter();
    let named = named.filter(|p| fits(&asked.property, &p.name));
    let found = named.filter_map(|p| {
        let (kind, name) = asked.owner(&snapshot, p)?;
        let property = p.clone();
        Some(row(&Found {
            kind,
            name,
            property,
        }))
    });
    Ok(found.collect())
});
