//! From trees to plans: names bound against the catalog, plans chosen, changes of tables bound and run, plans shown.
//!
//! | module | owns |
//! |---|---|
//! | `bind` | names become slots and types, a tree becomes a plan |
//! | `optimize` | how a bound query runs |
//! | `dml`, `captured` | INSERT, UPDATE and DELETE: bound once; INSERT ... EXECUTE |
//! | `memory` | tables in memory: table variables |
//! | `table_functions`, `xml_methods` | functions of the language that give rows; the methods of xml values |
//! | `showplan` | what a plan is estimated to do, as text and as XML |

#![forbid(unsafe_code)]

pub mod bind;
mod captured;
pub mod dml;
pub mod memory;
mod optimize;
pub mod showplan;
mod table_functions;
mod xml_methods;

pub use bind::{Binder, BoundQuery};
pub use captured::{Capture, Captured};
pub use optimize::{MissingIndex, Sizes, Wanted, missing_indexes};

use duramen_query::functions::{COLLATE, Entry, Stability, scalar_functions};

/// Every built-in function of the language: the scalar ones, those that binding turns into CASE, aggregates, window
/// functions and table-valued ones. For the reference.
pub fn function_names() -> impl Iterator<Item = Entry> {
    let scalar = scalar_functions().filter(|f| f.name != COLLATE);
    let scalar = scalar.map(|f| Entry {
        doc: f.doc,
        min: f.min_args,
        max: f.max_args,
        of_null: Some(match (f.strict, f.null_if_all) {
            (true, _) => "NULL",
            (_, true) => "NULL, if all are",
            _ => "a value",
        }),
        deterministic: f.stability == Stability::Always,
        needs: "",
    });
    let tables = crate::table_functions::entries();
    scalar.chain(crate::bind::function_entries()).chain(tables)
}
