//! Headers, batches and transaction requests as seen on the wire.

use super::*;

#[test]
fn batch_round_trip() {
    let headers = AllHeaders {
        transaction: 0x1234,
        outstanding_requests: 1,
    };
    let batch = Batch::parse(&Batch::build("SELECT N'ü'", headers)).unwrap();
    assert_eq!(batch.headers, headers);
    assert_eq!(String::from_utf16_lossy(&batch.text), "SELECT N'ü'");
}

#[test]
fn refuses_lying_header_lengths() {
    for body in [
        &[][..],
        &[3, 0, 0, 0],
        &[255, 255, 255, 255],
        &[8, 0, 0, 0, 2, 0, 0, 0],
        &[8, 0, 0, 0, 255, 255, 0, 0],
        &[10, 0, 0, 0, 6, 0, 0, 0, 2, 0],
        &[4, 0, 0, 0, 65],
    ] {
        assert!(Batch::parse(body).is_err(), "{body:?}");
    }
}

#[test]
fn transaction_requests_as_drivers_send_them() {
    let parse = |tail: &[u8]| {
        let mut body = Vec::new();
        AllHeaders::default().put(&mut body);
        body.extend_from_slice(tail);
        TransactionRequest::parse(&body).map(|(_, request)| request)
    };
    assert_eq!(
        parse(&[5, 0, 2, 0]),
        Ok(TransactionRequest::Begin {
            isolation: 2,
            name: String::new()
        })
    );
    assert_eq!(
        parse(&[7, 0, 0, 1, 0, 0]),
        Ok(TransactionRequest::Commit {
            name: String::new(),
            begin: Some((0, String::new()))
        })
    );
    assert_eq!(
        parse(&[8, 0, 4, 0x73, 0, 0x70, 0, 0]),
        Ok(TransactionRequest::Rollback {
            name: "sp".into(),
            begin: None
        })
    );
    assert!(parse(&[5, 0, 9, 0]).is_err());
    assert!(parse(&[7, 0]).is_err());
}
