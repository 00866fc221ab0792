//! Joins that seek: few rows on the left, and a key of the table on the right that starts with the join's columns.
//!
//! The left side is read first. When it ends within [`FEW_ROWS`], each of its rows seeks its partners instead of the
//! whole right table being read and hashed.

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cx::Cx;
use crate::expr::{Expr, Kind};
use crate::host::{Bounds, Locator, RowCursor, TableSource};
use crate::locking::ScanLock;
use crate::passing::Passing;
use crate::plan::{JoinKind, Node, Plan, Row};
use crate::profile::Watch;
use crate::width;

/// A left side with more rows than this reads the right side once, as a hash join.
pub const FEW_ROWS: usize = 512;

/// Of a value that the column cannot have.
struct NoRows;

impl RowCursor for NoRows {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        Ok(None)
    }
}

/// How the right side is sought.
pub struct SeekJoin<'p> {
    right: &'p Plan,
    table: &'p TableSource,
    lock: ScanLock,
    path: usize,
    /// For each column of the key sought, the join's equality that gives its value.
    equalities: Vec<usize>,
}

impl<'p> SeekJoin<'p> {
    /// The best key of the right side for the equalities of an inner or left join, if there is one.
    pub fn find(right: &'p Plan, hash: &[(Expr, Expr)], kind: JoinKind) -> Option<SeekJoin<'p>> {
        let Node::Scan {
            table,
            seek: None,
            lock,
            ..
        } = &right.node
        else {
            return None;
        };
        let columns = table.def.columns();
        // The target of an UPDATE gives its rows' places out as one more column.
        let plain = right.columns.len() == columns.len();
        if !plain || !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            return None;
        }
        let gives = |ordinal: usize| {
            let ty = columns[ordinal].ty;
            hash.iter().position(|(l, r)| {
                if width::widened(r) == Some(ordinal) {
                    return width::is_integer(&l.ty);
                }
                let column = matches!(r.kind, Kind::Column { depth: 0, index } if index == ordinal);
                let same_type = l.ty.id == ty.id
                    || (l.ty.id.is_char() && ty.id.is_char())
                    || (l.ty.id.is_nchar() && ty.id.is_nchar());
                // A key is in the order of its column's collation and of no other.
                let same_order = !ty.id.is_string()
                    || (r.ty.collation == ty.collation && l.ty.collation == ty.collation);
                column && same_type && same_order
            })
        };
        let found = table.def.paths().iter().enumerate().map(|(path, p)| {
            let keys = p.keys.iter().map(|(ordinal, _)| gives(*ordinal));
            let equalities: Vec<usize> = keys.map_while(|e| e).collect();
            (equalities, path, p.covers_all)
        });
        let best = found.max_by_key(|(equalities, _, covers)| (equalities.len(), *covers))?;
        (!best.0.is_empty()).then_some(SeekJoin {
            right,
            table,
            lock: *lock,
            path: best.1,
            equalities: best.0,
        })
    }

    /// Stands before the rows on the right whose key starts with these values of the join's equalities.
    pub fn open(&self, values: &[Value], cx: &mut Cx<'_>) -> SqlResult<Box<dyn RowCursor>> {
        let columns = self.table.def.columns();
        let keys = &self.table.def.paths()[self.path].keys;
        let equal = self.equalities.iter().zip(keys);
        let equal = equal.map(|(i, (column, _))| width::fitted(&values[*i], &columns[*column].ty));
        // What the column cannot have no row has.
        let Some(equal) = equal.collect::<Option<Vec<Value>>>() else {
            return Ok(Box::new(NoRows));
        };
        let bounds = Bounds {
            path: self.path,
            equal,
            ..Bounds::default()
        };
        let watch = cx.profile.is_some().then(Watch::start);
        let cursor = self.table.def.open(Some(&bounds), self.lock, cx)?;
        if let (Some(profile), Some(watch)) = (&cx.profile, watch) {
            profile.note(crate::profile::place(self.right), cx, |counts| {
                counts.executions += 1;
                counts.ends += 1;
                watch.add_to(counts);
            });
        }
        Ok(cursor)
    }

    /// At most `n` of the next rows, of wide ones fewer, and whether those were the last.
    pub fn some(
        &self,
        cursor: &mut dyn RowCursor,
        n: usize,
        passing: &mut Passing,
        cx: &mut Cx<'_>,
    ) -> SqlResult<(Vec<Row>, bool)> {
        cx.check_cancelled()?;
        let watch = cx.profile.is_some().then(Watch::start);
        let mut rows = Vec::new();
        let mut ended = false;
        while rows.len() < n && !passing.is_full() && !ended {
            match cursor.next(cx)? {
                Some((_, row)) => {
                    passing.add(&row);
                    rows.push(row);
                }
                None => ended = true,
            }
        }
        passing.go_on(cx);
        if let (Some(profile), Some(watch)) = (&cx.profile, watch) {
            profile.note(crate::profile::place(self.right), cx, |counts| {
                counts.rows += rows.len() as u64;
                watch.add_to(counts);
            });
        }
        Ok((rows, ended))
    }
}
