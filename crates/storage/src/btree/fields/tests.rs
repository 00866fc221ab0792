//! Fields in and out of rows: whatever a row holds meanwhile, those that are put back are as they were and the others stay.

use duramen_format::layout::{ColumnSpec, layout_for};
use duramen_format::row::encode_fields;
use duramen_os::random::Rng;
use duramen_types::SqlType as T;

use super::*;

fn layout(kind: RowKind) -> RowLayout {
    let columns = [
        (T::INT, false),
        (T::BIT, true),
        (T::varchar(100), true),
        (T::BIGINT, true),
        (T::BIT, false),
        (T::varbinary(100), true),
        (T::varbinary(64), true),
        (T::SMALLINT, false),
    ];
    layout_for(
        &columns.map(|(ty, nullable)| ColumnSpec::new(ty, nullable)),
        kind,
    )
}

fn value(rng: &mut Rng, c: &ColumnLayout) -> Field<'static> {
    if c.nullable && rng.below(4) == 0 {
        return Field::Null;
    }
    let bytes: Vec<u8> = match (c.ty.id, c.is_variable()) {
        (TypeId::Bit, _) => vec![rng.below(2) as u8],
        (_, false) => (0..c.ty.fixed_bytes())
            .map(|_| rng.below(3) as u8)
            .collect(),
        // Not empty: such a column at a row's end is not stored, and NULL says so by its bit.
        (_, true) => (0..1 + rng.below(30)).map(|_| rng.below(3) as u8).collect(),
    };
    match c.is_variable() && rng.below(8) == 0 {
        true => Field::Complex(Cow::Owned(bytes)),
        false => Field::Inline(Cow::Owned(bytes)),
    }
}

#[test]
fn what_was_changed_is_put_back_and_nothing_else() {
    let mut rng = Rng::new(7);
    for round in 0..20_000 {
        let layout = layout(match round % 2 {
            0 => RowKind::Data,
            _ => RowKind::IndexLeaf,
        });
        let row = |fields: &[Field<'_>]| encode_fields(&layout, fields, None).unwrap();
        let old: Vec<_> = layout.columns.iter().map(|c| value(&mut rng, c)).collect();
        // One changes some of the fields, others change some of the rest; then the first takes its changes back.
        let (mut own, mut now, mut end) = (old.clone(), old.clone(), old.clone());
        let mut mine = Vec::new();
        for (i, c) in layout.columns.iter().enumerate() {
            match rng.below(3) {
                0 => {
                    own[i] = value(&mut rng, c);
                    now[i] = own[i].clone();
                    mine.push(i);
                }
                1 => {
                    now[i] = value(&mut rng, c);
                    end[i] = now[i].clone();
                }
                _ => {}
            }
        }
        let list = changed(&layout, RowRef::new(&row(&old)), RowRef::new(&row(&own))).unwrap();
        let back = restored(RowRef::new(&row(&now)), layout.pminlen, &list, None).unwrap();
        let got = decode_fields(&layout, RowRef::new(&back)).unwrap();
        let end_row = row(&end);
        let wanted = decode_fields(&layout, RowRef::new(&end_row)).unwrap();
        assert_eq!(got, wanted, "round {round}");
        assert_eq!(back, row(&end), "round {round}");
        let mut named = Vec::new();
        for i in &mine {
            put(&mut named, &layout.columns[*i], &now[*i]);
        }
        assert_eq!(
            holds(RowRef::new(&row(&now)), layout.pminlen, &named),
            Ok(true)
        );
        let bytes = |f: &Field<'_>| {
            (*f != Field::Null).then(|| match f {
                Field::Inline(b) | Field::Complex(b) => b.to_vec(),
                Field::Null => Vec::new(),
            })
        };
        let differs = mine.iter().any(|i| bytes(&now[*i]) != bytes(&old[*i]));
        assert_eq!(
            holds(RowRef::new(&row(&end)), layout.pminlen, &named),
            Ok(!differs)
        );
    }
}

#[test]
fn a_row_that_took_a_ghosts_place_is_a_ghost_again() {
    let layout = layout(RowKind::Data);
    let mut rng = Rng::new(8);
    let old: Vec<_> = layout.columns.iter().map(|c| value(&mut rng, c)).collect();
    let row = encode_fields(&layout, &old, None).unwrap();
    let mut ghost = row.clone();
    duramen_format::row::set_ghost(&mut ghost, true);
    let back = restored(
        RowRef::new(&row),
        layout.pminlen,
        &[],
        Some(RowRef::new(&ghost).status()),
    )
    .unwrap();
    assert_eq!(back, ghost);
}

#[test]
fn lists_that_are_cut_are_refused() {
    let layout = layout(RowKind::Data);
    let mut rng = Rng::new(9);
    let old: Vec<_> = layout.columns.iter().map(|c| value(&mut rng, c)).collect();
    let row = encode_fields(&layout, &old, None).unwrap();
    let mut list = Vec::new();
    for (c, f) in layout.columns.iter().zip(&old) {
        put(&mut list, c, f);
    }
    let whole = (0..=list.len())
        .filter(|n| restored(RowRef::new(&row), layout.pminlen, &list[..*n], None).is_ok())
        .count();
    // The empty one, and one at the end of each field.
    assert_eq!(whole, 1 + layout.columns.len());
}
