//! Real files, read as they are. Need `DURAMEN_MATERIAL` (the directory that holds `real-files`); without it these
//! tests say so and pass.

#![allow(clippy::disallowed_methods)]

use super::*;
use crate::tests::material;

/// Every checksum right, every table read, every row count as the catalog says.
fn check(db: &ForeignDatabase, tables: &[(&str, usize)]) {
    let pages = db.check_pages();
    assert_eq!(pages.bad, []);
    assert!(pages.checksums > 100, "{pages:?}");
    let mut found = Vec::new();
    for t in db.user_tables() {
        let rows = db.table_rows(t.id).expect("table is read");
        let rowset = db.data_rowset(t.id).expect("table has a rowset");
        assert_eq!(rows.len() as i64, rowset.rows, "{}", t.name);
        found.push((t.name.as_str(), rows.len()));
    }
    found.sort_unstable();
    assert_eq!(found, tables);
}

#[test]
fn pubs() {
    let Some(bytes) = material("pubs.mdf") else {
        return;
    };
    let db = ForeignDatabase::from_mdf(&bytes).expect("opens");
    assert_eq!(db.boot.version, 655);
    check(
        &db,
        &[
            ("authors", 23),
            ("discounts", 3),
            ("employee", 43),
            ("jobs", 14),
            ("pub_info", 8),
            ("publishers", 8),
            ("roysched", 86),
            ("sales", 21),
            ("stores", 6),
            ("titleauthor", 25),
            ("titles", 18),
        ],
    );
}

#[test]
fn northwind() {
    let Some(bytes) = material("northwnd.mdf") else {
        return;
    };
    let db = ForeignDatabase::from_mdf(&bytes).expect("opens");
    check(
        &db,
        &[
            ("Categories", 8),
            ("CustomerCustomerDemo", 0),
            ("CustomerDemographics", 0),
            ("Customers", 91),
            ("EmployeeTerritories", 49),
            ("Employees", 9),
            ("Order Details", 2155),
            ("Orders", 830),
            ("Products", 77),
            ("Region", 4),
            ("Shippers", 3),
            ("Suppliers", 29),
            ("Territories", 53),
        ],
    );
    // Text and image values come from their own pages.
    let categories = db.objects.values().find(|o| o.name == "Categories");
    let rows = db
        .table_rows(categories.expect("exists").id)
        .expect("reads");
    assert_eq!(rows[0][1].as_text().as_deref(), Some("Beverages"));
    assert_eq!(
        rows[0][2].as_text().as_deref(),
        Some("Soft drinks, coffees, teas, beers, and ales")
    );
    assert!(matches!(&rows[0][3], Value::Binary(b) if b.len() == 10_746));
}

#[test]
fn compressed_backup_of_2016() {
    let Some(bytes) = material("TutorialDB.bak") else {
        return;
    };
    let db = ForeignDatabase::from_backup(bytes).expect("opens");
    assert_eq!(db.boot.version, 852);
    assert_eq!(db.boot.name, "TutorialDB");
    check(&db, &[("rental_data", 453)]);
}
