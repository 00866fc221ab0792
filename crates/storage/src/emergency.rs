//! A database opened without recovery, to be read: SET EMERGENCY.
//!
//! Whatever kept its recovery from coming to an end, its files are there, and whoever must can look at what is on their
//! pages: also what was not committed, and not what only the log knows. The files are not touched. An overlay takes what
//! is written meanwhile, and with it a log of its own, which begins above every LSN of the pages; both go with the
//! database. The real log is not opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, SqlResult, XdesId, messages};
use duramen_format::boot::Boot;
use duramen_format::version::refuse_newer;
use duramen_os::{Env, OpenOptions};
use duramen_pool::{DataFile, OverlayDisk};
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

use crate::database::{OpenDatabase, assemble, log_config, new_store};
use crate::engine::{Database, Engine};
use crate::files::make::{find_guid, read_boot};
use crate::files::table::open_listed;
use crate::log_files::log_header;
use crate::marks::version_in;

/// The log in the overlay: nothing but what reading writes is in it.
const LOG_BYTES: u64 = 1 << 20;
/// Virtual log files that the real log cannot have begun since the checkpoint of the boot page.
const BEYOND: u32 = 1 << 20;

impl Database {
    /// Opens a database as its files are: nothing is redone, nothing undone. Errors are those of files that are not to be
    /// had or are not the database's, and 824 for a boot page that cannot be read.
    pub fn open_unrecovered(engine: &Arc<Engine>, spec: &OpenDatabase) -> SqlResult<Arc<Database>> {
        let primary = spec
            .data
            .iter()
            .find(|f| f.file_id == 1)
            .ok_or_else(|| SqlError::new(&messages::FILES_NOT_FOUND, &[]))?;
        let env = Env::with_disk(overlay(engine, spec, &primary.path)?);
        let file = DataFile::open(&env, primary)?;
        file.take_length()?;
        refuse_newer(&spec.name, version_in(&*file.handle))?;
        let files = vec![Arc::new(file)];
        let guid = find_guid(&files, spec.id)?;
        let store = new_store(engine, &env, spec.id, guid, files);
        open_listed(&env, &store, &spec.data)?;
        store.files.read().iter().for_each(|f| f.count_for(spec.id));
        engine.pool.add_store(&store);
        let opened = read_boot(&store).and_then(|boot| {
            let log = own_log(engine, &env, spec, &boot, &guid)?;
            let next = XdesId(boot.own.as_ref().map_or(1, |o| o.next_xdes).max(1));
            Ok(assemble(engine, &store, &spec.name, boot, log, next))
        });
        let db = opened
            .and_then(|db| db.as_it_is().map(|()| db))
            .inspect_err(|_| engine.pool.drop_store(spec.id))?;
        store.recovering.store(false, Ordering::SeqCst);
        let files = store.files.read().clone();
        for file in &files {
            // Of maps that cannot be read nobody needs the number: nothing is allocated but by what reads.
            let free = db.count_free(file).unwrap_or(0);
            file.free_extents.store(free, Ordering::SeqCst);
        }
        engine.register(&db);
        Ok(db)
    }

    /// What recovery looks up when its redo and undo are done. Numbers of pages and rows are in doubt.
    fn as_it_is(&self) -> SqlResult<()> {
        self.after_redo()?;
        self.load_roots()?;
        self.load_counts()?;
        self.doubt_page_counts();
        Ok(())
    }
}

/// The data files, below what is written while the database is open.
fn overlay(
    engine: &Engine,
    spec: &OpenDatabase,
    primary: &std::path::Path,
) -> SqlResult<Arc<OverlayDisk>> {
    let real = &engine.env.disk;
    let mut spill = primary.to_owned().into_os_string();
    spill.push("_MSSQL_EMERGENCY");
    let disk = OverlayDisk::new(real, &PathBuf::from(spill));
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    for f in &spec.data {
        let base = real.open(&f.path, &options);
        base.and_then(|b| disk.put(&f.path, &b)).map_err(|e| {
            let shown = f.path.display();
            let args: [&dyn std::fmt::Display; 3] = [&shown, &e.code(), &e];
            SqlError::new(&messages::CANNOT_OPEN_FILE, &args)
        })?;
    }
    Ok(disk)
}

fn own_log(
    engine: &Engine,
    env: &Env,
    spec: &OpenDatabase,
    boot: &Boot,
    guid: &[u8; 16],
) -> SqlResult<Arc<Log>> {
    let config = LogConfig {
        first_seq: boot.checkpoint_lsn.vlf.saturating_add(BEYOND),
        ..log_config(engine, spec, boot)
    };
    let Some(first) = spec.log.first() else {
        return Err(SqlError::new(&messages::FILES_NOT_FOUND, &[]));
    };
    let file = LogFileSpec {
        size: LOG_BYTES,
        max_size: None,
        growth: Growth::Bytes(LOG_BYTES),
        ..first.clone()
    };
    let log = Log::create(env, config, &file, &log_header(&file, guid)?)
        .map_err(|e| e.to_sql(&spec.name))?;
    debug_assert!(
        log.next_lsn() > boot.checkpoint_lsn,
        "the log begins above every LSN of the pages"
    );
    Ok(log)
}
