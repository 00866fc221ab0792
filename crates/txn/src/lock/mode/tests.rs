//! The derived tables against the published ones, and the algebra of conversions.

use super::LockMode::{self, *};

fn check(rows: &[LockMode], columns: &[LockMode], cells: &[&str]) {
    for (row, line) in rows.iter().zip(cells) {
        for (column, cell) in columns.iter().zip(line.chars()) {
            assert_eq!(
                row.compatible(*column),
                cell == 'Y',
                "{} against {}",
                row.name(),
                column.name()
            );
        }
    }
}

#[test]
fn the_table_of_object_modes() {
    let modes = [IS, S, U, IX, SIX, X];
    check(
        &modes,
        &modes,
        &["YYYYYN", "YYYNNN", "YYNNNN", "YNNYNN", "YNNNNN", "NNNNNN"],
    );
}

#[test]
fn the_table_of_range_modes() {
    check(
        &[S, U, X, RangeSS, RangeSU, RangeIN, RangeXX],
        &[S, U, X, RangeSS, RangeSU, RangeIN, RangeXX],
        &[
            "YYNYYYN", "YNNYNYN", "NNNNNYN", "YYNYYNN", "YNNYNNN", "YYYNNYN", "NNNNNNN",
        ],
    );
}

#[test]
fn schema_and_bulk_modes() {
    for mode in LockMode::ALL {
        assert!(!SchM.compatible(mode));
        assert_eq!(SchS.compatible(mode), mode != SchM);
        assert_eq!(BU.compatible(mode), matches!(mode, SchS | BU));
    }
    assert!(IU.compatible(IS) && IU.compatible(IU) && IU.compatible(IX) && IU.compatible(S));
    assert!(!IU.compatible(U) && !IU.compatible(X));
    assert!(SIU.compatible(IS) && SIU.compatible(S) && !SIU.compatible(IX));
    assert!(UIX.compatible(IS) && !UIX.compatible(S) && !UIX.compatible(IU));
}

#[test]
fn compatibility_is_symmetric() {
    for a in LockMode::ALL {
        for b in LockMode::ALL {
            assert_eq!(a.compatible(b), b.compatible(a));
        }
    }
}

#[test]
fn a_conversion_covers_both_sides_and_is_never_friendlier() {
    for a in LockMode::ALL {
        assert_eq!(a.join(a), a);
        for b in LockMode::ALL {
            let both = a.join(b);
            assert_eq!(both, b.join(a));
            assert!(both.covers(a) && both.covers(b));
            for c in LockMode::ALL {
                let bulk = [a, b, c].contains(&BU);
                let range = [a, b, c].iter().any(|m| m.name().starts_with("Range"));
                if bulk && range {
                    continue; // tables have no key ranges, keys no bulk loads
                }
                assert_eq!(a.join(b).join(c), a.join(b.join(c)), "{a:?} {b:?} {c:?}");
                if both.compatible(c) {
                    assert!(a.compatible(c) && b.compatible(c), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }
}

#[test]
fn conversions_people_know() {
    for (held, asked, got) in [
        (IS, IX, IX),
        (S, IX, SIX),
        (IX, S, SIX),
        (U, IX, UIX),
        (S, IU, SIU),
        (U, X, X),
        (S, U, U),
        (S, RangeIN, RangeIS),
        (U, RangeIN, RangeIU),
        (X, RangeIN, RangeIX),
        (RangeIN, RangeSS, RangeXS),
        (RangeIN, RangeSU, RangeXU),
        (RangeSS, X, RangeXX),
        (SchS, IS, IS),
        (SIX, X, X),
    ] {
        assert_eq!(held.join(asked), got, "{held:?} + {asked:?}");
    }
}
