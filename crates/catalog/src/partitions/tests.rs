use duramen_types::CollationId;

use super::*;

fn function(right: bool, boundaries: Vec<Value>) -> PartitionFunctionDef {
    PartitionFunctionDef {
        id: 65_536,
        name: "f".to_owned(),
        ty: SqlType::INT,
        right,
        boundaries,
        created: DateTime { days: 0, ticks: 0 },
        modified: DateTime { days: 0, ticks: 0 },
    }
}

fn ints(values: &[i32]) -> Vec<Value> {
    values.iter().map(|v| Value::Int(*v)).collect()
}

#[test]
fn a_boundary_belongs_to_the_side_that_the_function_says() {
    let left = function(false, ints(&[10, 20]));
    let right = function(true, ints(&[10, 20]));
    for (value, l, r) in [(9, 0, 0), (10, 0, 1), (11, 1, 1), (20, 1, 2), (21, 2, 2)] {
        assert_eq!(left.partition_of(&Value::Int(value)), l, "LEFT {value}");
        assert_eq!(right.partition_of(&Value::Int(value)), r, "RIGHT {value}");
    }
    assert_eq!(left.partition_of(&Value::Null), 0);
    assert_eq!(right.partition_of(&Value::Null), 0);
}

/// The documented case: RANGE RIGHT with the boundary NULL leaves the first partition empty.
#[test]
fn null_may_be_a_boundary() {
    let mut values = vec![Value::Null];
    values.extend(ints(&[5]));
    let right = function(true, values.clone());
    assert_eq!(right.partition_of(&Value::Null), 1);
    assert_eq!(right.partition_of(&Value::Int(5)), 2);
    let left = function(false, values);
    assert_eq!(left.partition_of(&Value::Null), 0);
    assert_eq!(left.partition_of(&Value::Int(i32::MIN)), 1);
}

#[test]
fn a_range_names_the_partitions_that_can_have_it() {
    let f = function(true, ints(&[10, 20, 30]));
    let at = |n: i32| Value::Int(n);
    assert_eq!(f.between(None, None), 0..4);
    assert_eq!(
        f.between(Some((&at(10), true)), Some((&at(19), true))),
        1..2
    );
    assert_eq!(
        f.between(Some((&at(15), true)), Some((&at(20), true))),
        1..3
    );
    assert_eq!(
        f.between(Some((&at(15), true)), Some((&at(20), false))),
        1..2
    );
    assert_eq!(f.between(None, Some((&at(10), false))), 0..1);
    assert!(
        f.between(Some((&at(30), true)), Some((&at(5), true)))
            .is_empty()
    );
    let left = function(false, ints(&[10, 20, 30]));
    assert_eq!(
        left.between(Some((&at(10), false)), Some((&at(20), false))),
        1..2
    );
    assert_eq!(
        left.between(Some((&at(10), true)), Some((&at(20), true))),
        0..2
    );
    assert_eq!(f.boundary(&Value::Int(20)), Ok(1));
    assert_eq!(f.boundary(&Value::Int(21)), Err(2));
}

#[test]
fn text_is_compared_as_the_collation_says() {
    let mut f = function(false, vec![Value::varchar("M")]);
    f.ty = SqlType::varchar(10).with_collation(CollationId::DEFAULT);
    assert_eq!(f.partition_of(&Value::varchar("m")), 0);
    assert_eq!(f.partition_of(&Value::varchar("n")), 1);
}
