//! Circles of files: files of a crate each of which needs, over others, itself. More than five in one is a knot that nobody
//! takes apart; those that stand are named below, with the reason and how many they may be.
//!
//! An edge is every path that begins with `crate::`, `super::` or `self::`, in code and macros alike, followed through what
//! modules give out of others (`pub use`); giving something out is no edge, and tests need what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::inner::{collect, is_test, item_length};

/// A circle may have so many files.
const MOST: usize = 5;

/// A circle that stands.
struct Knot {
    room: &'static str,
    /// A file of it.
    of: &'static str,
    /// Files that it has: one more is refused, and one less is to be said here.
    files: usize,
    because: &'static str,
}

const KNOTS: &[Knot] = &[
    Knot {
        room: "query",
        of: "exec",
        files: 48,
        because: "an operator opens its inputs, an expression runs plans, a plan has expressions: the tree is one type",
    },
    Knot {
        room: "planner",
        of: "bind/expr",
        files: 23,
        because: "an expression has queries and a query expressions; a query is optimized where it is bound",
    },
    Knot {
        room: "session",
        of: "run",
        files: 24,
        because: "a statement runs programs, and a program statements: procedures, strings, triggers, functions",
    },
    Knot {
        room: "inspect",
        of: "views/list",
        files: 13,
        because: "the views of objects, columns and rights have the list of views among their rows",
    },
    Knot {
        room: "sim",
        of: "crash/sql/life",
        files: 23,
        because: "a story is one program: what lives, what the model says of it, and what is asked at its end",
    },
];

/// A module by the names on the way to it.
type Module = Vec<String>;

/// What is wrong with a crate, a line each.
pub fn violations(room: &str, crate_dir: &Path) -> Vec<String> {
    let files = read(&crate_dir.join("src"));
    let circles = circles(&edges(&files));
    let knots: Vec<&Knot> = KNOTS.iter().filter(|k| k.room == room).collect();
    let mut wrong = Vec::new();
    for circle in circles.iter().filter(|c| c.len() > MOST) {
        let named = knots.iter().find(|k| circle.contains(&module(k.of)));
        match named {
            Some(k) if circle.len() == k.files => {}
            Some(k) => wrong.push(format!(
                "{room}: the circle of {} has {} files now, not {}",
                k.of,
                circle.len(),
                k.files
            )),
            None => {
                let all: Vec<String> = circle.iter().map(|m| m.join("/")).collect();
                wrong.push(format!(
                    "{room}: a circle of {} files: {}",
                    all.len(),
                    all.join(" ")
                ));
            }
        }
    }
    for k in knots {
        let stands = circles
            .iter()
            .any(|c| c.len() > MOST && c.contains(&module(k.of)));
        if !stands {
            wrong.push(format!(
                "{room}: {} is in no circle any more ({})",
                k.of, k.because
            ));
        }
    }
    wrong
}

fn module(path: &str) -> Module {
    path.split('/').map(str::to_owned).collect()
}

/// The modules of a crate that are no tests, with their tokens.
fn read(src: &Path) -> BTreeMap<Module, TokenStream> {
    let mut paths = Vec::new();
    collect(src, &mut paths);
    let mut files = BTreeMap::new();
    for path in paths {
        let Ok(name) = path.strip_prefix(src) else {
            continue;
        };
        let mut parts = module(&name.with_extension("").to_string_lossy().replace('\\', "/"));
        if parts
            .iter()
            .any(|p| ["test", "tests", "bin"].contains(&p.as_str()))
        {
            continue;
        }
        if parts
            .last()
            .is_some_and(|l| ["lib", "main", "mod"].contains(&l.as_str()))
        {
            parts.pop();
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        files.insert(parts, TokenStream::from_str(&text).unwrap_or_default());
    }
    files
}

/// What a module gives out of others: by name, where it comes from.
type Given = BTreeMap<String, Module>;

fn edges(files: &BTreeMap<Module, TokenStream>) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut given: BTreeMap<Module, Given> = BTreeMap::new();
    let mut used: BTreeMap<Module, Vec<Module>> = BTreeMap::new();
    for (module, tokens) in files {
        let mut out = Given::new();
        let mut paths = Vec::new();
        walk(tokens.clone(), &mut |path, is_given| match is_given {
            false => paths.extend(absolute(module, &path, files)),
            true => {
                if let (Some(at), Some(name)) = (absolute(module, &path, files), path.last()) {
                    out.insert(name.clone(), at);
                }
            }
        });
        given.insert(module.clone(), out);
        used.insert(module.clone(), paths);
    }
    let find = |path: &Module| resolve(path, files, &given, 0);
    let mut edges = BTreeMap::new();
    for (module, paths) in used {
        let to: BTreeSet<Module> = paths
            .iter()
            .filter_map(find)
            .filter(|m| *m != module)
            .collect();
        edges.insert(module, to);
    }
    edges
}

/// The path from the root of the crate; `None`: it leads elsewhere.
fn absolute(
    from: &Module,
    path: &[String],
    files: &BTreeMap<Module, TokenStream>,
) -> Option<Module> {
    let mut at = from.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|p| p == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        child => {
            let mut inner = at.clone();
            inner.push(child.to_owned());
            files.contains_key(&inner).then_some(())?;
        }
    }
    at.extend(rest.iter().cloned());
    Some(at)
}

/// The file in which the end of a path stands.
fn resolve(
    path: &Module,
    files: &BTreeMap<Module, TokenStream>,
    given: &BTreeMap<Module, Given>,
    depth: u32,
) -> Option<Module> {
    let at = (0..=path.len())
        .rev()
        .find(|n| files.contains_key(&path[..*n]))?;
    let (module, rest) = path.split_at(at);
    if let Some(name) = rest.first()
        && let Some(to) = given.get(module).and_then(|g| g.get(name))
        && depth < 4
    {
        let mut path = to.clone();
        path.extend(rest[1..].iter().cloned());
        return resolve(&path, files, given, depth + 1);
    }
    Some(module.to_vec())
}

/// Every path that begins with `crate`, `super` or `self`, and what `pub use` gives out; tests left out.
fn walk(tokens: TokenStream, found: &mut dyn FnMut(Vec<String>, bool)) {
    let all: Vec<TokenTree> = tokens.into_iter().collect();
    let is =
        |t: Option<&TokenTree>, word: &str| matches!(t, Some(TokenTree::Ident(i)) if i == word);
    let mut at = 0;
    while at < all.len() {
        if is_test(&all[at..]) {
            at += 2 + item_length(&all[at + 2..]);
            continue;
        }
        if is(all.get(at), "pub") {
            // The `super` of `pub(super)` is no path.
            at += match all.get(at + 1) {
                Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis => 2,
                _ => 1,
            };
            if is(all.get(at), "use") {
                paths(&all[at + 1..], &mut Vec::new(), &mut |p| found(p, true));
                at += all[at..].iter().position(is_semicolon).unwrap_or(0);
            }
            continue;
        }
        match all.get(at) {
            Some(TokenTree::Ident(i)) if ["crate", "super", "self"].iter().any(|w| i == w) => {
                at += paths(&all[at..], &mut Vec::new(), &mut |p| found(p, false));
            }
            Some(TokenTree::Group(g)) => {
                walk(g.stream(), found);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

fn is_semicolon(t: &TokenTree) -> bool {
    matches!(t, TokenTree::Punct(p) if p.as_char() == ';')
}

/// The paths that begin here, below `before`: `a::b`, `a::{b, c::d}`. How many tokens they are.
fn paths(
    tokens: &[TokenTree],
    before: &mut Vec<String>,
    found: &mut dyn FnMut(Vec<String>),
) -> usize {
    let known = before.len();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(i)) => {
                // `self` at the end of a path is the module before it.
                if at == 0 && known == 0 || i != "self" {
                    before.push(i.to_string());
                }
                at += 1;
            }
            Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = g.stream().into_iter().collect();
                let comma = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if p.as_char() == ',');
                for one in inside.split(comma) {
                    paths(one, before, found);
                }
                before.truncate(known);
                return at + 1;
            }
            _ => break,
        }
        let colons = matches!(
            (tokens.get(at), tokens.get(at + 1)),
            (Some(TokenTree::Punct(a)), Some(TokenTree::Punct(b))) if a.as_char() == ':' && b.as_char() == ':'
        );
        if !colons {
            break;
        }
        at += 2;
    }
    if before.len() > known || at > 0 {
        found(before.clone());
    }
    before.truncate(known);
    at.max(1)
}

/// Tarjan's strongly connected components.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    #[derive(Default)]
    struct Search {
        order: BTreeMap<Module, usize>,
        low: BTreeMap<Module, usize>,
        stack: Vec<Module>,
        found: Vec<BTreeSet<Module>>,
    }

    fn visit(at: &Module, edges: &BTreeMap<Module, BTreeSet<Module>>, s: &mut Search) {
        let number = s.order.len();
        s.order.insert(at.clone(), number);
        s.low.insert(at.clone(), number);
        s.stack.push(at.clone());
        for to in edges.get(at).into_iter().flatten() {
            let reached = match s.order.get(to) {
                None => {
                    visit(to, edges, s);
                    s.low[to]
                }
                Some(n) if s.stack.contains(to) => *n,
                Some(_) => continue,
            };
            if reached < s.low[at] {
                s.low.insert(at.clone(), reached);
            }
        }
        if s.low[at] == number {
            let from = s.stack.iter().rposition(|m| m == at).unwrap_or(0);
            s.found.push(s.stack.split_off(from).into_iter().collect());
        }
    }

    let mut search = Search::default();
    for module in edges.keys() {
        if !search.order.contains_key(module) {
            visit(module, edges, &mut search);
        }
    }
    search.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<usize> {
        let files = files.iter().map(|(name, text)| {
            let at = if name.is_empty() {
                Vec::new()
            } else {
                module(name)
            };
            (at, TokenStream::from_str(text).expect("Rust"))
        });
        let mut sizes: Vec<usize> = circles(&edges(&files.collect()))
            .iter()
            .map(BTreeSet::len)
            .collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn a_circle_is_found_through_groups_and_what_modules_give_out() {
        let straight = of(&[
            ("", "mod a; mod b;"),
            ("a", "use crate::b::X;"),
            ("b", "fn f() {}"),
        ]);
        assert_eq!(straight, [1, 1, 1]);
        let circle = of(&[
            ("", "mod a; mod b; mod c; pub use c::Y;"),
            ("a", "use super::{b::{self, X}, d};"),
            ("b", "fn f() -> crate::Y { todo!() }"),
            ("c", "macro! { crate::a::f(1) }"),
        ]);
        assert_eq!(circle, [1, 3]);
    }

    #[test]
    fn tests_and_what_is_given_out_are_no_edges() {
        let files = of(&[
            ("", "mod a; mod b;"),
            (
                "a",
                "pub use crate::b::X;\n#[cfg(test)] mod tests { use crate::b; }",
            ),
            ("b", "use crate::a::f;"),
        ]);
        assert_eq!(files, [1, 1, 1]);
    }
}
