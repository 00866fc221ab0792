//! The declared base tables against a real file's catalog (needs `DURAMEN_MATERIAL`), and against themselves.

// Fixtures are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use duramen_format::foreign::{ForeignDatabase, base_rowset_id};

use super::*;
use crate::rows::base_table;

#[test]
fn keys_name_columns_and_ids_ascend() {
    let mut last = 0;
    for t in system_tables() {
        assert!(t.id > last, "{}", t.name);
        last = t.id;
        for i in t.indexes {
            assert!(i.keys.iter().all(|k| *k < t.columns.len()), "{}", t.name);
        }
    }
    assert_eq!(system_table(34).map(|t| t.name), Some("sysschobjs"));
    assert_eq!(
        system_table(7).map(|t| t.rowset(1)),
        Some(RowsetId(7 << 16))
    );
}

#[test]
fn placements_are_those_of_a_real_file() {
    let Some(dir) = std::env::var_os("DURAMEN_MATERIAL") else {
        println!("skipped: DURAMEN_MATERIAL is not set");
        return;
    };
    let dir = std::path::PathBuf::from(dir);
    let bytes = ["", "real-files", "fixtures/real-files"]
        .iter()
        .find_map(|sub| std::fs::read(dir.join(sub).join("TutorialDB.bak")).ok());
    let Some(bytes) = bytes else {
        println!("skipped: TutorialDB.bak is not in DURAMEN_MATERIAL");
        return;
    };
    let real = ForeignDatabase::from_backup(bytes).expect("opens");
    let mut compared = 0;
    for t in system_tables() {
        // The columnstore tables of 2014 to 2017 keep fixed types in the variable part; nothing of ours uses them.
        if matches!(t.id, 35 | 62 | 63) {
            continue;
        }
        let def = base_table(t.id).expect("declared");
        let index = i64::from(def.data.index_id);
        let placed = &real.rowset_columns[&base_rowset_id(i64::from(t.id), index)];
        for (c, r) in def.data.layout.columns.iter().zip(placed) {
            assert_eq!(
                (c.leaf_offset, c.nullbit, c.bitpos),
                (r.offset as i16, r.nullbit as u16, r.bitpos as u8),
                "{} {}",
                t.name,
                r.rscolid
            );
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}
