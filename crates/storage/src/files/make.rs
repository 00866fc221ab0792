//! Making data files, and what is read of them before a database is open.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    FIXED_PAGE, GAM_INTERVAL, PFS_INTERVAL, bit_set, diff_page_of, format_bitmap, format_pfs,
    gam_page_of, ml_page_of, pfs_set, sgam_page_of,
};
use duramen_format::boot::{BOOT_PAGE, Boot, FileHeader};
use duramen_format::file_table::FILE_TABLE_PAGES;
use duramen_format::page::{page_type, seal};
use duramen_os::{DiskFile, IoError};
use duramen_pool::{DataFile, DataFileSpec, DbStore, FileGrowth, io_error, logical_error};

use super::grow::expand_error;
use crate::engine::Engine;
use crate::tempdb;

/// The smallest data file, in pages.
const MIN_PAGES: u32 = 64;

/// The header page of a file that is made now.
pub(crate) fn header_of(spec: &DataFileSpec, binding: &[u8; 16], create_lsn: Lsn) -> FileHeader {
    let (growth, growth_percent) = match spec.growth {
        FileGrowth::None => (0, false),
        FileGrowth::Pages(n) => (n, false),
        FileGrowth::Percent(p) => (p, true),
    };
    FileHeader {
        binding: *binding,
        file_id: spec.file_id,
        filegroup: spec.filegroup,
        size: spec.size,
        max_size: spec.max_size,
        growth,
        growth_percent,
        min_size: spec.size,
        create_lsn,
        guid: duramen_os::random::guid(),
        logical_name: spec.logical_name.clone(),
        own: true,
    }
}

/// Whether a new file may be so many pages long without taking what its volume keeps back.
fn may_begin(file: &DataFile, pages: u32) -> Result<(), IoError> {
    let bytes = u64::from(pages) * PAGE_BYTES as u64;
    let more = bytes.saturating_sub(file.handle.len()?);
    match more > file.handle.room()? {
        true => Err(IoError::NoSpace),
        false => Ok(()),
    }
}

/// Makes a data file with its header and allocation maps; the caller syncs it and its directory. 5123, 5149. The
/// header page is the first to be written: it says whose the file is.
pub(crate) fn create_file(
    engine: &Engine,
    db: DbId,
    spec: &DataFileSpec,
    guid: &[u8; 16],
    create_lsn: Lsn,
) -> SqlResult<DataFile> {
    let mut spec = spec.clone();
    spec.size = spec.size.max(MIN_PAGES).next_multiple_of(8);
    let file = if tempdb::is_temporary(db) {
        tempdb::make_file(&engine.env, &spec)?
    } else {
        DataFile::create(&engine.env, &spec)?
    };
    let mut page: PageBytes = [0; PAGE_BYTES];
    let put = |n: u32, page: &mut PageBytes| {
        seal(page);
        file.write_page(n, page)
    };
    let header = header_of(&spec, guid, create_lsn);
    header.format(&mut page)?;
    put(0, &mut page)?;
    file.size.store(0, Ordering::SeqCst);
    may_begin(&file, spec.size)
        .and_then(|()| file.extend_asked(spec.size, engine.instant_file_init()))
        .map_err(|e| expand_error(&e, &file))?;
    file.size.store(spec.size, Ordering::SeqCst);
    // Without instant initialization the header has become zeros too.
    header.format(&mut page)?;
    put(0, &mut page)?;
    for n in (0..spec.size).step_by(PFS_INTERVAL as usize) {
        let at = if n == 0 { 1 } else { n };
        format_pfs(&mut page, PageId::new(spec.file_id, at))?;
        if n == 0 && spec.file_id == 1 {
            for used in [BOOT_PAGE].into_iter().chain(FILE_TABLE_PAGES) {
                pfs_set(&mut page, used, FIXED_PAGE);
            }
        }
        put(at, &mut page)?;
    }
    for n in (0..spec.size).step_by(GAM_INTERVAL as usize) {
        let start = PageId::new(spec.file_id, n);
        for (at, kind, fill) in [
            (gam_page_of(n), page_type::GAM, true),
            (sgam_page_of(n), page_type::SGAM, false),
            (diff_page_of(n), page_type::DIFF_MAP, false),
            (ml_page_of(n), page_type::ML_MAP, false),
        ] {
            if at >= spec.size {
                continue;
            }
            format_bitmap(&mut page, PageId::new(spec.file_id, at), kind, start, fill)?;
            if n == 0 && spec.file_id == 1 {
                // The extent of the boot page and the file table is in use, and written without log.
                match kind {
                    page_type::GAM => bit_set(&mut page, 1, false),
                    page_type::DIFF_MAP => bit_set(&mut page, 1, true),
                    _ => {}
                }
            }
            put(at, &mut page)?;
        }
    }
    Ok(file)
}

pub fn sync_parent(engine: &Engine, file: &DataFile) -> SqlResult<()> {
    if let Some(dir) = file.path.parent() {
        engine
            .env
            .disk
            .sync_dir(dir)
            .map_err(|e| io_error(&e, "sync", PageId::NULL, &file.path.display().to_string()))?;
    }
    Ok(())
}

fn read_raw(file: &DataFile, page: u32) -> SqlResult<PageBytes> {
    let mut bytes: PageBytes = [0; PAGE_BYTES];
    file.handle
        .read_at(&mut bytes, u64::from(page) * PAGE_BYTES as u64)
        .map_err(|e| {
            let name = file.path.display().to_string();
            io_error(&e, "read", PageId::new(file.id, page), &name)
        })?;
    Ok(bytes)
}

/// The GUID by which the double-write file knows the database.
pub fn find_guid(files: &[Arc<DataFile>], id: DbId) -> SqlResult<[u8; 16]> {
    for file in files {
        if let Ok(header) = FileHeader::read(&read_raw(file, 0)?)
            && header.binding != [0; 16]
        {
            return Ok(header.binding);
        }
        if file.id == 1
            && let Ok(boot) = Boot::read(&read_raw(file, BOOT_PAGE)?)
            && let Some(own) = boot.own
        {
            return Ok(own.database_guid);
        }
    }
    Err(logical_error(
        "file header",
        "read",
        id,
        PageId::new(1, 0),
        "",
    ))
}

pub(crate) fn read_boot(store: &DbStore) -> SqlResult<Boot> {
    let id = PageId::new(1, BOOT_PAGE);
    let mut page: PageBytes = [0; PAGE_BYTES];
    store.read_page(id, &mut page)?;
    let boot = Boot::read(&page)?;
    if boot.own.is_none() {
        return Err(logical_error(
            "not a database of ours",
            "read",
            store.id,
            id,
            "",
        ));
    }
    Ok(boot)
}
