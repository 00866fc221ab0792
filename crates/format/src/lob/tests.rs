//! Nodes and pointers round trip, and a value is put together from a tree.

use super::*;
use std::collections::BTreeMap;

#[test]
fn a_two_level_value_is_read_back() {
    let mut records = BTreeMap::new();
    let mut value = Vec::new();
    let mut leaves = Vec::new();
    for i in 0..3u16 {
        let part = vec![i as u8; 5000];
        value.extend(&part);
        let page = PageId::new(1, 100 + u32::from(i));
        records.insert((page, i), encode_data(9, &part).expect("fits"));
        leaves.push(Link {
            end: value.len() as u64,
            page,
            slot: i,
        });
    }
    let top = PageId::new(1, 50);
    let internal = encode_internal(9, 0, &leaves).expect("fits");
    records.insert((top, 0), internal);
    let root = Link {
        end: value.len() as u64,
        page: top,
        slot: 0,
    };
    let pointer = encode_inrow(INROW_MAX, 1, 77, &[root]).expect("fits");
    let decoded = decode_pointer(&pointer).expect("decodes");
    assert_eq!(pointer_len(&decoded), Some(15_000));
    let mut fetch = |page, slot| {
        records
            .get(&(page, slot))
            .cloned()
            .ok_or(FormatError::NoSlot(slot))
    };
    assert_eq!(read_value(&pointer, &mut fetch), Ok(value));
}

#[test]
fn a_loop_ends_with_an_error() {
    let me = Link {
        end: 1,
        page: PageId::new(1, 1),
        slot: 0,
    };
    let node = encode_internal(1, 1, &[me, me]).expect("fits");
    let pointer = encode_inrow(INROW_MAX, 1, 0, &[me]).expect("fits");
    assert!(read_value(&pointer, &mut |_, _| Ok(node.clone())).is_err());
}

#[test]
fn nonsense_is_refused() {
    assert!(decode_node(&[8, 0, 200, 0, 1, 2, 3]).is_err());
    assert!(decode_pointer(&[9; 24]).is_err());
    assert!(decode_pointer(&[4, 0]).is_err());
}
