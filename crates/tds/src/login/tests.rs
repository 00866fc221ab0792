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

#[test]
fn a_login_of_7_1_has_its_texts_earlier() {
    // The first text at 86, where the pair of a new password is since 7.2.
    let mut bytes = vec![0; 86];
    bytes[4..8].copy_from_slice(&0x7100_0001u32.to_le_bytes());
    bytes[36..40].copy_from_slice(&[86, 0, 4, 0]);
    bytes.extend("wide".encode_utf16().flat_map(u16::to_le_bytes));
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    let login = Login::parse(&bytes).unwrap();
    assert_eq!((login.host.as_str(), login.new_password), ("wide", None));
}
