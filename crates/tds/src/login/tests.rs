//! Round trip, the scrambling seen on the wire, and every truncation.

use super::*;

fn sample() -> Login {
    Login {
        tds_version: TDS_7_4,
        packet_bytes: 8000,
        flags2: 3,
        host: "h".into(),
        user: "sa".into(),
        password: "Geheim£1".into(),
        app: "app".into(),
        server: "127.0.0.1,1433".into(),
        library: "lib".into(),
        database: "master".into(),
        features: vec![(FEATURE_UTF8, vec![1]), (4, vec![1])],
        ..Login::default()
    }
}

#[test]
fn round_trip() {
    let login = sample();
    let parsed = Login::parse(&login.build()).unwrap();
    assert_eq!(
        parsed,
        Login {
            flags3: 0x10,
            ..login
        }
    );
    assert!(parsed.ansi_defaults());
    assert!(parsed.asks_feature(FEATURE_UTF8));
    assert!(!format!("{parsed:?}").contains("Geheim"));
}

#[test]
fn scrambling_as_seen_on_the_wire() {
    assert_eq!([scramble(0x31), scramble(0)], [0xB6, 0xA5]);
    for byte in 0..=255 {
        assert_eq!(unscramble(scramble(byte)), byte);
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_is_survived() {
    let whole = sample().build();
    for len in 0..whole.len() {
        assert!(Login::parse(&whole[..len]).is_err());
    }
    for at in 0..whole.len() {
        let mut bent = whole.clone();
        bent[at] ^= 0xFF;
        let _ = Login::parse(&bent);
    }
}
