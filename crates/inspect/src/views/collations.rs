//! `sys.fn_helpcollations`: the collations that there are, in words.

use duramen_program::column::*;
use duramen_types::{CollationId, SqlType as T};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5032, &VIEW),
];

columns! { (&'static str, CollationId);
    "name", T::SYSNAME, NOT_NULL, |c| text(c.0);
    "description", T::nvarchar(1000), NULL, |c| text(&description(c.0, c.1));
}

fn description(name: &str, id: CollationId) -> String {
    let mut out = "Latin1-General".to_owned();
    if id.version() > 0 {
        out += "-100";
    }
    if id.is_binary() {
        out += match id.is_binary2() {
            true => ", binary code point comparison sort",
            false => ", binary sort",
        };
    } else {
        let style = id.comparison_style();
        for (what, ignored) in [
            ("case", 1),
            ("accent", 2),
            ("kanatype", 0x1_0000),
            ("width", 0x2_0000),
        ] {
            let how = if style & ignored != 0 {
                "insensitive"
            } else {
                "sensitive"
            };
            out += &format!(", {what}-{how}");
        }
    }
    if name.contains("_SC") {
        out += ", supplementary characters";
    }
    if id.is_utf8() {
        out += ", UTF8";
    }
    match id.sort_id() {
        0 => out,
        order => format!(
            "{out} for Unicode Data, SQL Server Sort Order {order} on Code Page {} for non-Unicode Data",
            id.code_page()
        ),
    }
}

pub const VIEW: View = View::new("fn_helpcollations", FACTS, COLUMNS, |_, _| {
    let mut all: Vec<_> = CollationId::all().collect();
    all.sort_by_key(|(name, _)| *name);
    Ok(all.iter().map(row).collect())
});
