//! What a change of a definition makes of a table.

use super::model::{No, Op, missing, refused, shut};
use super::table::{Column, Index, Made, Row, Table, Ty, Val};

type Done = Result<(), No>;

/// A change of a table's definition.
pub fn define(table: &mut Table, op: &Op) -> Done {
    match op {
        Op::AddColumn { column, .. } => add_column(table, column),
        Op::DropColumn { column, .. } => {
            let at = table.at(column).ok_or_else(missing)?;
            if is_used(table, column) {
                return Err(refused(&[5074, 4922]));
            }
            table.columns.remove(at);
            for row in table.rows.values_mut() {
                row.remove(at);
            }
            Ok(())
        }
        Op::AlterColumn {
            column,
            ty,
            nullable,
            ..
        } => alter_column(table, column, *ty, *nullable),
        Op::AddDefault {
            column,
            name,
            value,
            ..
        } => {
            let at = table.at(column).ok_or_else(missing)?;
            if table.columns[at].default.is_some() || table.columns[at].made != Made::Plain {
                return Err(refused(&[1781, 1754, 1752]));
            }
            table.columns[at].default = Some((name.clone(), value.clone()));
            Ok(())
        }
        Op::AddCheck { check, .. } => {
            let at = table.at(&check.column).ok_or_else(missing)?;
            if table.checks.iter().any(|c| c.name == check.name) {
                return Err(missing());
            }
            let broken = |r: &Row| matches!(r[at], Val::Int(v) if v >= check.limit);
            if table.rows.values().any(broken) {
                return Err(refused(&[547]));
            }
            table.checks.push(check.clone());
            Ok(())
        }
        Op::DropConstraint { name, .. } => drop_constraint(table, name),
        Op::AddIndex { index, .. } => add_index(table, index),
        Op::DropIndex { name, .. } => {
            let at = table.indexes.iter().position(|i| i.name == *name);
            let at = at.ok_or_else(missing)?;
            if table.indexes[at].constraint.is_some() {
                return Err(refused(&[3723]));
            }
            table.indexes.remove(at);
            Ok(())
        }
        Op::Rebuild { name, .. } => rebuild(table, name.as_deref()),
        Op::Disable { name, .. } => {
            let at = table.indexes.iter().position(|i| i.name == *name);
            table.indexes[at.ok_or_else(missing)?].disabled = true;
            Ok(())
        }
        Op::RenameColumn { column, to, .. } => {
            let at = table.at(column).ok_or_else(missing)?;
            if table.at(to).is_some() || is_used(table, column) || !table.triggers.is_empty() {
                return Err(No::Unknown);
            }
            table.columns[at].name = to.clone();
            Ok(())
        }
        Op::Touch { .. } => shut(table),
        _ => define_lesser(table, op),
    }
}

/// A longer text is no other type to what depends on the column, but to a computed column and a foreign key, and in a key.
fn alter_column(table: &mut Table, column: &str, ty: Ty, nullable: bool) -> Done {
    let at = table.at(column).ok_or_else(missing)?;
    let old = &table.columns[at];
    if old.made != Made::Plain {
        return Err(No::Unknown);
    }
    let same = old.ty == ty;
    let longer = match (old.ty, ty) {
        (Ty::Varchar(old), Ty::Varchar(new)) | (Ty::NVarchar(old), Ty::NVarchar(new)) => new >= old,
        _ => false,
    };
    let computed = |c: &Column| matches!(&c.made, Made::Computed(of, ..) if of == column);
    let read =
        table.columns.iter().any(computed) || table.foreign.iter().any(|f| f.column == column);
    let primary = |i: &&Index| i.constraint == Some("PRIMARY KEY");
    let key = |i: &&Index| i.columns.iter().any(|c| c == column);
    let mut keys = table.indexes.iter().filter(key);
    let pinned = keys.any(|i| match primary(&i) {
        true => nullable || !same,
        false => i.clustered && !same,
    });
    if pinned || !same && (read || !longer && is_used(table, column)) {
        return Err(refused(&[5074, 4922]));
    }
    if !nullable && table.rows.values().any(|r| r[at] == Val::Null) {
        return Err(refused(&[515]));
    }
    table.columns[at].ty = ty;
    table.columns[at].nullable = nullable;
    Ok(())
}

/// Triggers, statistics, constraints that nobody asks.
fn define_lesser(table: &mut Table, op: &Op) -> Done {
    match op {
        Op::CreateTrigger {
            trigger, replaces, ..
        } => {
            let at = table.triggers.iter().position(|t| t.name == trigger.name);
            match (at, replaces) {
                (Some(at), true) => table.triggers[at] = trigger.clone(),
                (None, true) => return Err(missing()),
                (None, false) if table.triggers.len() < 2 => table.triggers.push(trigger.clone()),
                _ => return Err(No::Unknown),
            }
            Ok(())
        }
        Op::DropTrigger { name, .. } => {
            let at = table.triggers.iter().position(|t| t.name == *name);
            table.triggers.remove(at.ok_or_else(missing)?);
            Ok(())
        }
        Op::EnableTrigger { name, enable, .. } => {
            let t = table.triggers.iter_mut().find(|t| t.name == *name);
            t.ok_or_else(missing)?.disabled = !enable;
            Ok(())
        }
        Op::EnableCheck {
            name,
            enable,
            verify,
            ..
        } => {
            let c = table.checks.iter().position(|c| c.name == *name);
            let c = c.ok_or_else(missing)?;
            let at = table.at(&table.checks[c].column).ok_or(No::Unknown)?;
            let limit = table.checks[c].limit;
            let broken = |r: &Row| matches!(r[at], Val::Int(v) if v >= limit);
            if *enable && *verify && table.rows.values().any(broken) {
                return Err(refused(&[547]));
            }
            table.checks[c].disabled = !enable;
            Ok(())
        }
        Op::Statistics { name, make, .. } => {
            let at = table.statistics.iter().position(|s| s == name);
            match (at, make) {
                (None, true) => table.statistics.push(name.clone()),
                (Some(at), false) => drop(table.statistics.remove(at)),
                _ => return Err(missing()),
            }
            Ok(())
        }
        _ => Err(No::Unknown),
    }
}

fn rebuild(table: &mut Table, name: Option<&str>) -> Done {
    if name.is_some_and(|n| table.index(n).is_none()) {
        return Err(missing());
    }
    let shut = table.is_shut();
    for i in &mut table.indexes {
        if name.is_none_or(|n| n == i.name) {
            if shut && !i.clustered && name.is_some() {
                return Err(No::Unknown);
            }
            i.disabled = false;
        }
    }
    Ok(())
}

fn add_column(table: &mut Table, column: &Column) -> Done {
    if table.at(&column.name).is_some() {
        return Err(refused(&[2705]));
    }
    let identity = |c: &Column| c.made == Made::Identity;
    if identity(column) && table.columns.iter().any(identity) {
        return Err(refused(&[2744]));
    }
    if let Made::Computed(of, ..) = &column.made
        && table
            .column(of)
            .is_none_or(|c| !c.ty.is_number() || !c.is_given())
    {
        return Err(No::Unknown);
    }
    let value = match (&column.made, &column.default) {
        (Made::Identity, _) => Val::Any,
        // A column that may be NULL is NULL in the rows that are there, whatever its default.
        (Made::Plain, Some((_, v))) if !column.nullable => v.clone(),
        _ => Val::Null,
    };
    if !column.nullable
        && value == Val::Null
        && column.made == Made::Plain
        && !table.rows.is_empty()
    {
        return Err(refused(&[4901]));
    }
    table.columns.push(column.clone());
    let mut rows = std::mem::take(&mut table.rows);
    for row in rows.values_mut() {
        row.push(value.clone());
        table.compute(row);
    }
    table.rows = rows;
    Ok(())
}

fn is_used(table: &Table, column: &str) -> bool {
    let computed = |c: &Column| matches!(&c.made, Made::Computed(of, ..) if of == column);
    table.indexes.iter().any(|i| i.uses(column))
        || table.checks.iter().any(|c| c.column == column)
        || table.foreign.iter().any(|f| f.column == column)
        || table.columns.iter().any(computed)
        || table.column(column).is_some_and(|c| c.default.is_some())
}

fn drop_constraint(table: &mut Table, name: &str) -> Done {
    if let Some(at) = table.checks.iter().position(|c| c.name == name) {
        table.checks.remove(at);
        return Ok(());
    }
    if let Some(at) = table.foreign.iter().position(|f| f.name == name) {
        table.foreign.remove(at);
        return Ok(());
    }
    let default = |c: &Column| c.default.as_ref().is_some_and(|d| d.0 == name);
    if let Some(at) = table.columns.iter().position(default) {
        table.columns[at].default = None;
        return Ok(());
    }
    let key = |i: &Index| i.name == name && i.constraint.is_some();
    if let Some(at) = table.indexes.iter().position(key) {
        table.indexes.remove(at);
        return Ok(());
    }
    Err(missing())
}

fn add_index(table: &mut Table, index: &Index) -> Done {
    if table.index(&index.name).is_some() {
        return Err(refused(&[1913, 2714]));
    }
    if index.clustered && table.clustered().is_some() {
        return Err(refused(&[1902]));
    }
    let key = Some("PRIMARY KEY");
    if index.constraint == key && table.indexes.iter().any(|i| i.constraint == key) {
        return Err(refused(&[1779]));
    }
    let known = |c: &String| c == "id" || table.at(c).is_some();
    if !index.columns.iter().chain(&index.include).all(known) {
        return Err(missing());
    }
    if table.is_shut() {
        return Err(No::Unknown);
    }
    table.indexes.push(index.clone());
    Ok(())
}

/// Two tables between which rows can change hands without being written.
pub fn alike(a: &Table, b: &Table) -> bool {
    let columns = |t: &Table| -> Vec<(String, Ty, bool, Made)> {
        let each = t.columns.iter();
        each.map(|c| (c.name.clone(), c.ty, c.nullable, c.made.clone()))
            .collect()
    };
    let plain = |t: &Table| t.indexes.is_empty() && t.checks.is_empty() && t.foreign.is_empty();
    columns(a) == columns(b) && plain(a) && plain(b)
}
