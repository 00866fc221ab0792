//! What each module of a crate is for: a `lib.rs` with more than eight modules has a table of them, and leaves none out.

use std::collections::BTreeSet;

/// The head of the table.
const HEAD: &str = "| module | owns |";
/// So many need none.
const FEW: usize = 8;

/// What is wrong with the table of a `lib.rs`, a line each.
pub fn check(root: &str) -> Vec<String> {
    let modules = modules(root);
    if modules.len() <= FEW {
        return Vec::new();
    }
    let lines = root.lines().map(|l| l.trim_start_matches("//!").trim());
    let rows = lines.skip_while(|l| *l != HEAD).skip(2);
    let first = rows
        .take_while(|l| l.starts_with('|'))
        .filter_map(|row| row.split('|').nth(1));
    let named: BTreeSet<String> = first
        .flat_map(|cell| cell.split([' ', ',', '[', ']', '`']))
        .filter(|w| !w.is_empty())
        .map(str::to_owned)
        .collect();
    let missing = modules.difference(&named);
    let missing = missing.map(|m| format!("the table of modules in lib.rs lacks {m}"));
    let gone = named.difference(&modules);
    let gone =
        gone.map(|m| format!("the table of modules in lib.rs has {m}, which does not exist"));
    missing.chain(gone).collect()
}

/// The modules that a `lib.rs` declares, but for those of tests.
pub fn modules(root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut of_tests = false;
    for line in root.lines().map(str::trim) {
        let module = line
            .strip_suffix(';')
            .and_then(|l| l.split_once("mod "))
            .filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
        if let Some((_, name)) = module.filter(|_| !of_tests) {
            found.insert(name.to_owned());
        }
        of_tests = line.starts_with("#[cfg(") && line.contains("test");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn modules_that_are_missing_or_gone_are_found() {
        let mut root = String::from("//! | module | owns |\n//! |---|---|\n//! | `a`, `b` | x |\n");
        for m in ["c", "d", "e", "f", "g", "h", "i"] {
            root += &format!("//! | [`{m}`] | y |\n");
        }
        for m in ["a", "c", "d", "e", "f", "g", "h", "i", "j"] {
            root += &format!("pub mod {m};\n");
        }
        root += "#[cfg(test)]\nmod tests;\n";
        let reported = check(&root);
        assert!(reported[0].ends_with("lacks j"), "{reported:?}");
        assert!(reported[1].contains("has b,"), "{reported:?}");
        assert_eq!(reported.len(), 2);
        assert!(check("mod a;\n").is_empty());
    }
}
