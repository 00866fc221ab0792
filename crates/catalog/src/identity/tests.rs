//! Blocks of identity values.

use super::*;

fn block(seed: i64, increment: i64) -> Block {
    Block {
        state: IdentityState {
            identity: Identity { seed, increment },
            last: None,
        },
        reserved: seed,
        by: None,
    }
}

fn next(b: &mut Block, ty: &SqlType) -> SqlResult<i64> {
    Ok(match take(b, ty)? {
        Some(v) => v,
        None => reserve(b, ty),
    })
}

#[test]
fn values_follow_each_other_across_blocks() {
    let mut b = block(5, 2);
    let values: Vec<i64> = (0..12)
        .map(|_| next(&mut b, &SqlType::TINYINT).expect("fits"))
        .collect();
    assert_eq!(values[..3], [5, 7, 9]);
    assert_eq!(values[11], 27);
    assert_eq!(b.reserved, 25 + 18);
    let mut down = block(-1, -1);
    assert_eq!(next(&mut down, &SqlType::INT), Ok(-1));
    assert_eq!(next(&mut down, &SqlType::INT), Ok(-2));
}

#[test]
fn the_type_ends_the_sequence() {
    let mut b = block(254, 1);
    assert_eq!(next(&mut b, &SqlType::TINYINT), Ok(254));
    assert_eq!(next(&mut b, &SqlType::TINYINT), Ok(255));
    assert_eq!(
        next(&mut b, &SqlType::TINYINT).map_err(|e| e.number),
        Err(8115)
    );
}

#[test]
fn the_state_survives_its_bytes() {
    let s = IdentityState {
        identity: Identity {
            seed: -3,
            increment: 7,
        },
        last: Some(i64::MAX),
    };
    assert_eq!(decode_idtval(&encode_idtval(&s)), Some(s));
    assert_eq!(decode_idtval(&[1, 2, 3]), None);
}
