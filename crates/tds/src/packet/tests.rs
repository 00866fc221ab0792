//! Cutting and joining are inverses at every split of the stream; limits hold.

use super::*;

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| i as u8).collect()
}

#[test]
fn joins_what_it_cuts_at_any_split() {
    let body = message(3_000);
    let wire = to_packets(PacketType::SqlBatch, &body, 512, 0, STATUS_RESET);
    for step in [1, 7, 8, 9, 511, 512, 513, 5_000] {
        let mut assembler = Assembler::new(4096, 1 << 20);
        let mut got = None;
        for chunk in wire.chunks(step) {
            assembler.push(chunk);
            if let Some(message) = assembler.next_message().unwrap() {
                assert!(got.is_none());
                got = Some(message);
            }
        }
        let got = got.unwrap();
        assert_eq!(got.body, body);
        assert!(got.reset && !got.ignore);
        assert!(assembler.is_idle());
        assert_eq!(assembler.buffered_bytes(), 0);
    }
}

#[test]
fn last_packet_is_not_empty() {
    // Exactly one payload: one packet, with the end bit.
    let wire = to_packets(PacketType::Reply, &message(504), 512, 7, 0);
    assert_eq!(wire.len(), 512);
    assert_eq!(wire[1], STATUS_EOM);
    assert_eq!(&wire[4..6], &[0, 7]);
    let wire = to_packets(PacketType::Reply, &message(505), 512, 7, 0);
    assert_eq!(wire.len(), 512 + 9);
    assert_eq!((wire[1], wire[513]), (0, STATUS_EOM));
}

#[test]
fn refuses_what_is_too_large() {
    let wire = to_packets(PacketType::SqlBatch, &message(2_000), 1024, 0, 0);
    let mut assembler = Assembler::new(512, 1 << 20);
    assembler.push(&wire);
    assert_eq!(assembler.next_message(), Err(TdsError::TooLarge("packet")));
    let mut assembler = Assembler::new(4096, 1_500);
    assembler.push(&wire);
    assert_eq!(assembler.next_message(), Err(TdsError::TooLarge("message")));
}

#[test]
fn an_attention_with_a_body_and_one_inside_a_message() {
    let mut assembler = Assembler::new(4096, 4096);
    assembler.push(&[6, 1, 0, 12, 0, 0, 1, 0, 1, 2, 3, 4]);
    let message = assembler.next_message().unwrap().unwrap();
    assert_eq!(message.kind, PacketType::Attention);
    assert_eq!(message.body.len(), 4);
    assembler.push(&[1, 0, 0, 9, 0, 0, 1, 0, 1]);
    assert_eq!(assembler.next_message(), Ok(None));
    assembler.push(&[6, 1, 0, 8, 0, 0, 1, 0]);
    assert_eq!(
        assembler.next_message().unwrap().unwrap().kind,
        PacketType::Attention
    );
    assert!(assembler.is_idle());
}

#[test]
fn a_bulk_load_comes_packet_by_packet() {
    let mut bytes = to_packets(PacketType::BulkLoad, &[7; 1200], 512, 0, 0);
    bytes.extend(to_packets(PacketType::Attention, &[], 512, 0, 0));
    let mut assembler = Assembler::new(MAX_PACKET_BYTES, 100);
    assembler.push(&bytes);
    let mut seen = Vec::new();
    while let Some(m) = assembler.next_message().unwrap() {
        seen.push((m.kind, m.first, m.last, m.body.len()));
    }
    let bulk = PacketType::BulkLoad;
    let expected = [
        (bulk, true, false, 504),
        (bulk, false, false, 504),
        (bulk, false, true, 192),
        (PacketType::Attention, true, true, 0),
    ];
    assert_eq!(seen, expected);
    // One that is given up in the middle: nothing but an attention may follow.
    let unfinished = &to_packets(bulk, &[7; 1200], 512, 0, 0)[..512];
    for (kind, accepted) in [(PacketType::Attention, true), (PacketType::SqlBatch, false)] {
        let mut assembler = Assembler::new(MAX_PACKET_BYTES, 100);
        assembler.push(unfinished);
        assert!(assembler.next_message().unwrap().is_some() && !assembler.is_idle());
        assembler.push(&to_packets(kind, &[], 512, 0, 0));
        assert_eq!(assembler.next_message().is_ok(), accepted, "{kind:?}");
    }
}

#[test]
fn a_long_call_is_taken_in_parts_and_a_long_batch_is_not() {
    for (kind, taken) in [(PacketType::Rpc, true), (PacketType::SqlBatch, false)] {
        let body = message(20_000);
        let mut assembler = Assembler::new(MAX_PACKET_BYTES, 100);
        assembler.set_limits(MAX_PACKET_BYTES, 30_000);
        let (mut parts, mut last) = (Vec::new(), None);
        for chunk in to_packets(kind, &body, 512, 0, STATUS_RESET).chunks(700) {
            assembler.push(chunk);
            while let Some(m) = assembler.next_message().unwrap() {
                last = Some(m);
            }
            if assembler.is_long(3_000) {
                parts.extend(assembler.take_long());
                assert!(assembler.buffered_bytes() < 4_096);
            }
        }
        let last = last.unwrap();
        assert!(last.reset && !last.too_large);
        assert_eq!(last.taken, parts.len() as u64);
        assert_eq!(last.taken > 0, taken);
        parts.extend(last.body);
        assert_eq!(parts, body);
    }
}
