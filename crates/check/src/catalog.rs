//! What sysallocunits and sysrowsets say of allocation units, against the units that are there.
//!
//! The two tables are read as raw rows, whose fields stand at the same places in every version; trees are not descended,
//! their leaf chains are followed from the first page. Where a page of them cannot be read, nothing is concluded.

use std::collections::BTreeMap;
use std::fmt::Display;

use duramen_base::messages::{self};
use duramen_base::{AllocUnitId, PageId};
use duramen_format::alloc::{pfs_page_of, sgam_page_of};

use super::counted::{Counted, fullness_name};
use super::facts::Facts;
use super::finding::{Finding, of_nobody};
use super::schema::Schema;
use super::source::DataFile;
use super::units::{Unit, i64_at, leaf_rows};

/// Places in a row of sysrowsets.
const ROWSET_AT: usize = 4;
const INDEX_ID_AT: usize = 17;
const ROWS_AT: usize = 31;
/// `type` of the unit that has the rows.
const IN_ROW_DATA: u8 = 1;
/// sysrowsets' own rowset.
const SYSROWSETS: i64 = 5 << 16;

/// Chains of IAM pages begin where the catalog says. `heads`: where they begin.
pub(super) fn check_chains(
    schema: &Schema,
    heads: &BTreeMap<PageId, AllocUnitId>,
    units: &[Unit],
) -> Vec<Finding> {
    let mut out = Vec::new();
    let begins: BTreeMap<PageId, AllocUnitId> = units
        .iter()
        .filter(|u| !u.first_iam.is_null())
        .map(|u| (u.first_iam, u.id))
        .collect();
    for (id, unit) in heads {
        if begins.get(id) != Some(unit) {
            // Nobody leads to the page.
            let sgam = PageId::new(id.file, sgam_page_of(id.page));
            let pfs = PageId::new(id.file, pfs_page_of(id.page));
            let args: [&dyn Display; 5] = [id, &schema.database, &sgam, &pfs, &"IAM_PG"];
            out.push(of_nobody(&messages::CHECK_PAGE_OF_NOBODY, Some(*id), &args));
        }
    }
    for (id, unit) in begins {
        if heads.get(&id) != Some(&unit) {
            let whose = schema.whose(unit);
            let none = PageId::NULL;
            let message = &messages::CHECK_IAM_NEXT;
            out.push(whose.finding_after(message, Some(id), &[&id, &none], &[]));
        }
    }
    out
}

/// 2508: counts of rows and pages; 8914: how full the PFS says that pages are.
pub(super) fn check_counts(
    files: &[DataFile],
    schema: &Schema,
    units: &[Unit],
    facts: &Facts,
    all: &[Unit],
) -> Vec<Finding> {
    let mut out = Vec::new();
    let own = files.iter().all(|f| f.header.own);
    let empty = Counted::default();
    let counted = |unit: &Unit| facts.units.get(&unit.id).map_or(&empty, |u| &u.counted);
    let wrong = |unit: &Unit, at: PageId, what: &str| {
        let whose = schema.whose(unit.id);
        let name = schema.name_of(whose.object);
        let (AllocUnitId(id), kind) = (unit.id, whose.kind_name());
        let args: [&dyn Display; 6] = [&what, &name, &whose.index, &whose.partition, &id, &kind];
        Finding {
            object: (whose.object != 0).then_some(whose.object),
            unit: Some((whose.index, whose.partition, id)),
            ..of_nobody(&messages::CHECK_WRONG_COUNT, Some(at), &args)
        }
    };
    // What hangs on a page that could not be read is not judged.
    let whole = |unit: &Unit| facts.units.get(&unit.id).is_none_or(|u| !u.incomplete);
    for unit in units
        .iter()
        .filter(|u| own && !u.first_iam.is_null() && whole(u))
    {
        let found = counted(unit);
        if found.pages as i64 != unit.used {
            out.push(wrong(unit, unit.at, "USED page"));
        }
        if found.leaves() as i64 != unit.data {
            let what = match unit.kind {
                IN_ROW_DATA => "In-row data USED page",
                _ => "LOB data USED page",
            };
            out.push(wrong(unit, unit.at, what));
        }
    }
    let in_row = |u: &&Unit| u.kind == IN_ROW_DATA;
    let first = all.iter().filter(in_row).find(|u| u.owner == SYSROWSETS);
    let Some(rowsets) = first.and_then(|u| leaf_rows(files, u.first)) else {
        return out;
    };
    let stored: BTreeMap<i64, (PageId, i64)> = rowsets
        .iter()
        .filter_map(|(id, row)| Some((i64_at(row, ROWSET_AT)?, (*id, i64_at(row, ROWS_AT)?))))
        .collect();
    let heaps: Vec<i64> = rowsets
        .iter()
        .filter(|(_, row)| row.get(INDEX_ID_AT..INDEX_ID_AT + 4) == Some(&[0; 4]))
        .filter_map(|(_, row)| i64_at(row, ROWSET_AT))
        .collect();
    let kept = |u: &&Unit| u.kind != IN_ROW_DATA || heaps.contains(&u.owner);
    for unit in units.iter().filter(kept) {
        for (id, said, class) in &counted(unit).wrong_class {
            // The rules of others are not known well enough.
            if files.iter().any(|f| f.id() == id.file && f.header.own) {
                let whose = schema.whose(unit.id);
                let names: [&dyn Display; 2] = [&fullness_name(*class), &fullness_name(*said)];
                let message = &messages::CHECK_FREE_SPACE;
                out.push(whose.finding_after(message, Some(*id), &[id], &names));
            }
        }
    }
    for unit in units.iter().filter(in_row) {
        if let Some((id, said)) = stored.get(&unit.owner)
            && whole(unit)
            && *said != counted(unit).rows()
        {
            out.push(wrong(unit, *id, "ROW"));
        }
    }
    out
}

/// Whether base tables fit together: 8992 with 3853 and its like.
pub(super) fn check_catalog(files: &[DataFile], schema: &Schema, units: &[Unit]) -> Vec<Finding> {
    let mut out = Vec::new();
    if schema.tables.is_empty() || !files.iter().all(|f| f.header.own) {
        return out;
    }
    let mut add = |attribute: &str, row: String, table: &str, wanted: String, other: &str| {
        let args: [&dyn Display; 7] = [&attribute, &row, &table, &"", &wanted, &other, &""];
        let text = messages::format_message(messages::CHECK_NO_MATCHING_ROW.text, &args);
        let number = messages::CHECK_NO_MATCHING_ROW.number;
        let args: [&dyn Display; 3] = [&number, &1, &text];
        out.push(of_nobody(&messages::CHECK_CATALOG_MESSAGE, None, &args));
    };
    for unit in units {
        if schema.of(unit.id).is_none() {
            let AllocUnitId(id) = unit.id;
            let owner = unit.owner;
            let row = format!("allocation_unit_id={id}");
            add(
                "owner",
                row,
                "allocation_units",
                format!("hobt_id={owner}"),
                "partitions",
            );
        }
    }
    for (table, key, object) in &schema.orphans {
        let wanted = format!("object_id={object}");
        add("object_id", key.clone(), table, wanted, "objects");
    }
    for (object, table) in &schema.without_schema {
        let row = format!("object_id={object}");
        add(
            "schema_id",
            row,
            "objects",
            format!("schema_id={table}"),
            "schemas",
        );
    }
    out
}
