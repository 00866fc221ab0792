//! Elements of a plan as XML, and those that name columns and objects.
//!
//! Names come as the lines of a plan write them (`[db].[dbo].[t].[a]`) and are taken apart here, so that both forms of a
//! plan say the same. What is no such name, as the expression of a group, stands in `Column` as it is.

use std::fmt::Display;

use duramen_base::given_up::is_given_up;

/// An element; attributes and children stand in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub struct Element {
    pub(super) name: &'static str,
    attributes: Vec<(&'static str, String)>,
    pub(super) children: Vec<Element>,
}

impl Element {
    pub fn new(name: &'static str) -> Element {
        Element {
            name,
            ..Element::default()
        }
    }

    pub fn with(mut self, name: &'static str, value: impl Display) -> Element {
        self.set(name, value);
        self
    }

    pub fn set(&mut self, name: &'static str, value: impl Display) {
        self.attributes.push((name, value.to_string()));
    }

    pub fn child(mut self, child: Element) -> Element {
        self.children.push(child);
        self
    }

    /// Of a plan that nobody wants any more not all is shown: nobody looks.
    pub fn holding(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        let wanted = children.into_iter().take_while(|_| !is_given_up());
        self.children.extend(wanted);
        self
    }

    /// What the attributes of every `Object` below say.
    pub(super) fn each_object(&self, f: &mut dyn FnMut(&str)) {
        if self.name == "Object" {
            self.attributes.iter().for_each(|(_, value)| f(value));
        }
        self.children.iter().for_each(|c| c.each_object(f));
    }

    /// Appends its text. Characters that XML has no place for become `?`.
    pub fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            value.chars().for_each(|c| escape(c, out));
            out.push('"');
        }
        if self.children.is_empty() {
            out.push_str("/>");
            return;
        }
        out.push('>');
        self.children.iter().for_each(|c| c.write(out));
        out.push_str("</");
        out.push_str(self.name);
        out.push('>');
    }
}

/// What a line of a plan says as XML, besides its figures.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// The operator's own element, without its inputs.
    pub element: Element,
    /// The columns that it gives out.
    pub columns: Vec<String>,
    /// Further attributes of its `RelOp`.
    pub attributes: Vec<(&'static str, String)>,
}

impl Shape {
    /// That of an operator by its physical name, with the attributes that the schema wants of it.
    pub fn of(physical: &str) -> Shape {
        let element = match physical {
            "Nested Loops" => Element::new("NestedLoops").with("Optimized", 0),
            "Hash Match" => Element::new("Hash"),
            "Merge Join" => Element::new("Merge"),
            "Parallelism" => Element::new("Parallelism"),
            "Constant Scan" => Element::new("ConstantScan"),
            "Table-valued function" => Element::new("TableValuedFunction"),
            "Filter" => Element::new("Filter").with("StartupExpression", 0),
            "Compute Scalar" => Element::new("ComputeScalar"),
            "Stream Aggregate" => Element::new("StreamAggregate"),
            "Window Aggregate" => Element::new("WindowAggregate"),
            "Concatenation" => Element::new("Concat"),
            "Table Spool" => Element::new("Spool"),
            "Sort" => Element::new("Sort").with("Distinct", 0),
            "Top" => Element::new("Top"),
            "Table Scan" => Element::new("TableScan"),
            p if p.ends_with("Insert") || p.ends_with("Update") || p.ends_with("Delete") => {
                Element::new("Update")
            }
            _ => Element::new("IndexScan"),
        };
        Shape {
            element,
            ..Shape::default()
        }
    }
}

fn escape(c: char, out: &mut String) {
    match c {
        '"' => out.push_str("&quot;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '&' => out.push_str("&amp;"),
        '\t' => out.push_str("&#x09;"),
        '\n' => out.push_str("&#x0A;"),
        '\r' => out.push_str("&#x0D;"),
        c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
        c => out.push(c),
    }
}

/// The parts of `[a].[b]`, without their brackets; none of them has one within.
fn parts(name: &str) -> Option<Vec<&str>> {
    let inner = name.strip_prefix('[')?.strip_suffix(']')?;
    let parts: Vec<&str> = inner.split("].[").collect();
    let plain = parts.iter().all(|p| !p.contains(['[', ']']));
    (plain && parts.len() <= 4).then_some(parts)
}

/// Sets `Database`, `Schema` and `Table` to the last parts of a table's name.
fn placed(mut element: Element, table: &[&str]) -> Element {
    let first = 3 - table.len().min(3);
    for (&name, part) in ["Database", "Schema", "Table"][first..].iter().zip(table) {
        element.set(name, format_args!("[{part}]"));
    }
    element
}

/// `[db].[dbo].[t].[a] as [x].[a]`, `@t.[a]`, `[Expr1001]`, or an expression.
pub fn column(name: &str) -> Element {
    let mut element = Element::new("ColumnReference");
    let (full, alias) = match name.split_once("] as [") {
        Some((before, rest)) => (
            &name[..before.len() + 1],
            rest.split_once("].[").map(|(a, _)| a),
        ),
        None => (name, None),
    };
    if full.starts_with('@')
        && let Some((table, column)) = full.split_once(".[")
        && let Some(column) = column.strip_suffix(']')
        && !column.contains(['[', ']'])
    {
        element.set("Table", table);
        if let Some(alias) = alias {
            element.set("Alias", format_args!("[{alias}]"));
        }
        return element.with("Column", column);
    }
    match parts(full).as_deref() {
        Some([table @ .., column]) => {
            element = placed(element, table);
            if let Some(alias) = alias {
                element.set("Alias", format_args!("[{alias}]"));
            }
            element.with("Column", column)
        }
        _ => element.with("Column", name),
    }
}

/// A list of columns as an element of that name.
pub fn columns<'n>(element: &'static str, names: impl IntoIterator<Item = &'n String>) -> Element {
    Element::new(element).holding(names.into_iter().map(|n| column(n)))
}

/// A table, by `[db].[dbo].[t]` or `@t`, and an index of it.
pub fn object(table: &str, index: Option<&str>, alias: Option<&str>, kind: &str) -> Element {
    let mut element = Element::new("Object");
    element = match parts(table) {
        Some(parts) => placed(element, &parts),
        None => element.with("Table", table),
    };
    if let Some(index) = index {
        element.set("Index", format_args!("[{index}]"));
    }
    if let Some(alias) = alias {
        element.set("Alias", format_args!("[{alias}]"));
    }
    if !kind.is_empty() {
        element.set("IndexKind", kind);
        element.set("Storage", "RowStore");
    }
    element
}

/// An expression that is only a name.
pub fn named(name: &str) -> Element {
    let identifier = Element::new("Identifier").child(column(name));
    Element::new("ScalarOperator")
        .with("ScalarString", name)
        .child(identifier)
}

/// What an operator computes: names, and where they are known the expressions.
pub fn defined(values: impl IntoIterator<Item = (String, Option<Element>)>) -> Element {
    let value = |(name, scalar): (String, Option<Element>)| {
        Element::new("DefinedValue")
            .child(column(&name))
            .holding(scalar)
    };
    Element::new("DefinedValues").holding(values.into_iter().map(value))
}
