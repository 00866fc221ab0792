//! The record sizes of real files, round trips, and refusal of every cut or bent record.

use duramen_base::{AllocUnitId, Lsn, PageId, XdesId};

use super::*;

const SID: [u8; 28] = [1; 28];

#[test]
fn sizes_match_real_files() {
    let begin = |name| RecordBuilder::begin_xact(XdesId(7), 51, [0; 8], name, &SID).len();
    assert_eq!(begin("INSERT"), 124);
    assert_eq!(begin("user_transaction"), 144);
    assert_eq!(begin("SplitPage"), 132);
    assert_eq!(
        RecordBuilder::commit_xact(XdesId(7), Lsn::default(), [0; 8]).len(),
        84
    );
    let row = vec![9; 4115];
    let insert = RecordBuilder::new(Lop::INSERT_ROWS, Lcx::CLUSTERED)
        .page(&PageFields::default())
        .finish(&[&row, &[], &[0; 26]]);
    assert_eq!(insert.len(), 100 + 4116);
    let len =
        |op: Lop, elements: &[&[u8]]| RecordBuilder::new(op, Lcx::NULL).finish(elements).len();
    assert_eq!(len(Lop::FORMAT_PAGE, &[]), 84);
    assert_eq!(len(Lop::SET_BITS, &[&[]]), 60);
    assert_eq!(len(Lop::SET_BITS, &[]), 56);
    assert_eq!(len(Lop::SET_FREE_SPACE, &[]), 56);
    assert_eq!(len(Lop::HOBT_DELTA, &[]), 64);
    assert_eq!(len(Lop::COUNT_DELTA, &[]), 208);
    assert_eq!(len(Lop::ROOT_CHANGE, &[]), 96);
    assert_eq!(len(Lop::DELETE_SPLIT, &[]), 64);
    assert_eq!(len(Lop::BEGIN_CKPT, &[]), 96);
    assert_eq!(len(Lop::XACT_CKPT, &[]), 28);
    assert_eq!(len(Lop::END_CKPT, &[]), 136);
}

#[test]
fn round_trip_with_padding_behind() {
    let fields = PageFields {
        page: PageId::new(1, 379),
        slot: 5,
        object: 0x1234,
        prev_page_lsn: Lsn::new(43, 16, 1),
        index: 256,
        alloc_unit: AllocUnitId(72057594038321152),
        offset_in_row: 8,
        modify_size: 3,
        row_flags: 1,
    };
    let mut bytes = RecordBuilder::new(Lop::MODIFY_ROW, Lcx::CLUSTERED)
        .xdes(XdesId(0x1_0000_0203))
        .prev_lsn(Lsn::new(43, 24, 2))
        .page(&fields)
        .finish(&[b"abc", b"de", b"", b"lockinfo."]);
    let length = bytes.len();
    bytes.extend_from_slice(&[0; 7]);
    let v = RecordView::parse(&bytes).unwrap();
    assert_eq!(v.length(), length);
    assert_eq!(v.page(), Some(fields));
    assert_eq!(v.prev_lsn(), Lsn::new(43, 24, 2));
    assert_eq!(v.xdes().to_string(), "0001:00000203");
    assert_eq!((v.flags(), v.is_compensation()), (FLAG_NORMAL, false));
    assert_eq!(v.element_count(), 4);
    assert_eq!(v.element(3), Some(&b"lockinfo."[..]));
    assert_eq!(
        v.elements().collect::<Vec<_>>(),
        [&b"abc"[..], b"de", b"", b"lockinfo."]
    );
    assert_eq!(v.element(4), None);
    assert_eq!(v.op().to_string(), "LOP_MODIFY_ROW");
    assert_eq!(v.context().to_string(), "LCX_CLUSTERED");
    for cut in 0..length {
        assert!(RecordView::parse(&bytes[..cut]).is_none(), "cut at {cut}");
    }
}

#[test]
fn any_bytes_are_parsed_or_refused() {
    let good = RecordBuilder::begin_xact(XdesId(1), 51, [1; 8], "user_transaction", &SID);
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bad = good.clone();
            bad[at] = value;
            if let Some(v) = RecordView::parse(&bad) {
                assert!(v.length() <= bad.len());
                let _ = (v.page(), v.spid(), v.datetime(), v.active_xacts());
                assert!(v.elements().map(<[u8]>::len).sum::<usize>() <= bad.len());
            }
        }
    }
}

#[test]
fn checkpoint_records() {
    let list: Vec<ActiveXact> = (0..4_001)
        .map(|i| ActiveXact {
            xdes: XdesId(i),
            begin_lsn: Lsn::new(43, i as u32, 1),
            last_lsn: Lsn::new(44, i as u32, 2),
        })
        .collect();
    let records = RecordBuilder::active_xacts(Lsn::new(43, 16, 1), &list);
    let read: Vec<ActiveXact> = records
        .iter()
        .flat_map(|r| RecordView::parse(r).unwrap().active_xacts())
        .collect();
    assert_eq!(read, list);
    assert_eq!(
        RecordBuilder::active_xacts(Lsn::default(), &[])[0].len(),
        28
    );

    let begin = RecordBuilder::begin_checkpoint(Lsn::new(1, 2, 3), [7; 8], 852, XdesId(99));
    let begin = RecordView::parse(&begin).unwrap();
    assert_eq!(begin.checkpoint_begin(), Some((852, XdesId(99))));
    assert_eq!(begin.prev_lsn(), Lsn::new(1, 2, 3));
    let end = RecordBuilder::end_checkpoint(Lsn::new(1, 2, 3), [7; 8], 852, Lsn::new(1, 1, 1), 12);
    let end = RecordView::parse(&end).unwrap();
    assert_eq!(end.checkpoint_end(), Some((Lsn::new(1, 1, 1), 12)));
    assert_eq!(end.datetime(), Some([7; 8]));
}

#[test]
fn datetime_of_known_instants() {
    // 2017-06-01 12:59:12.000 UTC
    let d = datetime_from_unix_ns(1_496_321_952_000_000_000);
    assert_eq!(i32::from_le_bytes(d[4..].try_into().unwrap()), 42_885);
    assert_eq!(
        u32::from_le_bytes(d[..4].try_into().unwrap()),
        (12 * 3600 + 59 * 60 + 12) * 300
    );
}
