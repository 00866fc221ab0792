//! Every row that declares a right, run as thirteen identities and held against `tests/rights.tsv`; the same in modules,
//! through chains of ownership that hold and that break, in strings that are executed and from another database; whose rows
//! of the catalog somebody sees; what nobody may do to itself.
//!
//! Of TRUSTWORTHY there is only OFF here: ON is refused by name (40517), and the pass with ON holds that it is, and that
//! nothing is different after it.

mod modules;
mod people;
mod places;
mod probes;
mod raising;
mod rows;
mod seen;
mod table;

#[cfg(feature = "planted")]
pub(super) use rows::every_row_lets_in_who_holds_its_right_and_nobody_else;

/// The numbers that refuse something to whom it is not granted.
const REFUSALS: &[i32] = &[
    229, 230, 262, 297, 300, 916, 1088, 2571, 2760, 2778, 3110, 3505, 3701, 4613, 5011, 5812, 6004,
    6102, 7983, 8189, 15003, 15009, 15135, 15151, 15247,
];

/// The numbers of what a batch has answered, errors and messages.
fn numbers(lines: &[String]) -> impl Iterator<Item = i32> {
    let number = |l: &String| {
        let said = l.strip_prefix("Msg ").or(l.strip_prefix("Info "))?;
        said.split(',').next()?.parse().ok()
    };
    lines.iter().filter_map(number)
}

/// The first refusal among them.
fn refusal(lines: &[String]) -> Option<i32> {
    numbers(lines).find(|n| REFUSALS.contains(n))
}

/// The first error that is none.
fn failure(lines: &[String]) -> Option<&String> {
    lines.iter().find(|l| l.starts_with("Msg "))
}
