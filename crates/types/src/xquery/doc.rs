//! A document as a tree: an arena in document order, attributes right behind their element.
//!
//! Made from the kept form of an xml value (`crate::xml`), which is well-formed; whatever is not is an error all the same,
//! as the text may come from a damaged page.

use std::fmt::Write as _;

use duramen_base::given_up;

/// A position in the arena: smaller comes earlier in the document.
pub type NodeId = u32;

/// A namespace (empty: none) and a name in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QName {
    pub uri: String,
    pub local: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    Root,
    Element(QName),
    /// Its value; the name of a namespace declaration has none of its own.
    Attribute(QName, String),
    Text(String),
    Comment(String),
    Instruction(String, String),
}

#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub parent: NodeId,
    /// The name as written, prefix and all.
    pub written: String,
    pub children: Vec<NodeId>,
    pub attributes: Vec<NodeId>,
    /// Declarations on this element: prefix (empty: default) and namespace.
    pub declared: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct Doc {
    pub nodes: Vec<Node>,
}

pub const ROOT: NodeId = 0;

/// Prefix and namespace in scope.
type Scope = Vec<(String, String)>;

struct Reader<'a> {
    rest: &'a str,
    nodes: Vec<Node>,
    scope: Scope,
}

fn node(kind: Kind, parent: NodeId, written: &str) -> Node {
    Node {
        kind,
        parent,
        written: written.to_owned(),
        children: Vec::new(),
        attributes: Vec::new(),
        declared: Vec::new(),
    }
}

/// Text with its references replaced.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let end = at + rest[at..].find(';')?;
        let name = &rest[at + 1..end];
        out.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let code = name.strip_prefix('#')?;
                let code = match code.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => code.parse().ok()?,
                };
                char::from_u32(code)?
            }
        });
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Some(out)
}

impl Reader<'_> {
    fn take(&mut self, n: usize) -> Option<&str> {
        let (head, rest) = (self.rest.get(..n)?, self.rest.get(n..)?);
        self.rest = rest;
        Some(head)
    }

    /// Up to `end`, which is passed over.
    fn until(&mut self, end: &str) -> Option<String> {
        let at = self.rest.find(end)?;
        let text = self.take(at)?.to_owned();
        self.take(end.len())?;
        Some(text)
    }

    fn add(&mut self, n: Node) -> NodeId {
        self.nodes.push(n);
        (self.nodes.len() - 1) as NodeId
    }

    fn resolved(&self, written: &str, attribute: bool) -> Option<QName> {
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        let uri = match prefix {
            "" if attribute => String::new(),
            "xml" => "http://www.w3.org/XML/1998/namespace".to_owned(),
            _ => {
                let found = self.scope.iter().rev().find(|(p, _)| p == prefix);
                match (found, prefix) {
                    (Some((_, uri)), _) => uri.clone(),
                    (None, "") => String::new(),
                    (None, _) => return None,
                }
            }
        };
        Some(QName {
            uri,
            local: local.to_owned(),
        })
    }

    /// The start tag behind its `<`: the element and whether it is empty.
    fn start_tag(&mut self, parent: NodeId) -> Option<(NodeId, bool)> {
        let end = self.rest.find([' ', '/', '>', '\n', '\t'])?;
        let written = self.take(end)?.to_owned();
        let mut attributes = Vec::new();
        let empty = loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("/>") {
                self.take(2)?;
                break true;
            }
            if self.rest.starts_with('>') {
                self.take(1)?;
                break false;
            }
            let name = self.until("=")?.trim().to_owned();
            self.rest = self.rest.trim_start();
            let quote = self.take(1)?.to_owned();
            if quote != "\"" && quote != "'" {
                return None;
            }
            let value = unescaped(&self.until(&quote)?)?;
            attributes.push((name, value));
        };
        let element = self.add(node(Kind::Root, parent, &written));
        self.nodes[parent as usize].children.push(element);
        for (name, value) in &attributes {
            let prefix = match name.as_str() {
                "xmlns" => Some(""),
                name => name.strip_prefix("xmlns:"),
            };
            if let Some(prefix) = prefix {
                let declared = (prefix.to_owned(), value.clone());
                self.scope.push(declared.clone());
                self.nodes[element as usize].declared.push(declared);
            }
        }
        self.nodes[element as usize].kind = Kind::Element(self.resolved(&written, false)?);
        for (name, value) in attributes {
            if name != "xmlns" && !name.starts_with("xmlns:") {
                let kind = Kind::Attribute(self.resolved(&name, true)?, value);
                let id = self.add(node(kind, element, &name));
                self.nodes[element as usize].attributes.push(id);
            }
        }
        Some((element, empty))
    }

    fn read(&mut self) -> Option<()> {
        let mut parent = ROOT;
        let mut steps = 0..;
        while !self.rest.is_empty() {
            given_up::after_step(steps.next()?).ok()?;
            let kind = if self.rest.starts_with("<!--") {
                self.take(4)?;
                Kind::Comment(self.until("-->")?)
            } else if self.rest.starts_with("<?") {
                self.take(2)?;
                let text = self.until("?>")?;
                let (target, data) = text.split_once(' ').unwrap_or((text.as_str(), ""));
                Kind::Instruction(target.to_owned(), data.to_owned())
            } else if self.rest.starts_with("</") {
                self.until(">")?;
                let declared = self.nodes[parent as usize].declared.len();
                self.scope.truncate(self.scope.len().checked_sub(declared)?);
                if parent == ROOT {
                    return None;
                }
                parent = self.nodes[parent as usize].parent;
                continue;
            } else if self.rest.starts_with('<') {
                self.take(1)?;
                let (element, empty) = self.start_tag(parent)?;
                match empty {
                    true => {
                        let declared = self.nodes[element as usize].declared.len();
                        self.scope.truncate(self.scope.len().checked_sub(declared)?);
                    }
                    false => parent = element,
                }
                continue;
            } else {
                let at = self.rest.find('<').unwrap_or(self.rest.len());
                Kind::Text(unescaped(self.take(at)?)?)
            };
            let id = self.add(node(kind, parent, ""));
            self.nodes[parent as usize].children.push(id);
        }
        (parent == ROOT).then_some(())
    }
}

impl Doc {
    /// `None` for a text that is not well-formed, or that nobody wants any more.
    pub fn parse(text: &str) -> Option<Doc> {
        let mut reader = Reader {
            rest: text,
            nodes: vec![node(Kind::Root, ROOT, "")],
            scope: Vec::new(),
        };
        reader.read()?;
        Some(Doc {
            nodes: reader.nodes,
        })
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The string value: its own text, or that of everything below.
    pub fn string(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.add_string(id, true, &mut out);
        out
    }

    fn add_string(&self, id: NodeId, own: bool, out: &mut String) {
        let n = self.node(id);
        match &n.kind {
            Kind::Text(t) | Kind::Attribute(_, t) => out.push_str(t),
            Kind::Comment(t) | Kind::Instruction(_, t) if own => out.push_str(t),
            Kind::Comment(_) | Kind::Instruction(..) => {}
            // As deep as documents may be nested.
            Kind::Root | Kind::Element(_) => {
                n.children
                    .iter()
                    .for_each(|c| self.add_string(*c, false, out));
            }
        }
    }

    /// Declarations in scope at a node, the innermost of a prefix counting.
    fn scope(&self, id: NodeId) -> Scope {
        let mut out: Scope = Vec::new();
        let mut at = id;
        loop {
            for (prefix, uri) in &self.node(at).declared {
                if !out.iter().any(|(p, _)| p == prefix) {
                    out.push((prefix.clone(), uri.clone()));
                }
            }
            if at == ROOT {
                return out;
            }
            at = self.node(at).parent;
        }
    }

    /// Whether a name with that prefix stands at a node or below.
    fn uses(&self, id: NodeId, prefix: &str) -> bool {
        let of = |w: &str| w.split_once(':').map_or("", |(p, _)| p) == prefix;
        let n = self.node(id);
        matches!(n.kind, Kind::Element(_)) && of(&n.written)
            || n.attributes.iter().any(|a| {
                let written = &self.node(*a).written;
                written.contains(':') && of(written)
            })
            || n.children.iter().any(|c| self.uses(*c, prefix))
    }

    /// A node as text that stands by itself.
    pub fn serialized(&self, id: NodeId) -> String {
        let mut out = String::new();
        let outer: Scope = match self.node(id).kind {
            Kind::Element(_) => {
                let own = &self.node(id).declared;
                let mut scope = self.scope(self.node(id).parent);
                scope.retain(|(p, uri)| {
                    !uri.is_empty() && !own.iter().any(|(o, _)| o == p) && self.uses(id, p)
                });
                scope
            }
            _ => Vec::new(),
        };
        self.write(id, &outer, &mut out);
        out
    }

    /// The start tag's inside, without its brackets.
    fn tag(&self, id: NodeId, extra: &Scope, out: &mut String) {
        let n = self.node(id);
        out.push_str(&n.written);
        for (prefix, uri) in extra.iter().chain(&n.declared) {
            let name = match prefix.as_str() {
                "" => "xmlns".to_owned(),
                p => format!("xmlns:{p}"),
            };
            let _ = write!(out, " {name}=\"{}\"", escaped(uri, true));
        }
        for a in &n.attributes {
            if let Kind::Attribute(_, value) = &self.node(*a).kind {
                let _ = write!(
                    out,
                    " {}=\"{}\"",
                    self.node(*a).written,
                    escaped(value, true)
                );
            }
        }
    }

    fn write(&self, id: NodeId, extra: &Scope, out: &mut String) {
        let n = self.node(id);
        match &n.kind {
            Kind::Root => n.children.iter().for_each(|c| self.write(*c, extra, out)),
            Kind::Element(_) => {
                out.push('<');
                self.tag(id, extra, out);
                if n.children.is_empty() {
                    out.push_str("/>");
                } else {
                    out.push('>');
                    n.children
                        .iter()
                        .for_each(|c| self.write(*c, &Vec::new(), out));
                    let _ = write!(out, "</{}>", n.written);
                }
            }
            Kind::Attribute(_, value) => out.push_str(&escaped(value, true)),
            Kind::Text(t) => out.push_str(&escaped(t, false)),
            Kind::Comment(t) => {
                let _ = write!(out, "<!--{t}-->");
            }
            Kind::Instruction(target, data) => {
                let _ = write!(out, "<?{target} {data}?>");
            }
        }
    }

    /// The node within what is above it, without anything beside it: the text, and the way to the node, which is the
    /// first child at each level.
    pub fn alone(&self, id: NodeId) -> (String, usize) {
        let mut above = Vec::new();
        let mut at = self.node(id).parent;
        while at != ROOT {
            above.push(at);
            at = self.node(at).parent;
        }
        let mut out = String::new();
        for a in above.iter().rev() {
            out.push('<');
            self.tag(*a, &Vec::new(), &mut out);
            out.push('>');
        }
        self.write(id, &Vec::new(), &mut out);
        for a in &above {
            let _ = write!(out, "</{}>", self.node(*a).written);
        }
        (out, above.len())
    }
}

pub fn escaped(text: &str, attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            '\r' => out.push_str("&#x0D;"),
            '\t' if attribute => out.push_str("&#x09;"),
            '\n' if attribute => out.push_str("&#x0A;"),
            c => out.push(c),
        }
    }
    out
}
