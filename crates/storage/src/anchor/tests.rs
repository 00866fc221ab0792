use super::*;

fn row() -> Vec<u8> {
    (0..ROW_BYTES as u8 + 4).collect()
}

#[test]
fn roots_and_counts_may_differ_and_nothing_else() {
    let own = row();
    for at in 0..own.len() {
        let mut other = row();
        other[at] ^= 1;
        let storage_writes_there = (PAGES_AT..ROW_BYTES).contains(&at);
        assert_eq!(same_unit(&own, &other), storage_writes_there, "byte {at}");
    }
    assert!(!same_unit(&own, &own[..own.len() - 1]));
    assert!(!same_unit(&own[..AUID_AT], &own[..AUID_AT]));
}
