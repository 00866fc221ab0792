//! Columns on their way into a table: strings at the length that is declared, and one value many times.

use std::sync::Arc;

use super::{BytesKind, Column, Data, Runs};
use crate::{SqlType, TypeId, Value};

impl Column {
    /// The cells as a column of type `to` keeps them: within its length, padded where that is fixed. They are of the
    /// family of `to` already, and of its code page. `None`: something has to be cut, or is not of that family; then each
    /// value has to be assigned for itself.
    pub fn assigned(self: &Arc<Column>, to: &SqlType) -> Option<Arc<Column>> {
        if !(to.id.is_string() || to.id.is_binary()) {
            return Some(self.clone());
        }
        let fixed = matches!(to.id, TypeId::Char | TypeId::NChar | TypeId::Binary);
        let variable = matches!(
            to.id,
            TypeId::VarChar | TypeId::NVarChar | TypeId::VarBinary
        );
        if !fixed && !variable {
            return None;
        }
        match (&self.data, to.char_capacity()) {
            (Data::Bytes(BytesKind::VarChar, _), None) if to.id.is_char() => Some(self.clone()),
            (Data::Bytes(BytesKind::VarChar, r), Some(n)) if to.id.is_char() => {
                self.fitted(r, n, fixed.then_some(b' '), |r| {
                    Data::Bytes(BytesKind::VarChar, r)
                })
            }
            (Data::Bytes(BytesKind::Binary, _), None) if to.id.is_binary() => Some(self.clone()),
            (Data::Bytes(BytesKind::Binary, r), Some(n)) if to.id.is_binary() => {
                self.fitted(r, n, fixed.then_some(0), |r| {
                    Data::Bytes(BytesKind::Binary, r)
                })
            }
            (Data::Wide(_), None) if to.id.is_nchar() => Some(self.clone()),
            (Data::Wide(r), Some(n)) if to.id.is_nchar() => {
                self.fitted(r, n, fixed.then_some(u16::from(b' ')), Data::Wide)
            }
            _ => None,
        }
    }

    /// The runs, none longer than `n`; with `pad`, each of just that length.
    fn fitted<T: Copy>(
        self: &Arc<Column>,
        runs: &Runs<T>,
        n: usize,
        pad: Option<T>,
        data: impl Fn(Runs<T>) -> Data,
    ) -> Option<Arc<Column>> {
        let (mut longest, mut short, mut start) = (0, false, 0);
        for (i, end) in runs.ends.iter().enumerate() {
            longest = longest.max(end - start);
            short |= end - start < n && !self.is_null(i);
            start = *end;
        }
        if longest > n {
            return None;
        }
        let Some(pad) = pad.filter(|_| short) else {
            return Some(self.clone());
        };
        let mut out = Runs {
            ends: Vec::with_capacity(runs.len()),
            items: Vec::with_capacity(runs.len() * n),
        };
        for i in 0..runs.len() {
            if !self.is_null(i) {
                let cell = runs.get(i);
                out.items.extend_from_slice(cell);
                out.items.resize(out.items.len() + n - cell.len(), pad);
            }
            out.ends.push(out.items.len());
        }
        Some(Arc::new(Column::with_nulls(data(out), self.nulls.clone())))
    }

    /// An empty column with room for `n` cells where these have one size.
    pub fn sized(ty: &SqlType, n: usize) -> Column {
        let mut column = Column::of(ty);
        match &mut column.data {
            Data::Ints(_, v) => v.reserve_exact(n),
            Data::Floats(v) => v.reserve_exact(n),
            Data::Bytes(_, r) => r.ends.reserve_exact(n),
            Data::Wide(r) => r.ends.reserve_exact(n),
            _ => {}
        }
        column
    }

    /// `n` cells of one value, in the form that values of `ty` have.
    pub fn repeated(value: &Value, ty: &SqlType, n: usize) -> Column {
        let mut column = Column::of(ty);
        match (&mut column.data, value) {
            (Data::Ints(kind, v), value) if kind.number(value).is_some() => {
                v.resize(n, kind.number(value).unwrap_or_default());
            }
            _ => (0..n).for_each(|_| column.push(value.clone())),
        }
        column
    }
}
