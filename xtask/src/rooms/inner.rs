//! Rooms within a crate: the tables at the head of its `lib.rs` say which modules a room has, which rooms it may import, and
//! which files go against that until they are mended.
//!
//! What is imported is every path that begins with `crate::`, in code and in macros alike; tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::owned::{self, modules};

/// The heads of the two tables.
const ROOMS: &str = "| room | owns | may import | modules |";
const EXCEPTIONS: &str = "| file | imports | because |";

/// What the head of a `lib.rs` says.
#[derive(Default, Debug)]
struct Plan {
    /// By module.
    room_of: BTreeMap<String, String>,
    allowed: BTreeMap<String, BTreeSet<String>>,
    /// Files that may import these modules all the same.
    exceptions: BTreeMap<String, BTreeSet<String>>,
}

/// Every import of a crate against the table of its own `lib.rs`, a line each; nothing for a crate without one.
pub fn violations(room: &str, crate_dir: &Path) -> Vec<String> {
    let src = crate_dir.join("src");
    let Ok(root) = fs::read_to_string(src.join("lib.rs")) else {
        return Vec::new();
    };
    if !root.contains(ROOMS) {
        let reported = owned::check(&root);
        return reported
            .into_iter()
            .map(|t| format!("{room}: {t}"))
            .collect();
    }
    let mut files = Vec::new();
    collect(&src, &mut files);
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|f| {
            let name = f.strip_prefix(&src).ok()?.display().to_string();
            Some((name, fs::read_to_string(f).ok()?))
        })
        .collect();
    let reported = check(&root, &texts);
    reported
        .into_iter()
        .map(|t| format!("{room}: {t}"))
        .collect()
}

pub(super) fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.map(|e| e.path()) {
        match path.is_dir() {
            true => collect(&path, out),
            false if path.extension().is_some_and(|e| e == "rs") => out.push(path),
            false => {}
        }
    }
    out.sort();
}

fn check(root: &str, files: &[(String, String)]) -> Vec<String> {
    let plan = plan(root);
    let mut wrong = Vec::new();
    let modules = modules(root);
    for m in modules.difference(&plan.room_of.keys().cloned().collect()) {
        wrong.push(format!("the module {m} is in no room"));
    }
    for (m, room) in &plan.room_of {
        if !modules.contains(m) {
            wrong.push(format!("the room {room} has no module {m}"));
        }
    }
    let exported = exported(root);
    let mut used = BTreeSet::new();
    let of_tests = |f: &str| f.ends_with("tests.rs") || f.contains("tests/");
    let files = files.iter().filter(|(f, _)| f != "lib.rs" && !of_tests(f));
    for (file, text) in files {
        let first = file.split('/').next().unwrap_or("");
        let Some(room) = plan.room_of.get(first.trim_end_matches(".rs")) else {
            continue;
        };
        let Ok(tokens) = TokenStream::from_str(text) else {
            wrong.push(format!("{file} cannot be read as Rust"));
            continue;
        };
        let mut names = BTreeSet::new();
        imports(tokens, &mut names);
        for name in names {
            let module = exported.get(&name).unwrap_or(&name);
            let Some(other) = plan.room_of.get(module) else {
                continue;
            };
            if other == room || plan.allowed.get(room).is_some_and(|a| a.contains(other)) {
                continue;
            }
            match plan
                .exceptions
                .get(file)
                .is_some_and(|e| e.contains(module))
            {
                true => drop(used.insert((file.clone(), module.clone()))),
                false => wrong.push(format!(
                    "{file} ({room}) imports {module} ({other}), against the table in lib.rs"
                )),
            }
        }
    }
    for (file, modules) in &plan.exceptions {
        for module in modules {
            if !used.contains(&(file.clone(), module.clone())) {
                wrong.push(format!(
                    "{file} does not import {module} any more: no exception is needed"
                ));
            }
        }
    }
    wrong
}

fn words(cell: &str) -> impl Iterator<Item = String> + '_ {
    let words = cell.split([' ', ',']).map(|w| w.trim_matches('`'));
    words
        .filter(|w| !w.is_empty() && *w != "-")
        .map(str::to_owned)
}

fn rows<'a>(root: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = root.lines().map(|l| l.trim_start_matches("//!").trim());
    let table = lines.skip_while(|l| *l != head).skip(2);
    let rows = table.take_while(|l| l.starts_with('|'));
    rows.map(|r| r.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn plan(root: &str) -> Plan {
    let mut plan = Plan::default();
    for row in rows(root, ROOMS) {
        let [room, _, imports, modules] = row[..] else {
            continue;
        };
        let room = room.trim_matches('`').to_owned();
        for m in words(modules) {
            plan.room_of.insert(m, room.clone());
        }
        plan.allowed.insert(room, words(imports).collect());
    }
    for row in rows(root, EXCEPTIONS) {
        if let [files, modules, _] = row[..] {
            for file in words(files) {
                let known = plan.exceptions.entry(file).or_default();
                known.extend(words(modules));
            }
        }
    }
    plan
}

/// What the root gives a name of its own: by that name, the module that it comes from.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let uses = root.split("pub use ").skip(1);
    for path in uses.filter_map(|u| u.split(';').next()) {
        if let Some((module, names)) = path.split_once("::") {
            for name in names.split(|c: char| !c.is_alphanumeric() && c != '_') {
                out.insert(name.to_owned(), module.to_owned());
            }
        }
    }
    out
}

/// The first names of all paths that begin with `crate::`, but for those of tests.
fn imports(tokens: TokenStream, out: &mut BTreeSet<String>) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < all.len() {
        if is_test(&all[at..]) {
            at += 2 + item_length(&all[at + 2..]);
            continue;
        }
        match &all[at] {
            TokenTree::Ident(i) if i == "crate" => firsts(&all[at + 1..], out),
            TokenTree::Group(g) => imports(g.stream(), out),
            _ => {}
        }
        at += 1;
    }
}

/// Whether `#[cfg(test)]` stands here.
pub(super) fn is_test(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(p), TokenTree::Group(g), ..] => {
            p.as_char() == '#' && g.stream().to_string().replace(' ', "") == "cfg(test)"
        }
        _ => false,
    }
}

/// How many tokens the item has that begins here.
pub(super) fn item_length(tokens: &[TokenTree]) -> usize {
    let ends = |t: &TokenTree| match t {
        TokenTree::Group(g) => g.delimiter() == Delimiter::Brace,
        TokenTree::Punct(p) => p.as_char() == ';',
        _ => false,
    };
    tokens.iter().position(ends).map_or(tokens.len(), |n| n + 1)
}

/// What follows `crate`: `::name`, or `::{name, name::...}`.
fn firsts(tokens: &[TokenTree], out: &mut BTreeSet<String>) {
    let colon = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ':');
    let [a, b, next, ..] = tokens else { return };
    if !colon(a) || !colon(b) {
        return;
    }
    match next {
        TokenTree::Ident(i) => drop(out.insert(i.to_string())),
        TokenTree::Group(g) => {
            let mut begins = true;
            for t in g.stream() {
                match &t {
                    TokenTree::Ident(i) if begins => drop(out.insert(i.to_string())),
                    _ => {}
                }
                begins = matches!(&t, TokenTree::Punct(p) if p.as_char() == ',');
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    const ROOT: &str = "//! | room | owns | may import | modules |\n//! |---|---|---|---|\n//! | `low` | rows | - | a b |\n//! | `high` | the loop | low | c |\n//!\n//! | file | imports | because |\n//! |---|---|---|\n//! | `b.rs` | `c` | it is old |\n\nmod a;\nmod b;\nmod c;\npub use c::Loop;\n";

    fn violations_of(a: &str, b: &str) -> Vec<String> {
        let file = |n: &str, t: &str| (n.to_owned(), t.to_owned());
        let c = "use crate::{a::X, b};\n";
        check(
            ROOT,
            &[
                file("lib.rs", ROOT),
                file("a.rs", a),
                file("b/mod.rs", "use crate::a;"),
                file("b.rs", b),
                file("c.rs", c),
            ],
        )
    }

    #[test]
    fn an_import_upward_is_found_wherever_it_stands() {
        let clean = violations_of("use crate::b::Y;", "use crate::c::Z;");
        assert_eq!(clean, Vec::<String>::new());
        for text in [
            "use crate::c;",
            "use crate::{b, c::{D, E}};",
            "fn f() { crate::c::run() }",
            "rows! { x, crate::c::row }",
            "fn f(l: &crate::Loop) {}",
        ] {
            let reported = violations_of(text, "use crate::c::Z;");
            assert_eq!(reported.len(), 1, "{text}: {reported:?}");
            assert!(
                reported[0].contains("a.rs (low) imports c (high)"),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn tests_import_what_they_like_and_texts_are_no_imports() {
        let a = "/// `crate::c`\nconst A: &str = \"crate::c\";\n#[cfg(test)]\nmod tests { use crate::c; }\n#[cfg(test)]\nuse crate::c::Z;\n";
        assert_eq!(violations_of(a, "use crate::c::Z;"), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_needed_any_more_is_found() {
        assert_eq!(violations_of("", "").len(), 1);
        let root = ROOT.replace("mod c;\n", "mod d;\n");
        let reported = check(&root, &[]);
        assert!(
            reported.iter().any(|t| t == "the module d is in no room"),
            "{reported:?}"
        );
        assert!(
            reported
                .iter()
                .any(|t| t == "the room high has no module c"),
            "{reported:?}"
        );
    }
}
