//! What the catalog says of rowsets, read off its pages: nothing is opened, so damage elsewhere is no hindrance.
//!
//! `sysrscols` says where each column of a rowset stands, of what type it is and which place it has in the order;
//! `sysiscols` which columns of the table an index has. Leaf chains are followed from the first page. Where a page of
//! them cannot be read, what hangs on it is not known and not checked; that it cannot be read is found elsewhere.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use duramen_base::messages::{self};
use duramen_base::{AllocUnitId, ObjectId, PageId, RowsetId};
use duramen_format::RowRef;
use duramen_format::foreign::{self, base_rowset_id};
use duramen_format::layout::{ColumnLayout, RowKind, RowLayout};
use duramen_format::values::decode_row;
use duramen_storage::{KeyColumn, KeyInfo, RowsetDef, RowsetKind};
use duramen_types::{CollationId, SqlType, TypeId, Value};

use super::finding::{Finding, Whose};
use super::source::DataFile;
use super::units::{Unit, leaf_rows};

/// Where a column of an index's rows comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A position in the layout of the data rows.
    Column(usize),
    Rid,
}

/// An index over a rowset of data.
#[derive(Clone, Debug)]
pub(super) struct Over {
    /// The index's positions in [`Schema::shapes`]: one, or all its partitions.
    pub indexes: Vec<usize>,
    pub sources: Vec<Source>,
    /// All rows of the table together have the entries of all of `indexes`: the index has other partitions than the
    /// table, or only one of them has any.
    pub whole: bool,
}

/// A rowset.
#[derive(Debug)]
pub(super) struct Shape {
    pub object: i32,
    pub index: i32,
    /// Number of its partition, from 1.
    pub number: i32,
    pub rowset: i64,
    pub unit: AllocUnitId,
    pub lob: Option<AllocUnitId>,
    pub root: PageId,
    /// Of the heap, or of the index.
    pub name: String,
    pub def: RowsetDef,
    pub keys: KeyInfo,
    /// Rows may be read: every column has a place and a type.
    pub known: bool,
    /// Names of the layout's columns.
    pub columns: Vec<String>,
    /// Indexes that have an entry of each of its rows.
    pub over: Vec<Over>,
    /// Filegroup of its in-row unit.
    pub filegroup: i16,
    /// Positions of the row's name in an index's rows.
    pub locator: Vec<usize>,
}

impl Shape {
    pub fn is_heap(&self) -> bool {
        self.index == 0
    }

    pub fn is_index(&self) -> bool {
        self.index > 1
    }
}

#[derive(Debug, Default)]
pub(super) struct Schema {
    /// The number of the database in the boot page.
    pub database: u16,
    pub shapes: Vec<Shape>,
    /// Position in `shapes`, and the unit's type.
    units: BTreeMap<AllocUnitId, (usize, u8)>,
    pub names: BTreeMap<i32, String>,
    /// Objects that are tables, with their schema.
    pub tables: BTreeMap<i32, i32>,
    /// Rows of views that name an object which is not there: view, row, object.
    pub orphans: Vec<(&'static str, String, i32)>,
    /// Objects in a schema that is not there.
    pub without_schema: Vec<(i32, i32)>,
}

/// By object and index: data space, and the column that decides the partition.
type Spaces = BTreeMap<(i32, i32), (i32, i32)>;

/// By object and index: place, status and column id of `sysiscols`.
type IndexColumns = BTreeMap<(i32, i32), Vec<(i64, i64, i32)>>;

fn int(v: &Value) -> i64 {
    v.as_i64().unwrap_or(0)
}

/// The type that `sysrscols.ti` and `cid` tell.
fn type_of(ti: i64, cid: i64) -> Option<SqlType> {
    let id = TypeId::from_xtype(ti as u8)?;
    let (low, high) = ((ti >> 8) as u8, (ti >> 16) as u8);
    let whole = (ti >> 8) as u16;
    let ty = match id {
        TypeId::Decimal | TypeId::Numeric => SqlType {
            id,
            ..SqlType::numeric(low, high)
        },
        TypeId::Time => SqlType::time(low),
        TypeId::DateTime2 => SqlType::datetime2(low),
        TypeId::DateTimeOffset => SqlType::datetimeoffset(low),
        _ if id.is_string() || id.is_binary() => {
            SqlType::from_catalog(ti as u8, whole as i16, 0, 0, cid as u32)?
        }
        // The row has the pointer, or the value, in its variable part.
        TypeId::Udt => return None,
        // No facets: the widest is the only one.
        _ => SqlType::widest(id),
    };
    Some(ty.with_collation(CollationId(cid as u32)))
}

struct Placed {
    position: usize,
    column: i32,
    ty: Option<SqlType>,
    ordkey: i64,
    layout: ColumnLayout,
}

/// `sysrscols.status`.
const NOT_NULL: i64 = 0x80;
const UNIQUIFIER: i64 = 0x10;

/// `sysidxstats.status` and `sysiscols.status`.
const IS_INDEX: i64 = 1;
const UNIQUE: i64 = 8;
const DISABLED: i64 = 128;
const KEY: i64 = 3;
const DESC: i64 = 4;
const INCLUDED: i64 = 18;
/// Columns that an index has for its partitions' sake, or for those of the heap below it.
const PARTITIONING: i64 = 32;
const LOCATING: i64 = 64;

/// Object ids of the base tables that are read.
const RSCOLS: i64 = 3;
const ROWSETS: i64 = 5;
const SCHOBJS: i64 = 34;
const COLPARS: i64 = 41;
const IDXSTATS: i64 = 54;
const ISCOLS: i64 = 55;

struct Reader<'a> {
    files: &'a [DataFile],
    firsts: BTreeMap<i64, PageId>,
}

impl Reader<'_> {
    fn rows(&self, object: i64, layout: &RowLayout) -> Vec<Vec<Value>> {
        let Some(first) = self.firsts.get(&base_rowset_id(object, 1)) else {
            return Vec::new();
        };
        let rows = leaf_rows(self.files, *first).unwrap_or_default();
        rows.iter()
            .filter_map(|(_, row)| decode_row(layout, RowRef::new(row)).ok())
            .collect()
    }
}

impl Schema {
    /// The catalog of the database that these files are; empty when it has none that could be read.
    pub fn read(files: &[DataFile], units: &[Unit]) -> Schema {
        let in_row = units.iter().filter(|u| u.kind == 1);
        let reader = Reader {
            files,
            firsts: in_row.map(|u| (u.owner, u.first)).collect(),
        };
        let mut schema = Schema::default();
        for v in reader.rows(SCHOBJS, &foreign::sysschobjs()) {
            let id = int(&v[0]) as i32;
            let kind = v[4].as_text().unwrap_or_default();
            if matches!(kind.trim_end(), "U" | "S" | "IT") {
                schema.tables.insert(id, int(&v[1]) as i32);
            }
            schema.names.insert(id, v[5].as_text().unwrap_or_default());
        }
        let mut columns: BTreeMap<(i32, i32), String> = BTreeMap::new();
        for v in reader.rows(COLPARS, &foreign::syscolpars()) {
            if int(&v[1]) == 0 {
                let name = v[10].as_text().unwrap_or_default();
                columns.insert((int(&v[0]) as i32, int(&v[2]) as i32), name);
            }
        }
        let placed = placements(&reader);
        // Name and status of indexes, then their columns: key or not, descending, column.
        let mut indexes: BTreeMap<(i32, i32), (String, i64)> = BTreeMap::new();
        let mut spaces = Spaces::new();
        for v in reader.rows(IDXSTATS, &foreign::sysidxstats()) {
            let key = (int(&v[0]) as i32, int(&v[1]) as i32);
            spaces.entry(key).or_insert((0, 0)).0 = int(&v[4]) as i32;
            if int(&v[2]) & IS_INDEX != 0 {
                indexes.insert(key, (v[3].as_text().unwrap_or_default(), int(&v[2])));
            }
        }
        let mut of_index: IndexColumns = BTreeMap::new();
        for v in reader.rows(ISCOLS, &foreign::sysiscols()) {
            let key = (int(&v[0]) as i32, int(&v[1]) as i32);
            let column = (int(&v[2]), int(&v[3]), int(&v[4]) as i32);
            of_index.entry(key).or_default().push(column);
            if int(&v[5]) != 0 {
                spaces.entry(key).or_insert((0, 0)).1 = column.2;
            }
        }
        of_index.values_mut().for_each(|c| c.sort_unstable());
        let mut declared: BTreeMap<i64, (i32, i32, u16)> = BTreeMap::new();
        let mut numbers: BTreeMap<i64, i32> = BTreeMap::new();
        for v in reader.rows(ROWSETS, &foreign::sysrowsets()) {
            let minimum = int(&v[9]) as u16;
            numbers.insert(int(&v[0]), int(&v[4]) as i32);
            let id = (int(&v[2]) as i32, int(&v[3]) as i32, minimum);
            declared.insert(int(&v[0]), id);
        }
        for unit in units.iter().filter(|u| u.kind == 1) {
            let Some((object, index, minimum)) = declared.get(&unit.owner).copied() else {
                continue;
            };
            let empty = Vec::new();
            let own = placed.get(&unit.owner).unwrap_or(&empty);
            let of = of_index.get(&(object, index)).cloned().unwrap_or_default();
            let info = indexes.get(&(object, index)).cloned();
            let lob = units
                .iter()
                .find(|u| u.owner == unit.owner && matches!(u.kind, 2 | 3))
                .map(|u| u.id);
            let mut shape = shape(
                unit,
                (object, index, minimum),
                own,
                &of,
                info,
                lob,
                &columns,
            );
            shape.number = numbers.get(&unit.owner).copied().unwrap_or(1);
            schema.units.insert(unit.id, (schema.shapes.len(), 1));
            if let Some(lob) = lob {
                schema.units.insert(lob, (schema.shapes.len(), 2));
            }
            schema.shapes.push(shape);
        }
        schema.link(&placed, &of_index, &indexes, &spaces);
        schema.find_orphans(&columns, &indexes, &declared);
        schema
    }

    fn find_orphans(
        &mut self,
        columns: &BTreeMap<(i32, i32), String>,
        indexes: &BTreeMap<(i32, i32), (String, i64)>,
        rowsets: &BTreeMap<i64, (i32, i32, u16)>,
    ) {
        let known = |object: &i32| self.names.contains_key(object);
        let mut out = Vec::new();
        for (object, column) in columns.keys().filter(|k| !known(&k.0)) {
            let row = format!("object_id={object},column_id={column}");
            out.push(("columns", row, *object));
        }
        for (object, index) in indexes.keys().filter(|k| !known(&k.0)) {
            let row = format!("object_id={object},index_id={index}");
            out.push(("indexes", row, *object));
        }
        for (rowset, (object, ..)) in rowsets.iter().filter(|(_, r)| !known(&r.0)) {
            out.push(("partitions", format!("partition_id={rowset}"), *object));
        }
        if !self.names.is_empty() {
            self.orphans = out;
        }
    }

    /// Says which indexes are over which data, and where their columns come from.
    fn link(
        &mut self,
        placed: &BTreeMap<i64, Vec<Placed>>,
        of_index: &IndexColumns,
        indexes: &BTreeMap<(i32, i32), (String, i64)>,
        spaces: &Spaces,
    ) {
        let mut parts: BTreeMap<(i32, i32), Vec<usize>> = BTreeMap::new();
        for (i, s) in self.shapes.iter().enumerate() {
            parts.entry((s.object, s.index)).or_default().push(i);
        }
        for data in 0..self.shapes.len() {
            let base = &self.shapes[data];
            if base.is_index() || !base.known {
                continue;
            }
            let place_of = |column: i32| {
                let own = placed.get(&base.rowset)?;
                let found = own.iter().find(|p| p.column == column && column != 0)?;
                Some(found.position)
            };
            let mut over = Vec::new();
            let of_object = parts.range((base.object, 2)..=(base.object, i32::MAX));
            for (key, own) in of_object {
                let key = *key;
                if own.iter().any(|i| !self.shapes[*i].known) {
                    continue;
                }
                let Some(index) = own.first().map(|i| &self.shapes[*i]) else {
                    continue;
                };
                let aligned = spaces.get(&key) == spaces.get(&(base.object, base.index));
                let single = |k: &(i32, i32)| parts.get(k).is_none_or(|p| p.len() == 1);
                let whole = !(aligned || single(&key) && single(&(base.object, base.index)));
                let met: Vec<usize> = own
                    .iter()
                    .copied()
                    .filter(|i| whole || self.shapes[*i].number == base.number)
                    .collect();
                if indexes.get(&key).is_none_or(|(_, s)| s & DISABLED != 0) {
                    continue;
                }
                let none = Vec::new();
                let columns = of_index.get(&key).unwrap_or(&none);
                let mut sources = Vec::new();
                let mut complete = true;
                let mut add = |column: i32, sources: &mut Vec<Source>| match place_of(column) {
                    Some(at) if !sources.contains(&Source::Column(at)) => {
                        sources.push(Source::Column(at));
                    }
                    Some(_) => {}
                    None => complete = false,
                };
                for (_, _, column) in columns.iter().filter(|c| c.1 & KEY == KEY) {
                    add(*column, &mut sources);
                }
                let mut locator = Vec::new();
                let named: Vec<Source> = match base.is_heap() {
                    true => vec![Source::Rid],
                    false => base
                        .def
                        .keys
                        .iter()
                        .map(|k| Source::Column(k.column))
                        .collect(),
                };
                for source in named {
                    let at = sources.iter().position(|s| *s == source);
                    locator.push(at.unwrap_or_else(|| {
                        sources.push(source);
                        sources.len() - 1
                    }));
                }
                for wanted in [INCLUDED, PARTITIONING, LOCATING] {
                    for (_, _, column) in columns.iter().filter(|c| c.1 == wanted) {
                        add(*column, &mut sources);
                    }
                }
                if complete && sources.len() == index.def.layout.columns.len() {
                    let over_one = Over {
                        indexes: met,
                        sources,
                        whole,
                    };
                    over.push((over_one, locator));
                }
            }
            for (o, locator) in &over {
                for index in &o.indexes {
                    self.shapes[*index].locator = locator.clone();
                }
            }
            self.shapes[data].over = over.into_iter().map(|(o, _)| o).collect();
        }
    }

    /// The rowset that a unit belongs to, and the unit's type.
    pub fn of(&self, unit: AllocUnitId) -> Option<(&Shape, u8)> {
        let (at, kind) = self.units.get(&unit)?;
        Some((&self.shapes[*at], *kind))
    }

    pub fn whose(&self, unit: AllocUnitId) -> Whose {
        match self.of(unit) {
            Some((shape, kind)) => Whose {
                object: shape.object,
                index: shape.index,
                partition: shape.rowset,
                unit,
                kind,
            },
            None => Whose::unknown(unit),
        }
    }

    /// 8910
    pub fn two_owners(&self, page: PageId, a: AllocUnitId, b: AllocUnitId) -> Finding {
        let (a, b) = (self.whose(a), self.whose(b));
        let AllocUnitId(unit) = b.unit;
        let kind = b.kind_name();
        let rest: [&dyn Display; 5] = [&b.object, &b.index, &b.partition, &unit, &kind];
        let message = &messages::CHECK_PAGE_TWICE;
        a.finding_after(message, Some(page), &[&page, &self.database], &rest)
    }

    pub fn name_of(&self, object: i32) -> String {
        self.names.get(&object).cloned().unwrap_or_default()
    }
}

fn placements(reader: &Reader<'_>) -> BTreeMap<i64, Vec<Placed>> {
    let mut out: BTreeMap<i64, Vec<Placed>> = BTreeMap::new();
    for v in reader.rows(RSCOLS, &foreign::sysrscols()) {
        let status = int(&v[8]);
        let ty = type_of(int(&v[4]), int(&v[5]));
        let uniquifier = status & UNIQUIFIER != 0;
        out.entry(int(&v[0])).or_default().push(Placed {
            position: (int(&v[2]) - 1).max(0) as usize,
            column: int(&v[1]) as i32,
            ty,
            ordkey: int(&v[6]),
            layout: ColumnLayout {
                ty: ty.unwrap_or(SqlType::varbinary(8000)),
                leaf_offset: int(&v[9]) as i16,
                nullbit: int(&v[10]) as u16,
                bitpos: int(&v[11]) as u8,
                nullable: status & NOT_NULL == 0 || uniquifier,
                uniquifier,
            },
        });
    }
    out
}

fn shape(
    unit: &Unit,
    (object, index, minimum): (i32, i32, u16),
    placed: &[Placed],
    of_index: &[(i64, i64, i32)],
    info: Option<(String, i64)>,
    lob: Option<AllocUnitId>,
    names: &BTreeMap<(i32, i32), String>,
) -> Shape {
    let count = placed.iter().map(|p| p.position + 1).max().unwrap_or(0);
    let absent = ColumnLayout {
        ty: SqlType::INT,
        leaf_offset: 0,
        nullbit: 0,
        bitpos: 0,
        nullable: true,
        uniquifier: false,
    };
    // A position beyond what a table can have is damage, and found as such.
    let mut columns = vec![absent; count.min(1100)];
    let mut column_names = vec![String::new(); columns.len()];
    let mut known = count > 0 && count <= 1100;
    let mut keys = Vec::new();
    for p in placed.iter().filter(|p| p.position < count.min(1100)) {
        columns[p.position] = p.layout;
        known &= p.ty.is_some();
        // The columns of an index are numbered by themselves.
        column_names[p.position] = match index {
            0 | 1 => names.get(&(object, p.column)).cloned(),
            _ => of_index
                .get(p.position)
                .and_then(|c| names.get(&(object, c.2)).cloned()),
        }
        .unwrap_or_default();
        if p.ordkey > 0 {
            keys.push((p.ordkey, p.position));
        }
    }
    keys.sort_unstable();
    let in_key: Vec<&(i64, i64, i32)> = of_index.iter().filter(|c| c.1 & KEY == KEY).collect();
    let keys = keys.iter().enumerate().map(|(i, (_, column))| KeyColumn {
        column: *column,
        desc: in_key.get(i).is_some_and(|c| c.1 & DESC != 0),
    });
    let keys: Vec<KeyColumn> = keys.collect();
    let kind = match index {
        0 | 1 => RowKind::Data,
        _ => RowKind::IndexLeaf,
    };
    let (name, status) = info.unwrap_or_default();
    let unique = status & UNIQUE != 0;
    let mut layout = RowLayout::from_columns(kind, columns);
    layout.pminlen = layout.pminlen.max(minimum);
    known &= index == 0 || !keys.is_empty();
    let def = RowsetDef {
        rowset: RowsetId(unit.owner),
        object: ObjectId(object),
        index_id: index as u16,
        kind: match index {
            0 => RowsetKind::Heap,
            1 => RowsetKind::Clustered { unique },
            _ => RowsetKind::NonClustered { unique },
        },
        layout: Arc::new(layout),
        keys,
        au: unit.id,
        lob_au: lob,
        known: Default::default(),
    };
    Shape {
        object,
        index,
        number: 1,
        rowset: unit.owner,
        unit: unit.id,
        lob,
        root: unit.root,
        name,
        keys: KeyInfo::new(&def),
        def,
        known,
        columns: column_names,
        over: Vec::new(),
        filegroup: unit.filegroup,
        locator: Vec::new(),
    }
}
