//! `msdb.dbo.suspect_pages`: pages that were met and could not be used (823, 824), and what became of them.
//!
//! Who meets such a page leaves a note (`storage::suspects`). The next session that ends a request outside a transaction
//! writes the notes down: it holds no latch and no lock then. Rows are written by a session of the server's own, as
//! T-SQL; one that cannot be written within two seconds is lost, as the error itself is in the error log.
//!
//! | who | does |
//! |---|---|
//! | reads, BACKUP WITH CHECKSUM, CHECKDB | a row, or one more in `error_count`: 1 failed, 2 checksum, 3 torn |
//! | CHECKDB that finds the page sound | 5 (repaired), or 7 (not in use any more) |
//! | RESTORE of the database or of the page | 4 (restored) |
//! | DROP DATABASE, REMOVE FILE | the rows go |
//!
//! No row comes once there are 1,000: the administrator deletes what he knows of.
//! <https://learn.microsoft.com/sql/relational-databases/backup-restore/manage-the-suspect-pages-table-sql-server>

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, PageId, SqlError, SqlResult};
use duramen_core::session_core::SessionCore;
use duramen_events::instance::Instance;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_types::Value;

use crate::history::{in_transaction, run};

const NAME: &str = "suspect_pages";
/// <https://learn.microsoft.com/sql/relational-databases/system-tables/suspect-pages-transact-sql>
const TABLE: &str = "CREATE TABLE dbo.suspect_pages (
  database_id int NOT NULL,
  file_id int NOT NULL,
  page_id bigint NOT NULL,
  event_type int NOT NULL,
  error_count int NOT NULL,
  last_update_date datetime NOT NULL DEFAULT (GETDATE()))
GRANT SELECT ON dbo.suspect_pages TO public
";
const MOST_ROWS: usize = 1000;
/// Whoever changes the table must not hold up others for long.
const PATIENCE: &str = "SET LOCK_TIMEOUT 2000\n";

/// What a row says of a page that is sound again.
const RESTORED: u8 = 4;
const REPAIRED: u8 = 5;
const DEALLOCATED: u8 = 7;

/// Makes the table where it is missing.
pub fn prepare(instance: &Arc<Instance>) -> SqlResult<()> {
    let Some(msdb) = instance.databases.get(DbId::MSDB) else {
        return Ok(());
    };
    let snapshot = msdb.catalog.snapshot()?;
    match snapshot.tables.values().any(|t| t.name == NAME) {
        true => Ok(()),
        false => run(instance, &format!("BEGIN TRAN\n{TABLE}COMMIT")),
    }
}

/// At the end of a request.
pub fn write(instance: &Arc<Instance>, session: &SessionCore) {
    if !instance.databases.engine.has_suspects()
        || session.in_transaction()
        || instance.writing_suspects.swap(true, Ordering::SeqCst)
    {
        return;
    }
    let mut met: BTreeMap<(DbId, PageId), (u8, u32)> = BTreeMap::new();
    for suspect in instance.databases.engine.take_suspects() {
        let known = met.entry((suspect.db, suspect.page)).or_default();
        *known = (suspect.why as u8, known.1 + 1);
    }
    let mut sql = PATIENCE.to_owned();
    for ((db, page), (why, times)) in met {
        let _ = writeln!(
                sql,
                "UPDATE dbo.suspect_pages SET event_type = {why}, error_count = error_count + {times}, last_update_date = GETDATE() WHERE {of}
IF @@ROWCOUNT = 0 AND (SELECT COUNT(*) FROM dbo.suspect_pages) < {MOST_ROWS}
  INSERT dbo.suspect_pages VALUES ({}, {}, {}, {why}, {times}, GETDATE())",
                db.0,
                page.file,
                page.page,
                of = is_page(db, page),
            );
    }
    // The error log has what is lost.
    let _ = run(instance, &in_transaction(&sql));
    instance.writing_suspects.store(false, Ordering::SeqCst);
}

fn is_page(db: DbId, page: PageId) -> String {
    format!(
        "database_id = {} AND file_id = {} AND page_id = {}",
        db.0, page.file, page.page
    )
}

/// After RESTORE: those pages, or all of the database, are what they were in a backup.
pub fn restored(instance: &Arc<Instance>, db: DbId, pages: Option<&[PageId]>) -> SqlResult<()> {
    let all = [format!("database_id = {}", db.0)];
    let which: Vec<String> = match pages {
        Some(pages) => pages.iter().map(|p| is_page(db, *p)).collect(),
        None => all.to_vec(),
    };
    let mut sql = PATIENCE.to_owned();
    for which in which {
        become_sound(&mut sql, RESTORED, &which);
    }
    run(instance, &in_transaction(&sql))
}

fn become_sound(sql: &mut String, event: u8, which: &str) {
    let _ = writeln!(
        sql,
        "UPDATE dbo.suspect_pages SET event_type = {event}, last_update_date = GETDATE() WHERE {which} AND event_type IN (1, 2, 3)"
    );
}

/// The database is gone, or one of its files.
pub fn forget(instance: &Arc<Instance>, db: DbId, file: Option<u16>) -> SqlResult<()> {
    let of_file = file.map_or(String::new(), |f| format!(" AND file_id = {f}"));
    let sql = format!(
        "SET NOCOUNT ON\n{PATIENCE}DELETE dbo.suspect_pages WHERE database_id = {}{of_file}",
        db.0
    );
    run(instance, &sql)
}

/// After a check: `found` are the pages that its findings name. Those that are damaged by themselves are noted; with
/// `whole` (everything was looked at) pages of the table that are sound are told to be.
pub fn checked(
    instance: &Arc<Instance>,
    db: &OpenDb,
    found: &BTreeSet<PageId>,
    whole: bool,
) -> SqlResult<()> {
    for page in found.iter().take(MOST_ROWS) {
        if let Some(why) = db.db.suspicion_of(*page) {
            db.db.note_suspect(*page, why);
        }
    }
    if !whole {
        return Ok(());
    }
    let id = db.db.id;
    let mut sql = String::new();
    for page in listed(instance, id)? {
        let damaged = || found.contains(&page) || db.db.suspicion_of(page).is_some();
        let event = match db.db.is_page_in_use(page) {
            Ok(false) => DEALLOCATED,
            Ok(true) if !damaged() => REPAIRED,
            Ok(true) | Err(_) => continue,
        };
        become_sound(&mut sql, event, &is_page(id, page));
    }
    match sql.is_empty() {
        true => Ok(()),
        false => run(instance, &in_transaction(&format!("{PATIENCE}{sql}"))),
    }
}

/// The pages of a database that the table has as damaged.
fn listed(instance: &Arc<Instance>, db: DbId) -> SqlResult<Vec<PageId>> {
    let mut pages = Pages(Ok(Vec::new()));
    let sql = format!(
        "{PATIENCE}SELECT file_id, page_id FROM dbo.suspect_pages WHERE database_id = {} AND event_type IN (1, 2, 3)",
        db.0
    );
    instance.run_as_server("msdb", &sql, &mut pages)?;
    pages.0
}

struct Pages(SqlResult<Vec<PageId>>);

impl ResultSink for Pages {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, row: &[Value]) {
        let number = |i: usize| row.get(i).and_then(Value::as_i64);
        // Rows that users have made may say anything.
        let file = number(0).and_then(|n| u16::try_from(n).ok());
        let page = number(1).and_then(|n| u32::try_from(n).ok());
        if let (Ok(pages), Some(file), Some(page)) = (&mut self.0, file, page) {
            pages.push(PageId::new(file, page));
        }
    }
    fn done(&mut self, _: &Done) {}
    fn error(&mut self, error: &SqlError) {
        if self.0.is_ok() {
            self.0 = Err(error.clone());
        }
    }
    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
}
