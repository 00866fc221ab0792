//! Damage planted in a small database, a case at a time, each found by its number; and nothing where there is none.
//!
//! A case is a structure, a change of some of its bytes, and the numbers of which at least one must be among the
//! findings. Pages are sealed again after a change, as a bug would leave them; cases of rot leave the checksum wrong.

mod world;

use duramen_base::{AllocUnitId, PageId};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    Iam, bit_get, bit_set, gam_page_of, iam_set_single, pfs, pfs_get, pfs_set, sgam_page_of,
};
use duramen_format::page::{PageMut, PageRef, page_type, record_kind, seal};

use self::world::{World, world};

struct Case {
    name: String,
    pages: Vec<(u32, PageBytes)>,
    /// One of these.
    expected: Vec<u32>,
}

struct Cases<'a> {
    world: &'a World,
    list: Vec<Case>,
}

impl Cases<'_> {
    /// A change of a page, sealed again.
    fn add(
        &mut self,
        name: impl Into<String>,
        n: u32,
        expected: &[u32],
        f: impl FnOnce(&mut PageBytes),
    ) {
        let mut page = self.world.original(n);
        f(&mut page);
        seal(&mut page);
        self.push(name, vec![(n, page)], expected);
    }

    /// A change that the checksum does not know of.
    fn rot(
        &mut self,
        name: impl Into<String>,
        n: u32,
        expected: &[u32],
        f: impl FnOnce(&mut PageBytes),
    ) {
        let mut page = self.world.original(n);
        f(&mut page);
        self.push(name, vec![(n, page)], expected);
    }

    fn push(&mut self, name: impl Into<String>, pages: Vec<(u32, PageBytes)>, expected: &[u32]) {
        let name = name.into();
        let changed = pages.iter().any(|(n, p)| *p != self.world.original(*n));
        assert!(changed, "{name} changes nothing");
        self.list.push(Case {
            name,
            pages,
            expected: expected.to_vec(),
        });
    }

    /// What can happen to the header and the slots of any page with records.
    fn header(&mut self, what: &str, n: u32, tree: bool) {
        let w = self.world;
        let other = w.pages_of(w.unit("t", 1, 1), 1, 0);
        let other = *other.iter().find(|o| **o != n).unwrap();
        let copy = w.original(other);
        let at = |s: &str| format!("{what}: {s}");
        for (byte, name) in [
            (1, "type"),
            (9, "previous page"),
            (40, "LSN"),
            (61, "checksum"),
            (97, "first record"),
            (4000, "body"),
            (8190, "slot 0"),
        ] {
            self.rot(at(&format!("rot of the {name}")), n, &[8939], |p| {
                p[byte] ^= 0x10
            });
        }
        self.add(at("header version"), n, &[8939], |p| p[0] = 2);
        self.add(at("type 8"), n, &[8938, 8948], |p| p[1] = 8);
        let odd = match copy[1] == w.original(n)[1] {
            true => 3,
            false => 1,
        };
        self.add(at("type of another kind"), n, &[8938], |p| p[1] = odd);
        self.add(at("level"), n, &[8931, 8938, 8939], |p| p[3] = 3);
        self.add(at("page number"), n, &[8909], |p| p[32] ^= 1);
        self.add(at("file number"), n, &[8909], |p| p[36] ^= 2);
        self.add(at("unit, object part"), n, &[2533], |p| p[24] ^= 1);
        self.add(at("unit, index part"), n, &[2533], |p| p[6] ^= 1);
        self.add(at("free bytes"), n, &[8939], |p| p[28] ^= 4);
        self.add(at("free data beyond the page"), n, &[8939], |p| {
            p[31] = 0x20
        });
        self.add(at("free data in the header"), n, &[8939], |p| {
            p[30..32].fill(0)
        });
        self.add(at("free data in the records"), n, &[8943], |p| {
            p[30..32].copy_from_slice(&98u16.to_le_bytes())
        });
        self.add(at("slots beyond the page"), n, &[8939], |p| p[23] = 0x40);
        self.add(at("a slot less"), n, &[8939, 8943], |p| {
            let count = u16::from_le_bytes([p[22], p[23]]);
            p[22..24].copy_from_slice(&(count - 1).to_le_bytes());
        });
        self.add(at("slot 0 in the header"), n, &[8941], |p| {
            p[8190..8192].copy_from_slice(&20u16.to_le_bytes())
        });
        self.add(at("slot 0 behind the page"), n, &[8941], |p| {
            p[8190..8192].copy_from_slice(&8190u16.to_le_bytes())
        });
        self.add(at("ghosts"), n, &[8927], |p| p[58] = 3);
        self.add(at("zeros"), n, &[8909], |p| p.fill(0));
        self.push(at("another page"), vec![(n, copy)], &[8909]);
        if PageRef::new(&w.original(n)).slot_count() > 1 {
            self.add(at("two slots of one record"), n, &[8942], |p| {
                let first = [p[8190], p[8191]];
                p[8188..8190].copy_from_slice(&first);
            });
        }
        let links: &[u32] = match tree {
            true => &[8935, 8936, 8978, 8981, 8976, 8977, 8979],
            false => &[8939],
        };
        self.add(at("previous page"), n, links, |p| p[8] ^= 0x40);
        self.add(at("next page"), n, links, |p| p[16] ^= 0x40);
        self.add(at("next page is itself"), n, links, |p| {
            let own: [u8; 6] = p[32..38].try_into().unwrap();
            p[16..22].copy_from_slice(&own);
        });
    }

    /// What can happen to a record. `first`: its offset.
    fn record(&mut self, what: &str, n: u32, slot: u16, data: bool) {
        let w = self.world;
        let page = w.original(n);
        let first = usize::from(PageRef::new(&page).slot_offset(slot).unwrap());
        let at = |s: &str| format!("{what}, record {slot}: {s}");
        self.add(at("reserved bit"), n, &[8944], |p| p[first] |= 0x80);
        self.add(at("version bit"), n, &[8944], |p| p[first] |= 1);
        self.add(at("kind"), n, &[8944, 8939, 8943], |p| {
            p[first] = p[first] & !0x0e | 0x0e
        });
        if data {
            let fixed = usize::from(u16::from_le_bytes([page[first + 2], page[first + 3]]));
            let columns = u16::from_le_bytes([page[first + fixed], page[first + fixed + 1]]);
            let variable = first + fixed + 2 + usize::from(columns).div_ceil(8);
            self.add(at("status B"), n, &[8944], |p| p[first + 1] = 0x40);
            self.add(at("no null bitmap"), n, &[8944, 8939, 8943], |p| {
                p[first] &= !0x10
            });
            self.add(at("fixed length"), n, &[8944, 8939, 8943], |p| {
                p[first + 2] += 40
            });
            self.add(at("fixed length of none"), n, &[8944, 8939, 8943], |p| {
                p[first + 2] = 1
            });
            self.add(at("number of columns"), n, &[8944, 8939, 8943], |p| {
                p[first + fixed + 1] = 0x7f
            });
            self.add(at("no columns"), n, &[8944, 8939, 8943], |p| {
                p[first + fixed..first + fixed + 2].fill(0)
            });
            self.add(at("NULL in a column that is not"), n, &[8970], |p| {
                p[first + fixed + 2] |= 1
            });
            self.add(
                at("number of variable columns"),
                n,
                &[8944, 8939, 8943],
                |p| p[variable + 1] = 0x30,
            );
            self.add(at("no variable columns"), n, &[8944, 8939, 8943], |p| {
                p[variable..variable + 2].fill(0)
            });
            self.add(
                at("end of the first variable column"),
                n,
                &[8944, 8939, 8943],
                |p| p[variable + 2..variable + 4].copy_from_slice(&1u16.to_le_bytes()),
            );
        }
    }
}

/// Byte offsets in a row of t: id 4, n 8, d 12, v 15, f 20.
const ID: usize = 4;
const N: usize = 8;
const D: usize = 12;
const V: usize = 15;
const F: usize = 20;

fn cases(w: &World) -> Vec<Case> {
    let mut c = Cases {
        world: w,
        list: Vec::new(),
    };
    let (t, i_n) = (w.unit("t", 1, 1), w.unit("t", 2, 1));
    let (lob, h, i_h) = (w.unit("t", 1, 2), w.unit("h", 0, 1), w.unit("h", 2, 1));
    let leaf = w.pages_of(t, page_type::DATA, 0);
    let root = w.pages_of(t, page_type::INDEX, 1)[0];
    let index = w.pages_of(i_n, page_type::INDEX, 0);
    let index_root = w.pages_of(i_n, page_type::INDEX, 1)[0];
    let heap = w.pages_of(h, page_type::DATA, 0);
    let heap_index = w.pages_of(i_h, page_type::INDEX, 0);
    let text = w.pages_of(lob, page_type::TEXT_MIX, 0);
    let trees = w.pages_of(lob, page_type::TEXT_TREE, 0);
    assert!(
        leaf.len() > 3 && index.len() > 2 && heap.len() > 3,
        "{leaf:?} {index:?} {heap:?}"
    );
    // In the order of the chain.
    let inner = |list: &[u32]| {
        let p = |n: &u32| PageRef::new(&w.pages[*n as usize]);
        let middle = |n: &&u32| !p(n).prev_page().is_null() && !p(n).next_page().is_null();
        *list.iter().find(middle).unwrap()
    };
    let (l, i) = (inner(&leaf), inner(&index));
    c.header("leaf of t", l, true);
    c.header("root of t", root, true);
    c.header("leaf of i_n", i, true);
    c.header("leaf of i_h", inner(&heap_index), true);
    c.header("page of h", heap[1], false);
    c.header("text page", text[0], false);
    for slot in [0, 3] {
        c.record("leaf of t", l, slot, true);
    }
    c.record("leaf of i_n", i, 1, false);
    c.record("root of t", root, 1, false);
    c.record("root of i_n", index_root, 1, false);
    let row = |n: u32, slot: u16| {
        usize::from(
            PageRef::new(&w.pages[n as usize])
                .slot_offset(slot)
                .unwrap(),
        )
    };
    let plain = (0..PageRef::new(&w.pages[heap[1] as usize]).slot_count())
        .find(|s| {
            let r = PageRef::new(&w.pages[heap[1] as usize]).record(*s);
            matches!(r, Ok(Some(r)) if r.kind() == record_kind::PRIMARY)
        })
        .unwrap();
    c.record("page of h", heap[1], plain, true);

    // Keys and values.
    let r = row(l, 2);
    c.add("key out of order", l, &[2511], |p| p[r + ID + 1] ^= 0x40);
    let (a, b) = (row(l, 2), row(l, 3));
    c.add("key twice", l, &[2512], |p| {
        let key: [u8; 4] = p[a + ID..a + ID + 4].try_into().unwrap();
        p[b + ID..b + ID + 4].copy_from_slice(&key);
    });
    let first = row(l, 0);
    c.add("low key below the parent's", l, &[8933], |p| {
        p[first + ID..first + ID + 4].fill(0)
    });
    let last = PageRef::new(&w.pages[l as usize]).slot_count() - 1;
    let end = row(l, last);
    c.add("high key above the next page's", l, &[8934], |p| {
        p[end + ID + 2] = 1
    });
    c.add("value of a key that an index has", l, &[8951], |p| {
        p[r + N] ^= 1
    });
    c.add("text that an index has", l, &[8952], |p| {
        let length = PageRef::new(p).record(2).unwrap().unwrap().len();
        let at = r + length - 3;
        p[at] ^= 1;
    });
    c.add("date out of range", l, &[2570], |p| {
        p[r + D..r + D + 3].fill(0xff)
    });
    c.add("decimal out of range", l, &[2570], |p| {
        p[r + V + 1..r + V + 5].fill(0xff)
    });
    c.add("float that is no number", l, &[2570], |p| {
        p[r + F..r + F + 8].fill(0xff)
    });
    let e = row(i, 2);
    c.add("entry of another row", i, &[8951, 8952, 2511], |p| {
        let length = PageRef::new(p).record(2).unwrap().unwrap().len();
        p[e + length - 1] ^= 1;
    });
    c.add("entry's number", i, &[8952, 2511], |p| p[e + 1] ^= 0x20);
    let e = row(heap_index[0], 1);
    c.add(
        "entry of another heap row",
        heap_index[0],
        &[8951, 8952],
        |p| p[e + 7] ^= 0x40,
    );
    let mut gone = w.original(i);
    let count = PageRef::new(&gone).slot_count();
    PageMut::new(&mut gone).delete_record(count - 2).unwrap();
    seal(&mut gone);
    c.push("an entry that is missing", vec![(i, gone)], &[8951]);
    let mut gone = w.original(l);
    PageMut::new(&mut gone).delete_record(1).unwrap();
    seal(&mut gone);
    c.push("a row that is missing", vec![(l, gone)], &[8952]);
    let mut gone = w.original(l);
    let count = PageRef::new(&gone).slot_count();
    PageMut::new(&mut gone).delete_record(count - 1).unwrap();
    seal(&mut gone);
    c.push("a row less than counted", vec![(l, gone)], &[2508]);

    // The root of t.
    let child = |slot: u16| {
        let p = PageRef::new(&w.pages[root as usize]);
        row(root, slot) + usize::from(p.pminlen()) - 6
    };
    let (one, two, three) = (child(1), child(2), child(3));
    c.add("two children that are one", root, &[8937], |p| {
        let id: [u8; 6] = p[one..one + 6].try_into().unwrap();
        p[two..two + 6].copy_from_slice(&id);
    });
    c.add("children in the wrong order", root, &[8935], |p| {
        let a: [u8; 6] = p[one..one + 6].try_into().unwrap();
        let b: [u8; 6] = p[two..two + 6].try_into().unwrap();
        p[one..one + 6].copy_from_slice(&b);
        p[two..two + 6].copy_from_slice(&a);
    });
    c.add("a child that is nowhere", root, &[8980, 8977], |p| {
        p[two + 1] ^= 0x70
    });
    c.add("a child of another file", root, &[8977], |p| p[two + 4] = 9);
    c.add("a child of another unit", root, &[8980, 8976, 8977], |p| {
        p[three..three + 4].copy_from_slice(&heap[0].to_le_bytes())
    });
    let key = row(root, 2) + 1;
    c.add("a separator that is too great", root, &[8933, 2511], |p| {
        p[key + 2] = 1
    });
    c.add(
        "a separator that is too small",
        root,
        &[8934, 2511, 2512],
        |p| p[key..key + 4].fill(0),
    );
    let mut short = w.original(root);
    PageMut::new(&mut short).delete_record(2).unwrap();
    seal(&mut short);
    c.push(
        "a child that its parent has lost",
        vec![(root, short)],
        &[8977, 8935],
    );
    let mut empty = w.original(root);
    while PageRef::new(&empty).slot_count() > 0 {
        PageMut::new(&mut empty).delete_record(0).unwrap();
    }
    seal(&mut empty);
    c.push("an empty root", vec![(root, empty)], &[2574]);

    // Forwarded rows.
    let find = |kind: u8| {
        heap.iter()
            .find_map(|n| {
                let p = PageRef::new(&w.pages[*n as usize]);
                let slot = (0..p.slot_count())
                    .find(|s| matches!(p.record(*s), Ok(Some(r)) if r.kind() == kind));
                slot.map(|s| (*n, s))
            })
            .unwrap()
    };
    let (n, s) = find(record_kind::FORWARDING_STUB);
    let at = row(n, s);
    c.add("a stub to another slot", n, &[8971, 8993, 8994], |p| {
        p[at + 7] ^= 1
    });
    c.add("a stub to another page", n, &[8993, 8994], |p| {
        p[at + 1] ^= 0x40
    });
    c.add("a stub to another file", n, &[8993, 8994], |p| {
        p[at + 5] ^= 4
    });
    let (n, s) = find(record_kind::FORWARDED);
    let length = PageRef::new(&w.pages[n as usize])
        .record(s)
        .unwrap()
        .unwrap()
        .len();
    let at = row(n, s) + length;
    c.add("a row of another stub's page", n, &[8971, 8994], |p| {
        p[at - 8] ^= 0x20
    });
    c.add("a row of another stub's slot", n, &[8971, 8994], |p| {
        p[at - 2] ^= 1
    });
    let at = row(n, s);
    c.add("a row that was not forwarded", n, &[8993], |p| {
        p[at] &= !0x0e
    });

    // Values outside rows.
    let piece = row(text[0], 0);
    c.add("the id of a piece", text[0], &[8961], |p| p[piece + 4] ^= 1);
    c.add("the kind of a piece", text[0], &[8962], |p| {
        p[piece + 12] = 9
    });
    c.add(
        "the length of a piece",
        text[0],
        &[8943, 8942, 8939, 8962],
        |p| p[piece + 3] ^= 1,
    );
    c.add("a piece that is a row", text[0], &[8944, 8943, 8942], |p| {
        p[piece] = 0x10
    });
    let mut gone = w.original(text[0]);
    PageMut::new(&mut gone).clear_slot(0).unwrap();
    seal(&mut gone);
    c.push("a piece that is gone", vec![(text[0], gone)], &[8965]);
    if let Some(tree) = trees.first() {
        let node = row(*tree, 0);
        c.add("a link of a node", *tree, &[8965, 8964], |p| {
            p[node + 20 + 8] ^= 0x40
        });
        c.add("a size of a node", *tree, &[8962], |p| {
            p[node + 20..node + 28].fill(0)
        });
    }
    let with_value = leaf.iter().find_map(|n| {
        let p = PageRef::new(&w.pages[*n as usize]);
        let slot = (0..p.slot_count()).find(|s| {
            let r = p.record(*s).unwrap().unwrap().bytes();
            let end = u16::from_le_bytes([r[r.len() - 24], r[r.len() - 23]]);
            r.len() > 60 && end & 0xff == 4 && r[r.len() - 24 + 4] == 1
        });
        slot.map(|s| (*n, s))
    });
    let (n, s) = with_value.unwrap();
    let length = PageRef::new(&w.pages[n as usize])
        .record(s)
        .unwrap()
        .unwrap()
        .len();
    let pointer = row(n, s) + length - 24;
    c.add("a pointer to another page", n, &[8965, 8964], |p| {
        p[pointer + 16] ^= 0x40
    });
    c.add("a pointer to another slot", n, &[8965, 8964, 8974], |p| {
        p[pointer + 22] ^= 0x20
    });
    c.add("a pointer with another id", n, &[8961, 8929], |p| {
        p[pointer + 8] ^= 1
    });
    c.add("a pointer of no kind", n, &[8960], |p| p[pointer] = 9);
    c.add("a pointer to nothing", n, &[8960, 8964], |p| {
        p[pointer + 12..pointer + 16].fill(0)
    });

    // Maps.
    let iam = |unit| w.pages_of(unit, page_type::IAM, 0)[0];
    let extent = |unit| {
        Iam::new(&w.pages[iam(unit) as usize])
            .unwrap()
            .extents()
            .next()
            .unwrap()
            .page
    };
    let total = w.pages.len() as u32;
    let free = (2..total / 8).find(|e| bit_get(&w.pages[2], *e)).unwrap();
    for (name, unit) in [("t", t), ("i_n", i_n), ("h", h), ("text", lob)] {
        let (page, e) = (iam(unit), extent(unit));
        let at = |s: &str| format!("IAM of {name}: {s}");
        c.rot(at("rot"), page, &[8939], |p| p[500] ^= 1);
        c.add(at("type"), page, &[8948], |p| p[1] = 1);
        c.add(at("page number"), page, &[8909], |p| p[32] ^= 1);
        c.add(at("unit"), page, &[2533, 8906], |p| p[24] ^= 1);
        c.add(at("an extent lost"), page, &[8906], |p| {
            bit_set(p, e / 8, false)
        });
        c.add(at("a free extent"), page, &[8904], |p| {
            bit_set(p, free, true)
        });
        c.add(at("an extent of another"), page, &[8904], |p| {
            let other = if unit == t { extent(i_n) } else { extent(t) };
            bit_set(p, other / 8, true);
        });
        c.add(at("an extent behind the file"), page, &[2579], |p| {
            bit_set(p, total / 8 + 5, true)
        });
        c.add(at("where it begins"), page, &[8946], |p| p[96 + 40] = 16);
        c.add(at("a next page that is none"), page, &[2575], |p| {
            PageMut::new(p).set_next_page(PageId::new(1, e))
        });
        c.add(at("a next page of another"), page, &[8959], |p| {
            let other = if unit == t { iam(i_n) } else { iam(t) };
            PageMut::new(p).set_next_page(PageId::new(1, other));
        });
        c.add(at("a single page of its extent"), page, &[8910], |p| {
            iam_set_single(p, 0, PageId::new(1, e))
        });
        c.add(at("a single page behind the file"), page, &[2579], |p| {
            iam_set_single(p, 0, PageId::new(1, total + 9))
        });
        c.add(
            format!("GAM: extent of {name} free"),
            gam_page_of(0),
            &[8904],
            |p| bit_set(p, e / 8, true),
        );
        c.add(
            format!("SGAM: extent of {name} mixed"),
            sgam_page_of(0),
            &[8904],
            |p| bit_set(p, e / 8, true),
        );
        c.add(
            format!("DIFF: extent of {name} unchanged"),
            6,
            &[8946],
            |p| bit_set(p, e / 8, false),
        );
        c.add(
            format!("PFS: page of {name} is an IAM page"),
            1,
            &[8948],
            |p| {
                let byte = pfs_get(p, e);
                pfs_set(p, e, byte | pfs::IAM);
            },
        );
        c.add(
            format!("PFS: IAM page of {name} is none"),
            1,
            &[8906, 8948],
            |p| pfs_set(p, page, pfs::ALLOCATED | pfs::MIXED),
        );
        c.add(
            format!("PFS: page of {name} not in use"),
            1,
            &[8976, 8980, 2508, 8965, 8993],
            |p| pfs_set(p, e, 0),
        );
    }
    c.add("GAM: an extent of nobody", 2, &[8905], |p| {
        bit_set(p, free, false)
    });
    c.add("SGAM: a free extent mixed", 3, &[8903], |p| {
        bit_set(p, free, true)
    });
    c.add("PFS: a page of nobody", 1, &[8906], |p| {
        pfs_set(p, free * 8, pfs::ALLOCATED)
    });
    for (n, name) in [
        (0, "header"),
        (1, "PFS"),
        (2, "GAM"),
        (3, "SGAM"),
        (6, "DIFF"),
        (7, "ML"),
        (9, "boot page"),
    ] {
        let rot: &[u32] = match n {
            0 => &[5172, 824],
            _ => &[8939, 8998],
        };
        c.rot(format!("rot of the {name}"), n, rot, |p| p[700] ^= 1);
        if n > 0 {
            c.add(format!("type of the {name}"), n, &[8946, 8998], |p| {
                p[1] = 1
            });
            c.add(format!("number of the {name}"), n, &[8909, 8998], |p| {
                p[32] ^= 1
            });
        }
    }
    for n in [heap[0], heap[2], text[0]] {
        c.add(format!("PFS: free space of page {n}"), 1, &[8914], |p| {
            let byte = pfs_get(p, n);
            pfs_set(p, n, byte ^ 1);
        });
    }

    // The catalog.
    let system = |object: i64| {
        AllocUnitId(if matches!(object, 3 | 5 | 7) {
            object << 16
        } else {
            1 << 48 | object << 16
        })
    };
    for (name, object) in [
        ("sysrscols", 3),
        ("sysrowsets", 5),
        ("sysallocunits", 7),
        ("sysschobjs", 34),
        ("syscolpars", 41),
    ] {
        let page = *w
            .pages_of(system(object), page_type::DATA, 0)
            .last()
            .unwrap();
        c.rot(format!("rot of {name}"), page, &[8939], |p| p[300] ^= 1);
        c.add(format!("unit of {name}"), page, &[2533], |p| p[24] ^= 0x40);
        c.add(format!("ghosts of {name}"), page, &[8927], |p| p[58] = 77);
        c.add(format!("free bytes of {name}"), page, &[8939], |p| {
            p[28] ^= 1
        });
    }
    let find = |object: i64, wanted: &dyn Fn(&[u8]) -> bool| {
        let pages = w.pages_of(system(object), page_type::DATA, 0);
        pages.into_iter().find_map(|n| {
            let p = PageRef::new(&w.pages[n as usize]);
            let slot =
                (0..p.slot_count()).find(|s| wanted(p.record(*s).unwrap().unwrap().bytes()))?;
            Some((n, usize::from(p.slot_offset(slot).unwrap())))
        })
    };
    let of_unit = |unit: AllocUnitId| move |r: &[u8]| r[4..12] == unit.0.to_le_bytes();
    let (n, at) = find(7, &of_unit(t)).unwrap();
    c.add("sysallocunits: root of t", n, &[8979], |p| {
        p[at + 33] ^= 0x40
    });
    c.add(
        "sysallocunits: first IAM page of t",
        n,
        &[8906, 2575],
        |p| p[at + 39] ^= 0x40,
    );
    c.add("sysallocunits: used pages of t", n, &[2508], |p| {
        p[at + 45] ^= 1
    });
    c.add("sysallocunits: data pages of t", n, &[2508], |p| {
        p[at + 53] ^= 1
    });
    c.add("sysallocunits: owner of t", n, &[8992], |p| {
        p[at + 13 + 3] ^= 0x40
    });
    let hobt = w.units.iter().find(|u| u.1 == t.0).unwrap().3;
    let (n, at) = find(5, &|r| r[4..12] == hobt.to_le_bytes()).unwrap();
    c.add("sysrowsets: rows of t", n, &[2508], |p| p[at + 31] ^= 1);
    c.add("sysrowsets: table of t", n, &[8992, 8951, 8952], |p| {
        p[at + 13 + 2] ^= 0x10
    });
    c.list
}

#[test]
fn every_planted_fault_is_found() {
    let w = world();
    assert_eq!(w.numbers(), [], "before anything is planted");
    let cases = cases(&w);
    let names: std::collections::BTreeSet<&str> = cases.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "each case has a name of its own");
    assert!(cases.len() >= 350, "{} cases", cases.len());
    let mut missed = Vec::new();
    for case in &cases {
        w.put(&case.pages);
        let found = w.numbers();
        if !found.iter().any(|n| case.expected.contains(n)) {
            missed.push(format!(
                "{}: {:?} not among {found:?}",
                case.name, case.expected
            ));
        }
        let back: Vec<_> = case
            .pages
            .iter()
            .map(|(n, _)| (*n, w.original(*n)))
            .collect();
        w.put(&back);
    }
    assert!(
        missed.is_empty(),
        "{} of {}:\n{}",
        missed.len(),
        cases.len(),
        missed.join("\n")
    );
    assert_eq!(w.numbers(), [], "after everything is as it was");
    println!("{} cases", cases.len());
}
