//! Scans and seeks as plans show them.

use duramen_columns::CompareOp;
use duramen_query::cost::Cost;
use duramen_query::estimate::{Estimate, estimate, looks_up, row_bytes};
use duramen_query::host::{Partitioning, ScanHint, Table, TableSource};
use duramen_query::plan::{Node, Reach, Seek, Side};
use duramen_query::{Expr, Kind, Plan};
use duramen_types::Value;

use super::element::{self, Element};
use super::{Tree, alias_of, column_names, object, text};

/// The columns and values at one side of what is sought; `word` is the schema's for the comparison.
fn range<'n>(
    name: &'static str,
    word: &str,
    columns: impl IntoIterator<Item = &'n String>,
    values: impl IntoIterator<Item = Element>,
) -> Element {
    Element::new(name)
        .with("ScanType", word)
        .child(element::columns("RangeColumns", columns))
        .child(Element::new("RangeExpressions").holding(values))
}

fn index_of(table: &dyn Table, path: usize) -> String {
    let name = table.paths().get(path).map_or("", |p| &p.name);
    format!("{}.[{name}]", object(table))
}

/// What is read of partitions: one of several ranges.
struct Partitions(Vec<Numbers>);

impl Partitions {
    fn text(&self) -> String {
        let texts: Vec<String> = self.0.iter().map(Numbers::text).collect();
        texts.join(" OR ")
    }

    fn keys(&self) -> impl Iterator<Item = Element> {
        self.0.iter().map(Numbers::keys)
    }
}

/// The numbers of the first and the last partition that are read, as they are written.
#[derive(PartialEq)]
struct Numbers {
    low: String,
    high: String,
}

impl Numbers {
    fn text(&self) -> String {
        let (low, high) = (&self.low, &self.high);
        match low == high {
            true => format!("[PtnId1000]={low}"),
            false => format!("[PtnId1000] >= {low} AND [PtnId1000] <= {high}"),
        }
    }

    fn keys(&self) -> Element {
        let value = |text: &String| {
            let inner = match text.strip_prefix('(') {
                Some(_) => Element::new("Const").with("ConstValue", text),
                None => Element::new("Intrinsic").with("FunctionName", "RangePartitionNew"),
            };
            Element::new("ScalarOperator")
                .with("ScalarString", text)
                .child(inner)
        };
        let column = ["[PtnId1000]".to_owned()];
        let side = |name, word, text| range(name, word, &column, [value(text)]);
        let keys = Element::new("SeekKeys");
        match self.low == self.high {
            true => keys.child(side("Prefix", "EQ", &self.low)),
            false => keys
                .child(side("StartRange", "GE", &self.low))
                .child(side("EndRange", "LE", &self.high)),
        }
    }
}

/// The keys of a seek in their element; nothing where all is read.
fn seek_predicates(keys: Vec<Element>) -> Option<Element> {
    let new = Element::new("SeekPredicateNew");
    let all = |keys: Vec<Element>| Element::new("SeekPredicates").child(new.holding(keys));
    (!keys.is_empty()).then(|| all(keys))
}

impl Tree<'_> {
    /// A scan with the rest of the condition above it, and what is expected behind that.
    #[expect(
        clippy::too_many_lines,
        reason = "the properties of one operator in their order"
    )]
    pub(super) fn scan(
        &mut self,
        plan: &Plan,
        source: &TableSource,
        seek: Option<&Seek>,
        above: Option<(&[&Expr], Estimate)>,
        (parent, times): (Option<usize>, f64),
    ) -> Vec<String> {
        let table = &*source.def;
        let own = column_names(source, plan.columns.len());
        let rows = estimate(plan);
        let shown = above.as_ref().map_or(rows, |(_, e)| Estimate {
            rows: e.rows,
            cost: e.cost,
            ..rows
        });
        let alias = alias_of(source).map_or(String::new(), |a| format!(" AS [{a}]"));
        let predicate = above
            .as_ref()
            .map(|(parts, _)| self.conditions("Predicate", parts, &own));
        let filter = above.map_or(String::new(), |(parts, _)| {
            format!(", WHERE:({})", self.condition(parts, &own))
        });
        let clustered = table.paths().iter().position(|p| p.covers_all);
        let reach = match &plan.node {
            Node::Scan { reach, .. } => reach.as_deref(),
            _ => None,
        };
        let read = table.partitioning(seek.map(|s| s.index));
        let read = read.map(|p| self.partitions(p, reach.filter(|r| r.column == p.column)));
        let mut keys: Vec<Element> = read.iter().flat_map(Partitions::keys).collect();
        let read = read.map(|p| p.text());
        let Some(seek) = seek else {
            let (name, object) = match clustered {
                Some(i) => ("Clustered Index Scan", index_of(table, i)),
                None => ("Table Scan", object(table)),
            };
            let at = self.line(parent, name, name, (shown, times));
            let read = read.map_or(String::new(), |p| format!(", SEEK:({p})"));
            self.fill(at, format!("OBJECT:({object}{alias}){read}{filter}"), &own);
            self.reading(at, source, (clustered, rows.rows), &own);
            if clustered.is_none() && !keys.is_empty() {
                // A table scan has no place for what is sought: *assumed* that one of partitions stands as an index scan.
                self.lines[at].shape.element.name = "IndexScan";
            }
            self.set(at, "Ordered", 0);
            self.forced(at, source);
            self.add(at, seek_predicates(keys));
            self.add(at, predicate);
            return own;
        };
        let path = &table.paths()[seek.index];
        let sought = !seek.equal.is_empty() || seek.lower.is_some() || seek.upper.is_some();
        let way = if seek.backward { "BACKWARD" } else { "FORWARD" };
        let object = format!("OBJECT:({}{alias})", index_of(table, seek.index));
        let sides = sought.then(|| self.sought(table, seek, &own));
        keys.extend(sought.then(|| self.sought_keys(table, seek, &own)));
        let read = read.map(|r| {
            if r.contains(" OR ") {
                format!("({r})")
            } else {
                r
            }
        });
        let sides: Vec<String> = read.into_iter().chain(sides).collect();
        let sides = match sides.is_empty() {
            false => format!(", SEEK:({})", sides.join(" AND ")),
            true => String::new(),
        };
        let name = match (path.covers_all, sought) {
            (true, true) => "Clustered Index Seek",
            (true, false) => "Clustered Index Scan",
            (false, true) => "Index Seek",
            (false, false) => "Index Scan",
        };
        if !looks_up(table, Some(seek)) {
            let at = self.line(parent, name, name, (shown, times));
            let argument = format!("{object}{sides}{filter} ORDERED {way}");
            self.fill(at, argument, &own);
            self.reading(at, source, (Some(seek.index), rows.rows), &own);
            self.set(at, "Ordered", 1);
            self.set(at, "ScanDirection", way);
            self.forced(at, source);
            self.add(at, seek_predicates(keys));
            self.add(at, predicate);
            return own;
        }
        // Entries of the index, each found again in the table.
        let top = self.line(parent, "Nested Loops", "Inner Join", (shown, times));
        let index = Estimate {
            cost: rows.own.total(),
            ..rows
        };
        let at = self.line(Some(top), name, name, (index, times));
        let locator: Vec<String> = match clustered {
            Some(i) => {
                let keys = table.paths()[i].keys.iter();
                keys.map(|(c, _)| own[*c].clone()).collect()
            }
            None => vec!["[Bmk1000]".to_owned()],
        };
        self.fill(at, format!("{object}{sides} ORDERED {way}"), &locator);
        self.reading(at, source, (Some(seek.index), rows.rows), &locator);
        self.set(at, "Ordered", 1);
        self.set(at, "ScanDirection", way);
        self.forced(at, source);
        self.add(at, seek_predicates(keys));
        let equal: Vec<String> = locator.iter().map(|l| format!("{l}={l}")).collect();
        let cost = duramen_query::cost::lookups(rows.rows);
        let one = Estimate {
            rows: 1.0,
            own: Cost {
                io: duramen_query::cost::RANDOM_PAGE,
                cpu: duramen_query::cost::FIRST_ROW,
            },
            cost: cost.total(),
            bytes: row_bytes(&plan.columns),
        };
        let (name, object) = match clustered {
            Some(i) => ("Clustered Index Seek", index_of(table, i)),
            None => ("RID Lookup", self::object(table)),
        };
        let lookup = self.line(Some(top), name, name, (one, times * rows.rows));
        let equal = equal.join(", ");
        let argument =
            format!("OBJECT:({object}{alias}), SEEK:({equal}){filter} LOOKUP ORDERED FORWARD");
        self.fill(lookup, argument, &own);
        self.reading(lookup, source, (clustered, 1.0), &own);
        self.set(lookup, "Lookup", 1);
        self.set(lookup, "Ordered", 1);
        self.set(lookup, "ScanDirection", "FORWARD");
        let values = locator.iter().map(|l| element::named(l));
        let keys = Element::new("SeekKeys").child(range("Prefix", "EQ", &locator, values));
        self.add(lookup, seek_predicates(vec![keys]));
        self.add(lookup, predicate);
        self.lines[top].io = 0.0;
        self.lines[top].cpu = rows.rows * 0.000_004_18;
        let outer = format!("OUTER REFERENCES:({})", locator.join(", "));
        self.fill(top, outer, &own);
        self.add(top, [element::columns("OuterReferences", &locator)]);
        own
    }

    /// What a line reads: its columns, the table, how many rows that has and how many of them are looked at.
    fn reading(
        &mut self,
        at: usize,
        source: &TableSource,
        (path, rows): (Option<usize>, f64),
        own: &[String],
    ) {
        let table = &*source.def;
        let path = path.and_then(|i| table.paths().get(i));
        let kind = match path {
            Some(p) if p.covers_all => "Clustered",
            Some(_) => "NonClustered",
            None => "Heap",
        };
        let index = path.map(|p| p.name.as_str());
        let object = element::object(&object(table), index, alias_of(source), kind);
        let given = own.iter().map(|c| (c.clone(), None));
        self.add(at, [element::defined(given), object]);
        let attributes = &mut self.lines[at].shape.attributes;
        attributes.push(("EstimatedRowsRead", super::xml::number(rows).to_string()));
        attributes.push(("TableCardinality", table.size().rows.to_string()));
        if table.partitioning(None).is_some() {
            attributes.push(("Partitioned", "1".to_owned()));
        }
    }

    /// What the table's hints ask for.
    fn forced(&mut self, at: usize, source: &TableSource) {
        let index = matches!(source.hint, ScanHint::Whole | ScanHint::Index(_));
        let scans_table = self.lines[at].shape.element.name == "TableScan";
        self.set(at, "ForcedIndex", u8::from(index));
        if !scans_table {
            self.set(at, "ForceSeek", u8::from(source.hint == ScanHint::Seek));
        }
        self.set(at, "ForceScan", u8::from(source.hint == ScanHint::Scan));
        self.set(at, "NoExpandHint", 0);
        self.set(at, "Storage", "RowStore");
    }

    /// The partitions that are read: `[PtnId1000]=(2)`, `[PtnId1000] >= (1) AND [PtnId1000] <= (3)`. What is known only
    /// when it runs is shown as the function that tells it.
    fn partitions(&self, of: &Partitioning, reach: Option<&Reach>) -> Partitions {
        let names = self.names(&[]);
        let number = |e: &Expr| match &e.kind {
            Kind::Const(v) => format!("({})", of.number(v)),
            _ => {
                let constant = |v: &Value| names.expr(&Expr::constant(v.clone(), of.ty));
                let boundaries = of.boundaries.iter().map(constant);
                let boundaries: Vec<String> = boundaries.collect();
                let right = u8::from(of.right);
                let shown = names.expr(e);
                format!(
                    "RangePartitionNew({shown},({right}),{})",
                    boundaries.join(",")
                )
            }
        };
        let last = format!("({})", of.boundaries.len() + 1);
        let numbers = |low: &Option<Side>, high: &Option<Side>| {
            let shown = |side: &Option<Side>| side.as_ref().map(|(e, _)| number(e));
            Numbers {
                low: shown(low).unwrap_or("(1)".to_owned()),
                high: shown(high).unwrap_or_else(|| last.clone()),
            }
        };
        let Some(r) = reach else {
            return Partitions(vec![numbers(&None, &None)]);
        };
        let mut out: Vec<Numbers> = Vec::new();
        for (low, high) in &r.any {
            let one = numbers(low, high);
            if !out.contains(&one) {
                out.push(one);
            }
        }
        if out.is_empty() {
            out.push(numbers(&r.lower, &r.upper));
        }
        Partitions(out)
    }

    /// `[t].[a]=(1) AND [t].[b] > (2)`
    fn sought(&self, table: &dyn Table, seek: &Seek, own: &[String]) -> String {
        let names = self.names(&[]);
        let keys = &table.paths()[seek.index].keys;
        let mut parts = Vec::new();
        for (e, (column, _)) in seek.equal.iter().zip(keys) {
            parts.push(format!("{}={}", own[*column], names.expr(e)));
        }
        if let Some((column, _)) = keys.get(seek.equal.len()) {
            let mut side = |bound: &Option<(Expr, bool)>, inclusive, without| {
                if let Some((e, whole)) = bound {
                    let sign = text::compare_sign(if *whole { inclusive } else { without });
                    let e = crate::optimize::like::shown(e);
                    parts.push(format!("{} {sign} {}", own[*column], names.expr(&e)));
                }
            };
            side(&seek.lower, CompareOp::Ge, CompareOp::Gt);
            side(&seek.upper, CompareOp::Le, CompareOp::Lt);
        }
        parts.join(" AND ")
    }

    /// The same as `SeekKeys`.
    fn sought_keys(&self, table: &dyn Table, seek: &Seek, own: &[String]) -> Element {
        let names = self.names(&[]);
        let keys = &table.paths()[seek.index].keys;
        let mut element = Element::new("SeekKeys");
        if !seek.equal.is_empty() {
            let columns = seek.equal.iter().zip(keys).map(|(_, (c, _))| &own[*c]);
            let values = seek.equal.iter().map(|e| names.scalar(e));
            element = element.child(range("Prefix", "EQ", columns, values));
        }
        if let Some((column, _)) = keys.get(seek.equal.len()) {
            let side = |name, bound: &Option<(Expr, bool)>, inclusive, without| {
                let (e, whole) = bound.as_ref()?;
                let word = super::scalar::compare_word(if *whole { inclusive } else { without });
                let e = crate::optimize::like::shown(e);
                Some(range(name, word, [&own[*column]], [names.scalar(&e)]))
            };
            let lower = side("StartRange", &seek.lower, CompareOp::Ge, CompareOp::Gt);
            let upper = side("EndRange", &seek.upper, CompareOp::Le, CompareOp::Lt);
            element = element.holding(lower).holding(upper);
        }
        element
    }
}
