//! The encryption matrix and hostile option tables.

use super::*;

#[test]
fn round_trip_and_reply_echoes_the_options() {
    let request = Prelogin::parse(&Prelogin::request([1; 6], Encryption::On)).unwrap();
    assert_eq!(request.encryption, Encryption::On);
    assert_eq!(request.tokens, [0, 1, 2, 3, 4]);
    let reply = request.reply([16, 0, 0x10, 0x3E, 0, 0], Encryption::On);
    let reply = Prelogin::parse(&reply).unwrap();
    assert_eq!(reply.version, [16, 0, 0x10, 0x3E, 0, 0]);
    assert!(!reply.mars);
    assert_eq!(reply.tokens, [0, 1, 2, 3, 4]);
}

#[test]
fn never_login_only_for_a_client_that_cannot_or_wants_all() {
    for policy in [TlsPolicy::None, TlsPolicy::Available, TlsPolicy::Forced] {
        for client in [
            Encryption::On,
            Encryption::Required,
            Encryption::NotSupported,
        ] {
            assert_ne!(negotiate(client, policy).0, Encryption::Off);
        }
    }
    assert_eq!(
        negotiate(Encryption::Off, TlsPolicy::Available),
        (Encryption::Off, Agreed::LoginOnly)
    );
    assert_eq!(
        negotiate(Encryption::NotSupported, TlsPolicy::Available),
        (Encryption::NotSupported, Agreed::Clear)
    );
}

#[test]
fn refuses_broken_tables() {
    for body in [
        &[][..],
        &[0xFF],
        &[0, 0, 26, 0, 6],
        &[0, 0, 26, 0, 6, 0xFF],
        &[1, 0, 6, 0, 1, 0xFF, 9],
        &[0, 0, 0, 0, 6, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0xFF],
    ] {
        assert!(Prelogin::parse(body).is_err(), "{body:?}");
    }
}
