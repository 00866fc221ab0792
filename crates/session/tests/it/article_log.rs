//! The transactions of the article on a terabyte of rows, measured as it did: the lengths of their records in fn_dblog.
//!
//! The article's figures are of the version of 2008: 4,952 bytes for a row in a transaction of its own, 48,688 for ten and
//! 489,628 for a hundred. The record sizes of 2012 make 5,040 and 48,812 of the first two: BEGIN_XACT and COMMIT_XACT are
//! longer. Ours are 4,984, 48,384 and 482,544. The same records, and less of some: BEGIN_XACT has our SID of one byte, where
//! the article's has 28; IDENTITY is cached, so no record tells of each value (40 bytes a row); an allocated extent takes a
//! bit in GAM and IAM and none in PFS, where each page has one as it is used; and no interior page split in the hundred.

use duramen_session::Session;

use crate::{alone, run};

/// Bytes and operations of what `sql` has logged; checkpoints are the server's.
fn logged(s: &mut Session, sql: &str) -> (u64, Vec<String>) {
    let newest = "SELECT MAX([Current LSN]) FROM fn_dblog(NULL, NULL)";
    let before = run(s, newest)[1].clone();
    run(s, sql);
    let since = format!(
        "FROM fn_dblog(NULL, NULL) WHERE [Current LSN] > '{before}' AND Operation NOT LIKE '%CKPT%'"
    );
    let bytes = run(
        s,
        &format!("SELECT SUM(CAST([Log Record Length] AS bigint)) {since}"),
    );
    let kinds = run(
        s,
        &format!(
            "SELECT Operation, Context, COUNT(*), SUM(CAST([Log Record Length] AS int)) {since} GROUP BY Operation, Context"
        ),
    );
    (bytes[1].parse().unwrap(), kinds)
}

#[test]
fn rows_of_the_terabyte_article_log_no_more_than_there() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf', SIZE = 64MB) LOG ON (NAME = dl, FILENAME = '/data/d.ldf', SIZE = 32MB)",
    );
    run(
        &mut s,
        "USE d; CREATE TABLE t (c1 bigint IDENTITY, c2 char(4100) NOT NULL DEFAULT 'x'); CREATE CLUSTERED INDEX ci ON t (c1)",
    );
    run(
        &mut s,
        "DECLARE @i int = 0; WHILE @i < 50 BEGIN INSERT t DEFAULT VALUES; SET @i += 1 END; CHECKPOINT",
    );
    let one = "INSERT t DEFAULT VALUES";
    let many = |n: u32| {
        format!(
            "BEGIN TRAN; DECLARE @i int = 0; WHILE @i < {n} BEGIN {one}; SET @i += 1 END; COMMIT"
        )
    };
    let mut singles: Vec<_> = (0..9).map(|_| logged(&mut s, one)).collect();
    singles.sort();
    let (single, ten) = (&singles[4], logged(&mut s, &many(10)));
    let hundred = logged(&mut s, &many(100));
    println!(
        "1 row: {} of {:?}",
        single.0,
        singles.iter().map(|x| x.0).collect::<Vec<_>>()
    );
    println!("10 rows: {}, 100 rows: {}", ten.0, hundred.0);
    println!("{:#?}\n{:#?}\n{:#?}", single.1, ten.1, hundred.1);
    assert!(single.0 <= 5_040, "{single:#?}");
    assert!(ten.0 <= 48_812, "{ten:#?}");
    assert!(hundred.0 <= 489_628, "{hundred:#?}");
    // The rows themselves are in it.
    assert!(single.0 > 4_116 && hundred.0 > 411_600);
}
