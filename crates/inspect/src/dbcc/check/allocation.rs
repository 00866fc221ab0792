//! What DBCC CHECKALLOC says of space: a block for each table, then the files with what each unit has of them.
//!
//! The layout is the one published outputs have. Of these lines only 2538 and 2539 have a number that is known; the others go
//! without one, as PRINT does (*assumed*).

use std::fmt::Display;

use duramen_base::messages;
use duramen_base::{AllocUnitId, DbId};
use duramen_check::{Checked, FileUse, UnitUse};

use super::Said;

const RULE: &str = "***************************************************************";

/// The tables, before the findings' summary. `shown` is the name of a table as messages have it.
pub(super) fn report_tables(
    said: &mut Said<'_>,
    checked: &Checked,
    db: DbId,
    shown: &dyn Fn(i32) -> String,
) {
    let mut objects = 0;
    for units in checked.units.chunk_by(|a, b| a.object == b.object) {
        objects += 1;
        let name = match shown(units[0].object.0) {
            name if name.is_empty() => units[0].name.clone(),
            name => name,
        };
        said.line(RULE.to_owned());
        said.line(format!(
            "Table {name}                Object ID {}.",
            units[0].object.0
        ));
        let mut total = 0;
        for unit in units {
            let sum = |of: fn(&duramen_check::Share) -> u64| -> u64 {
                unit.shares.values().map(of).sum()
            };
            let (extents, pages) = (sum(|s| s.extents), sum(|s| s.pages));
            let whose = whose(unit);
            said.line(format!(
                "I{whose}. FirstIAM ({}). Root ({}). Dpages {}.",
                unit.first_iam, unit.root, unit.data_pages
            ));
            said.line(format!(
                "I{whose}. {pages} pages used in {extents} dedicated extents."
            ));
            total += extents;
        }
        said.line(format!("Total number of extents is {total}."));
    }
    said.line(RULE.to_owned());
    said.line(format!(
        "Processed {objects} entries in system catalog for database ID {}.",
        db.0
    ));
}

/// The files.
pub(super) fn report_files(said: &mut Said<'_>, checked: &Checked) {
    let mut total = FileUse::default();
    for file in &checked.files {
        let args: [&dyn Display; 4] = [&file.file, &file.extents, &file.used, &file.reserved()];
        said.inform(&messages::CHECK_FILE_USE, &args);
        said.line(format!(
            "           File {} (number of mixed extents = {}, mixed pages = {}).",
            file.file, file.mixed_extents, file.mixed_pages
        ));
        for unit in &checked.units {
            let Some(share) = unit.shares.get(&file.file) else {
                continue;
            };
            let kind = if unit.index == 0 { "data" } else { "index" };
            said.line(format!(
                "    Object ID {}, i{}, {kind} extents {}, pages {}, mixed extent pages {}.",
                unit.object.0,
                whose(unit),
                share.extents,
                share.pages,
                share.mixed_pages
            ));
        }
        total.add(file);
    }
    let args: [&dyn Display; 3] = [&total.extents, &total.used, &total.reserved()];
    said.inform(&messages::CHECK_TOTAL_USE, &args);
    said.line(format!(
        "       (number of mixed extents = {}, mixed pages = {}) in this database.",
        total.mixed_extents, total.mixed_pages
    ));
}

/// Without its first letter, which is small within a line.
fn whose(unit: &UnitUse) -> String {
    let AllocUnitId(id) = unit.unit;
    format!(
        "ndex ID {}, partition ID {}, alloc unit ID {id} (type {})",
        unit.index, unit.partition, unit.kind
    )
}
