//! XQuery over xml values: `value()`, `query()`, `exist()` and `nodes()`.
//!
//! What is there: paths with the axes child, descendant, attribute, parent and self, predicates, comparisons, arithmetic,
//! `if`, the functions that shredding takes, namespaces of a prolog, `sql:variable` and `sql:column`. What is not (FLWOR,
//! constructors, types of expressions) is refused by name.
//!
//! A row of `nodes()` is a value that says where in which document it is:
//!
//! ```text
//!  U+FFFF  F|S  0.3.2[@n]  U+FFFF  document
//! ```
//! U+FFFF stands in no document. `F` has the document whole, the numbers being children to go to, `@n` an attribute; `S` has
//! the node alone within the start tags above it, so that a document of many megabytes is not copied for each of its
//! nodes: what would stand beside it is not known there, and asking for it is an error, never an empty answer.

pub mod binary;
mod doc;
mod eval;
mod parse;
mod tree;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, given_up, messages};

pub use self::eval::{Item, shown};
pub use self::parse::parse;
pub use self::tree::{Outside, Query};

use self::doc::{Doc, Kind, NodeId, ROOT};
use self::eval::Eval;

const MARK: u16 = 0xffff;
/// A longer document is not repeated in each of its nodes.
const WHOLE_LIMIT: usize = 8 << 10;
/// Documents that a thread remembers: the methods of a row ask for the same one.
const REMEMBERED: usize = 4;
/// The tree of a longer text is a large one: remembered until [`forget_large`].
const LARGE: usize = 1 << 14;

/// A document and how much of it is there.
#[derive(Debug)]
pub struct Tree {
    pub doc: Doc,
    /// The node that is there with all below it; what is above it has nothing else.
    only: Option<NodeId>,
}

impl Tree {
    /// Whether a node is above the only one that is there.
    fn lacks_children(&self, id: NodeId) -> bool {
        let Some(only) = self.only else { return false };
        let mut at = only;
        while at != ROOT {
            at = self.doc.node(at).parent;
            if at == id {
                return true;
            }
        }
        false
    }
}

/// An xml value, and the node in it that a query begins from.
pub struct Xml {
    tree: Arc<Tree>,
    context: NodeId,
}

type Remembered = Vec<(Vec<u16>, Arc<Tree>)>;

thread_local! {
    static TREES: RefCell<Remembered> = const { RefCell::new(Vec::new()) };
    static HAS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// At the end of a request: the large values that its thread has looked at are remembered no longer.
pub fn forget_large() {
    if HAS_LARGE.replace(false) {
        TREES.with(|t| t.borrow_mut().retain(|(text, _)| text.len() <= LARGE));
    }
}

fn broken() -> SqlError {
    SqlError::new(&messages::XML_UNEXPECTED_END, &[&1, &1])
}

fn tree(text: &[u16], only: Option<usize>) -> SqlResult<Arc<Tree>> {
    let known = TREES.with(|t| {
        let mut trees = t.borrow_mut();
        let at = trees
            .iter()
            .position(|(key, tree)| key == text && tree.only.is_some() == only.is_some())?;
        // The one used last is at the end.
        let entry = trees.remove(at);
        let tree = entry.1.clone();
        trees.push(entry);
        Some(tree)
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let doc = Doc::parse(&String::from_utf16_lossy(text));
    let doc = doc.ok_or_else(|| match given_up::is_given_up() {
        true => SqlError::given_up(),
        false => broken(),
    })?;
    let only = match only {
        Some(depth) => {
            let mut at = ROOT;
            for _ in 0..=depth {
                at = *doc.node(at).children.first().ok_or_else(broken)?;
            }
            Some(at)
        }
        None => None,
    };
    let made = Arc::new(Tree { doc, only });
    TREES.with(|t| {
        let mut trees = t.borrow_mut();
        if text.len() > LARGE {
            HAS_LARGE.set(true);
        }
        if trees.len() >= REMEMBERED {
            trees.remove(0);
        }
        trees.push((text.to_vec(), made.clone()));
    });
    Ok(made)
}

/// Whether a value is a row of `nodes()`.
pub fn is_node(value: &[u16]) -> bool {
    value.first() == Some(&MARK)
}

impl Xml {
    /// An xml value or a row of `nodes()`.
    pub fn open(value: &[u16]) -> SqlResult<Xml> {
        if !is_node(value) {
            return Ok(Xml {
                tree: tree(value, None)?,
                context: ROOT,
            });
        }
        let end = value[1..]
            .iter()
            .position(|u| *u == MARK)
            .ok_or_else(broken)?
            + 1;
        let (head, text) = (String::from_utf16_lossy(&value[1..end]), &value[end + 1..]);
        let (kind, path) = (head.chars().next(), head.get(1..).unwrap_or(""));
        let (path, attribute) = match path.split_once('@') {
            Some((path, n)) => (path, n.parse::<usize>().ok()),
            None => (path, None),
        };
        let steps: Vec<usize> = path.split('.').filter_map(|n| n.parse().ok()).collect();
        let only = (kind == Some('S')).then(|| steps.len().saturating_sub(1));
        let tree = tree(text, only)?;
        let mut context = ROOT;
        for n in &steps {
            context = *tree.doc.node(context).children.get(*n).ok_or_else(broken)?;
        }
        if let Some(n) = attribute {
            context = *tree
                .doc
                .node(context)
                .attributes
                .get(n)
                .ok_or_else(broken)?;
        }
        Ok(Xml { tree, context })
    }

    fn items(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<Vec<Item>> {
        let eval = Eval {
            tree: &self.tree,
            given,
        };
        eval.run(&query.body, self.context)
    }

    /// The text of what comes out first; `None` for nothing.
    pub fn value(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<Option<String>> {
        let eval = Eval {
            tree: &self.tree,
            given,
        };
        let items = self.items(query, given)?;
        Ok(items.first().map(|i| shown(&eval.atom(i))))
    }

    /// The bytes of what comes out first: text is base64, unless it says otherwise. `None` for nothing, and for a text that
    /// is no base64 (*assumed*: NULL, as of a cast of XQuery that fails).
    pub fn bytes(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<Option<Vec<u8>>> {
        let eval = Eval {
            tree: &self.tree,
            given,
        };
        let items = self.items(query, given)?;
        Ok(items.first().and_then(|i| match eval.atom(i) {
            Item::Binary(bytes, _) => Some(bytes),
            other => binary::from_base64(&shown(&other)),
        }))
    }

    pub fn exist(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<bool> {
        Ok(!self.items(query, given)?.is_empty())
    }

    /// Nodes as they stand, values with blanks between them.
    pub fn query(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<String> {
        let mut out = String::new();
        let mut after_value = false;
        for (step, item) in self.items(query, given)?.into_iter().enumerate() {
            given_up::after_step(step)?;
            match &item {
                Item::Node(id) if matches!(self.tree.doc.node(*id).kind, Kind::Attribute(..)) => {
                    let start = "XQuery [query()]: ";
                    return Err(SqlError::new(&messages::XQUERY_LONE_ATTRIBUTE, &[&start]));
                }
                Item::Node(id) => {
                    out += &self.tree.doc.serialized(*id);
                    after_value = false;
                }
                value => {
                    if after_value {
                        out.push(' ');
                    }
                    out += &doc::escaped(&shown(value), false);
                    after_value = true;
                }
            }
        }
        Ok(out)
    }

    /// The rows of `nodes()`.
    pub fn nodes(&self, query: &Query, given: &[Option<Item>]) -> SqlResult<Vec<Vec<u16>>> {
        let doc = &self.tree.doc;
        let whole = match self.tree.only {
            None => Some(doc.serialized(ROOT)).filter(|t| t.len() <= WHOLE_LIMIT),
            Some(_) => None,
        };
        let mut rows = Vec::new();
        for (step, item) in self.items(query, given)?.into_iter().enumerate() {
            given_up::after_step(step)?;
            let Item::Node(id) = item else {
                let what = "XQuery: nodes() of values";
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            };
            let (element, attribute) = match doc.node(id).kind {
                Kind::Attribute(..) => {
                    let parent = doc.node(id).parent;
                    let at = doc.node(parent).attributes.iter().position(|a| *a == id);
                    (parent, at)
                }
                _ => (id, None),
            };
            let (kind, path, text) = match &whole {
                Some(text) => ('F', self.way(element), text.clone()),
                None => {
                    let (text, depth) = doc.alone(element);
                    ('S', vec![0; depth + 1], text)
                }
            };
            let path: Vec<String> = path.iter().map(usize::to_string).collect();
            let attribute = attribute.map_or(String::new(), |n| format!("@{n}"));
            let mut row = vec![MARK];
            row.extend(format!("{kind}{}{attribute}", path.join(".")).encode_utf16());
            row.push(MARK);
            row.extend(text.encode_utf16());
            rows.push(row);
        }
        Ok(rows)
    }

    /// The children to go to from the root.
    fn way(&self, id: NodeId) -> Vec<usize> {
        let doc = &self.tree.doc;
        let mut out = Vec::new();
        let mut at = id;
        while at != ROOT {
            let parent = doc.node(at).parent;
            let n = doc.node(parent).children.iter().position(|c| *c == at);
            out.push(n.unwrap_or(0));
            at = parent;
        }
        out.reverse();
        out
    }
}

#[cfg(test)]
mod tests;
