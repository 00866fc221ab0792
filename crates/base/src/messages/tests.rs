//! The catalogue keeps its order, and places are filled as printf would.

use super::*;

#[test]
fn numbers_are_sorted_and_unique() {
    for pair in ALL.windows(2) {
        assert!(
            pair[0].number < pair[1].number,
            "{} before {}",
            pair[0].number,
            pair[1].number
        );
    }
    assert_eq!(by_number(208), Some(&INVALID_OBJECT_NAME));
    assert_eq!(by_number(1), None);
}

#[test]
fn severities_are_in_range() {
    assert!(ALL.iter().all(|m| (10..=25).contains(&m.severity)));
}

#[test]
fn places_are_filled_in_order() {
    assert_eq!(
        format_message(CONVERSION_FAILED.text, &[&"varchar", &"x", &"int"]),
        "Conversion failed when converting the varchar value 'x' to data type int."
    );
    assert_eq!(
        format_message(
            "%S_MSG of page %S_PGID at %#016I64x: %f %lc %03d%%",
            &[&"read", &"(1:9)", &"0x12", &1.5, &'c', &"007"]
        ),
        "read of page (1:9) at 0x12: 1.5 c 007%"
    );
    assert_eq!(format_message("%d and %d", &[&1]), "1 and %d");
}
