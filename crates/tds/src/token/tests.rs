//! Replies read back as they were written, at any split, and noise does not panic.

use super::*;
use crate::login::TDS_7_4;

fn reply() -> (Vec<u8>, Vec<Token>) {
    let columns = vec![
        Column {
            name: "id".into(),
            ty: SqlType::INT,
            flags: FLAG_IDENTITY | FLAG_UPDATABLE,
        },
        Column {
            name: String::new(),
            ty: SqlType::nvarchar(5),
            flags: FLAG_NULLABLE | FLAG_EXPRESSION,
        },
        Column {
            name: "t".into(),
            ty: SqlType::NTEXT,
            flags: FLAG_NULLABLE,
        },
    ];
    let row = vec![Value::Int(1), Value::Null, Value::nvarchar("lob")];
    let error = SqlError {
        number: 8134,
        severity: 16,
        state: 1,
        procedure: Some("p".into()),
        line: 3,
        ..SqlError::print("Divide by zero error encountered.".into())
    };
    let mut out = Vec::new();
    put_env(&mut out, &Env::Reset);
    put_env(&mut out, &Env::BeginTransaction(5));
    put_login_ack(&mut out, TDS_7_4, "Microsoft SQL Server", [16, 0, 16, 62]);
    put_feature_ack(&mut out, &[(0x0A, &[1])]);
    put_columns(&mut out, &columns);
    put_row(&mut out, columns.iter().map(|c| &c.ty), &row).unwrap();
    put_message(&mut out, &error, "host");
    put_return_status(&mut out, -6);
    put_return_value(&mut out, 2, "@o", &SqlType::BIGINT, &Value::BigInt(9)).unwrap();
    put_order(&mut out, &[1, 2]);
    let done = DoneToken {
        kind: DoneKind::Done,
        status: status::COUNT,
        command: 0xC1,
        rows: 1,
    };
    put_done(&mut out, &done);
    let tokens = vec![
        Token::Env(Env::Reset),
        Token::Env(Env::BeginTransaction(5)),
        Token::LoginAck {
            tds_version: TDS_7_4,
            program: "Microsoft SQL Server".into(),
            version: [16, 0, 16, 62],
        },
        Token::FeatureAck(vec![(0x0A, vec![1])]),
        Token::Columns(columns),
        Token::Row(row),
        Token::Error(ServerMessage {
            number: 8134,
            state: 1,
            class: 16,
            text: error.message,
            server: "host".into(),
            procedure: "p".into(),
            line: 3,
        }),
        Token::ReturnStatus(-6),
        Token::ReturnValue {
            ordinal: 2,
            name: "@o".into(),
            ty: SqlType::BIGINT,
            value: Value::BigInt(9),
        },
        Token::Order(vec![1, 2]),
        Token::Done(done),
    ];
    (out, tokens)
}

#[test]
fn reads_back_what_it_wrote() {
    let (bytes, expected) = reply();
    let mut reader = TokenReader::new();
    let mut at = 0;
    let mut got = Vec::new();
    while at < bytes.len() {
        let (token, used) = reader.next(&bytes[at..]).unwrap().unwrap();
        // Every shorter prefix asks for more.
        for len in 0..used {
            let mut again = TokenReader {
                columns: reader.columns.clone(),
                ..TokenReader::new()
            };
            assert_eq!(again.next(&bytes[at..at + len]).unwrap(), None);
        }
        at += used;
        got.push(token);
    }
    assert_eq!(got, expected);
}

#[test]
fn env_changes_as_seen_on_the_wire() {
    let mut out = Vec::new();
    put_env(&mut out, &Env::Collation([9, 4, 0xD0, 0, 0x34]));
    assert_eq!(out, [0xE3, 8, 0, 7, 5, 9, 4, 0xD0, 0, 0x34, 0]);
    out.clear();
    put_env(&mut out, &Env::CommitTransaction(0xDE));
    assert_eq!(out, [0xE3, 11, 0, 9, 0, 8, 0xDE, 0, 0, 0, 0, 0, 0, 0]);
    out.clear();
    put_env(&mut out, &Env::Reset);
    assert_eq!(out, [0xE3, 3, 0, 18, 0, 0]);
}

/// A small generator, so that the noise is the same in every run.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

#[test]
fn random_bytes_panic_nowhere() {
    const STARTS: [u8; 8] = [
        COLMETADATA,
        ROW,
        NBCROW,
        ERROR,
        ENVCHANGE,
        RETURNVALUE,
        LOGINACK,
        FEATUREEXTACK,
    ];
    let (good, _) = reply();
    for seed in 1..4_000u64 {
        let mut bytes = noise(seed, (seed % 300) as usize + 1);
        bytes[0] = STARTS[seed as usize % STARTS.len()];
        let _ = TokenReader::new().next(&bytes);
        let _ = crate::login::Login::parse(&bytes);
        let _ = crate::prelogin::Prelogin::parse(&bytes);
        let _ = crate::request::Batch::parse(&bytes);
        let _ = crate::request::TransactionRequest::parse(&bytes);
        let mut rpc = Vec::new();
        crate::request::AllHeaders::default().put(&mut rpc);
        rpc.extend_from_slice(&[0xFF, 0xFF, 10, 0, 0, 0, 0, 0]);
        rpc.extend_from_slice(&bytes);
        let _ = crate::rpc::parse(&rpc);
        let mut assembler = crate::packet::Assembler::new(4096, 4096);
        assembler.push(&bytes);
        while let Ok(Some(_)) = assembler.next_message() {}

        // A good reply with some bytes bent.
        let mut bent = good.clone();
        for flip in noise(seed, 3) {
            let at = (flip as usize * 7 + seed as usize) % bent.len();
            bent[at] ^= flip;
        }
        let mut reader = TokenReader::new();
        let mut at = 0;
        while let Ok(Some((_, used))) = reader.next(&bent[at..]) {
            at += used;
        }
    }
}
