//! Which columns index rows have, and that rows find each other.

use super::*;
use duramen_base::PageId;

fn key(column: usize) -> KeyColumn {
    KeyColumn {
        column,
        desc: false,
    }
}

fn ids(index_id: u16) -> RowsetIds {
    RowsetIds {
        object: ObjectId(5),
        rowset: RowsetId(9),
        index_id,
        au: AllocUnitId(9),
        lob_au: None,
    }
}

fn specs() -> Vec<ColumnSpec> {
    vec![
        ColumnSpec::new(SqlType::INT, false),
        ColumnSpec::new(SqlType::varchar(10), true),
        ColumnSpec::new(SqlType::SMALLINT, false),
    ]
}

fn index(data: &RowsetDef, keys: &[KeyColumn], unique: bool, includes: &[usize]) -> IndexDef {
    let shared = Keys {
        columns: keys,
        unique,
    };
    let (def, sources, locator) = index_rowset(&ids(2), &specs(), data, shared, includes);
    IndexDef {
        options: crate::def::IndexOptions::default(),
        id: 2,
        name: "i".into(),
        unique,
        clustered: false,
        primary_key: false,
        unique_constraint: false,
        keys: keys.to_vec(),
        includes: includes.to_vec(),
        rowset: Arc::new(def),
        partitioned: None,
        sources,
        locator,
    }
}

#[test]
fn an_index_on_a_heap_carries_the_rid() {
    let data = data_rowset(&ids(0), &specs(), None);
    let i = index(&data, &[key(1)], false, &[2]);
    assert_eq!(
        i.sources,
        [
            IndexSource::Column(1),
            IndexSource::Rid,
            IndexSource::Column(2)
        ]
    );
    assert_eq!(i.rowset.keys.len(), 2);
    let row = [Value::Int(1), Value::varchar("x"), Value::SmallInt(3)];
    let at = RowLocator::Rid(PageId::new(1, 99), 7);
    let entry = i.entry(&row, &at);
    assert_eq!(i.base_locator(&data, &entry), Some(at));
}

#[test]
fn an_index_on_a_non_unique_clustered_table_carries_key_and_uniquifier() {
    let keys = [key(2)];
    let clustered = Keys {
        columns: &keys,
        unique: false,
    };
    let data = data_rowset(&ids(1), &specs(), Some(clustered));
    assert_eq!(data.layout.columns.len(), 4);
    // The uniquifier is the first variable column of the row, the key column the first fixed one.
    assert_eq!(data.layout.columns[3].leaf_offset, -1);
    assert_eq!(data.layout.columns[2].leaf_offset, 4);
    let i = index(&data, &[key(2), key(0)], true, &[]);
    assert_eq!(
        i.sources,
        [
            IndexSource::Column(2),
            IndexSource::Column(0),
            IndexSource::Uniquifier
        ]
    );
    assert_eq!(i.rowset.keys.len(), 2);
    let row = [Value::Int(1), Value::Null, Value::SmallInt(3)];
    let at = RowLocator::Key(vec![Value::SmallInt(3), Value::Int(4)]);
    let entry = i.entry(&row, &at);
    assert_eq!(i.base_locator(&data, &entry), Some(at));
    assert_eq!(
        i.entry_locator(&entry),
        RowLocator::Key(vec![Value::SmallInt(3), Value::Int(1)])
    );
}
