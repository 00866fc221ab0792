//! What is attacked: everything that reads bytes or text from outside.

use duramen_base::{AllocUnitId, PAGE_BYTES, PageId};
use duramen_format::alloc::Iam;
use duramen_format::boot::{Boot, FileHeader};
use duramen_format::page::{PageMut, PageRef, restore_torn_bits, seal, verify};
use duramen_format::{PageBytes, RowRef, backup, decode_row, lob, row};
use duramen_tds::bulk::BulkReader;
use duramen_tds::bytes::Reader;
use duramen_tds::login::Login;
use duramen_tds::packet::Assembler;
use duramen_tds::prelogin::Prelogin;
use duramen_tds::request::{Batch, TransactionRequest};
use duramen_tds::token::TokenReader;
use duramen_tds::typeinfo::{Place, TypeInfo};
use duramen_tds::value::parse_value;
use duramen_tsql::{ParseOptions, parse_batch};
use duramen_wal::record::RecordView;
use duramen_wal::{claimed_bytes, open_block};

use super::{container, corpus};

/// One thing that reads.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    pub corpus: fn() -> Vec<Vec<u8>>,
    /// Repairs what would be refused at once.
    pub fix: fn(&mut Vec<u8>),
    /// Whether the input was taken as valid.
    pub feed: fn(&[u8]) -> bool,
}

fn as_is(_: &mut Vec<u8>) {}

pub const TARGETS: [Target; 13] = [
    Target {
        name: "tsql",
        corpus: corpus::tsql,
        fix: as_is,
        feed: tsql,
    },
    Target {
        name: "packets",
        corpus: corpus::packets,
        fix: as_is,
        feed: packets,
    },
    Target {
        name: "login",
        corpus: corpus::logins,
        fix: as_is,
        feed: login,
    },
    Target {
        name: "rpc",
        corpus: corpus::rpcs,
        fix: as_is,
        feed: rpc,
    },
    Target {
        name: "values",
        corpus: corpus::values,
        fix: as_is,
        feed: values,
    },
    Target {
        name: "tokens",
        corpus: corpus::tokens,
        fix: as_is,
        feed: tokens,
    },
    Target {
        name: "bulk",
        corpus: corpus::bulk_loads,
        fix: as_is,
        feed: bulk,
    },
    Target {
        name: "manager",
        corpus: corpus::manager_requests,
        fix: as_is,
        feed: manager,
    },
    Target {
        name: "page",
        corpus: corpus::pages,
        fix: whole_page,
        feed: page,
    },
    Target {
        name: "row",
        corpus: corpus::rows_and_files,
        fix: as_is,
        feed: data_row,
    },
    Target {
        name: "block",
        corpus: corpus::blocks,
        fix: corpus::fix_block,
        feed: block,
    },
    Target {
        name: "record",
        corpus: corpus::records,
        fix: as_is,
        feed: record,
    },
    Target {
        name: "container",
        corpus: container::containers,
        fix: container::fix,
        feed: container::feed,
    },
];

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

fn tsql(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let off = ParseOptions {
        quoted_identifier: false,
    };
    let _ = parse_batch(&text, &off);
    parse_batch(&text, &ParseOptions::default()).is_ok()
}

/// In two pieces, as sockets deliver; what comes out is read as what it says it is.
fn packets(input: &[u8]) -> bool {
    let mut assembler = Assembler::new(32_768, 1 << 20);
    let cut = input
        .first()
        .map_or(0, |b| usize::from(*b))
        .min(input.len());
    let mut found = false;
    for piece in [&input[..cut], &input[cut..]] {
        assembler.push(piece);
        while let Ok(Some(message)) = assembler.next_message() {
            let _ = Batch::parse(&message.body);
            let _ = TransactionRequest::parse(&message.body);
            let _ = duramen_tds::rpc::parse(&message.body);
            found = true;
        }
    }
    found
}

fn login(input: &[u8]) -> bool {
    let prelogin = Prelogin::parse(input).is_ok();
    Login::parse(input).is_ok() || prelogin
}

fn rpc(input: &[u8]) -> bool {
    duramen_tds::rpc::parse(input).is_ok()
}

fn values(input: &[u8]) -> bool {
    let mut ok = false;
    for place in [Place::Column, Place::Parameter] {
        let mut r = Reader::new(input);
        while let Ok(info) = TypeInfo::parse(&mut r, place) {
            if parse_value(&mut r, &info).is_err() {
                break;
            }
            ok = true;
        }
    }
    ok
}

fn tokens(input: &[u8]) -> bool {
    let mut reader = TokenReader::new();
    let (mut at, mut any) = (0, false);
    while let Ok(Some((_, taken))) = reader.next(&input[at..]) {
        at += taken;
        any = true;
        if taken == 0 || at >= input.len() {
            break;
        }
    }
    any
}

/// In pieces whose size the first byte gives.
fn bulk(input: &[u8]) -> bool {
    let mut reader = BulkReader::new(1 << 20);
    let piece = usize::from(input.first().copied().unwrap_or(1)) % 64 + 1;
    let mut any = false;
    for piece in input.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_item() {
                Ok(Some(_)) => any = true,
                Ok(None) => break,
                Err(_) => return any,
            }
        }
    }
    while let Ok(Some(_)) = reader.finish() {
        any = true;
    }
    any
}

fn manager(input: &[u8]) -> bool {
    TransactionRequest::parse(input).is_ok()
}

fn whole_page(input: &mut Vec<u8>) {
    input.resize(PAGE_BYTES, 0);
    if let Ok(page) = <&mut PageBytes>::try_from(&mut input[..]) {
        seal(page);
    }
}

fn page(input: &[u8]) -> bool {
    let _ = backup::blocks(input);
    let Ok(page) = <&PageBytes>::try_from(input) else {
        return false;
    };
    let _ = verify(page);
    let p = PageRef::new(page);
    for slot in 0..p.slot_count().min(5000) {
        if let Ok(Some(record)) = p.record(slot) {
            records_of_page(record, p.pminlen());
        }
    }
    let _ = (Boot::read(page), FileHeader::read(page));
    if let Ok(iam) = Iam::new(page) {
        let _ = (iam.singles().count(), iam.extents().count());
    }
    let sound = p.check().is_ok();
    let mut copy = *page;
    restore_torn_bits(&mut copy);
    // Changes to a page that passed the check; others are never changed.
    if sound {
        let mut p = PageMut::new(&mut copy);
        let slots = p.as_ref().slot_count();
        let _ = p.insert_record(slots / 2, &[0x10, 0, 8, 0, 1, 2, 3, 4, 1, 0, 0]);
        let _ = p.delete_record(0);
        let _ = p.compact();
        p.trim_slots();
        p.set_alloc_unit(AllocUnitId::from_parts(256, 1));
        p.set_page_id(PageId::new(1, 1));
    }
    sound
}

fn records_of_page(record: RowRef<'_>, pminlen: u16) {
    let _ = row::node_child(record, pminlen);
    let _ = row::forwarding_target(record);
    let _ = row::back_pointer(record);
    let _ = lob::decode_node(record.bytes());
    let _ = decode_row(&corpus::layout(), record);
}

fn data_row(input: &[u8]) -> bool {
    let row = RowRef::new(input);
    records_of_page(row, 12);
    let _ = lob::decode_pointer(input);
    let own = decode_row(&corpus::layout(), row).is_ok();
    decode_row(&corpus::layout_of(input), row).is_ok() || own
}

fn block(input: &[u8]) -> bool {
    let mut ok = false;
    for parity in [0x40, 0x80] {
        let Some(bytes) = claimed_bytes(input, parity) else {
            continue;
        };
        let Some(bytes) = input.get(..bytes) else {
            continue;
        };
        let Ok(block) = open_block(bytes, parity) else {
            continue;
        };
        ok = true;
        for slot in 0..=block.header.records.saturating_add(1) {
            if let Some(r) = block.record(slot) {
                record(r);
            }
        }
    }
    ok
}

fn record(input: &[u8]) -> bool {
    let Some(r) = RecordView::parse(input) else {
        return false;
    };
    let _ = (
        r.prev_lsn(),
        r.flags(),
        r.xdes(),
        r.op().name(),
        r.context().name(),
    );
    let _ = (
        r.fixed(),
        r.page(),
        r.bits(),
        r.free_space(),
        r.spid(),
        r.datetime(),
    );
    let _ = (
        r.begin_lsn(),
        r.checkpoint_begin(),
        r.checkpoint_end(),
        r.active_xacts(),
    );
    for i in 0..=r.element_count() {
        let _ = r.element(i);
    }
    let _ = r.elements().map(<[u8]>::len).sum::<usize>();
    true
}
