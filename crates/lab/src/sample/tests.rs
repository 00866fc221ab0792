//! The words of the command, and that the chunks of charges are all of them.

use super::{credit, parse};

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

#[test]
fn words_are_read_or_refused() {
    let options = parse(&words(&[
        "--rows",
        "1000",
        "-S",
        "tcp:db,1444",
        "-U",
        "me",
        "-P",
        "x",
        "-C",
    ]))
    .unwrap();
    assert_eq!((options.rows, options.seed), (1000, 1));
    assert_eq!(options.server, Some(("db".to_owned(), 1444)));
    assert_eq!(
        (options.user.as_str(), options.password.as_deref()),
        ("me", Some("x"))
    );
    for wrong in [
        &["--rows", "0"][..],
        &["--rows", "many"],
        &["-S", "db,x"],
        &["--size", "3"],
        &["-P"],
    ] {
        assert!(parse(&words(wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn chunks_cover_all_charges() {
    let chunks = credit::charges(2_500_000, 1);
    let names: Vec<&str> = chunks.iter().map(|c| c.0.as_str()).collect();
    assert_eq!(
        names,
        [
            "charges to 1048576",
            "charges to 2097152",
            "charges to 2500000"
        ]
    );
    assert!(chunks[2].1.contains("t.n <= 402848") && chunks[2].1.contains("(t.n + 2097152)"));
    // Another seed, other rows.
    assert_ne!(credit::charges(10, 1), credit::charges(10, 2));
}
