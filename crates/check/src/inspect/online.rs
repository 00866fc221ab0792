//! The pages of a running database, as they stand in memory.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use duramen_base::{PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::page::{PageRef, seal};
use duramen_os::{DiskFile, OpenOptions};
use duramen_storage::Database;

use super::{Detail, Dump, Maps, Owner, Subject, dump};

/// A page of a data file and what the allocation maps say of it.
#[derive(Debug)]
pub struct PageInfo {
    image: Box<PageBytes>,
    pub maps: Maps,
}

impl PageInfo {
    pub fn page(&self) -> PageRef<'_> {
        PageRef::new(&self.image)
    }
}

/// Whether there is a data file of this number.
pub fn has_data_file(db: &Database, file: u16) -> bool {
    db.store.file(file).is_some()
}

/// A page of a data file as it stands in memory, or on the disk where it is damaged. `None`: there is no such page.
pub fn page_info(db: &Database, id: PageId) -> Option<PageInfo> {
    let file_pages = db.store.file(id.file)?.size.load(Ordering::SeqCst);
    if id.page >= file_pages {
        return None;
    }
    let image = page_image(db, id)?;
    let mut read = |n| neighbour(db, id, n, file_pages);
    let maps = Maps::of(&mut Subject {
        id,
        page: &image,
        file_pages,
        read: &mut read,
        owner: None,
    });
    Some(PageInfo { image, maps })
}

/// Another page of a data file.
fn neighbour(db: &Database, id: PageId, n: u32, file_pages: u32) -> Option<Box<PageBytes>> {
    let there = n < file_pages && has_data_file(db, id.file);
    there.then(|| page_image(db, PageId::new(id.file, n)))?
}

/// Shows a page of a data file, or the header page of a log file; `owner` finds whose allocation unit it is.
/// `None`: there is no such page. A damaged page is read from the disk and shown as it is.
pub fn inspect_page(
    db: &Database,
    id: PageId,
    detail: Detail,
    owner: impl FnOnce(duramen_base::AllocUnitId) -> Option<Owner>,
) -> SqlResult<Option<Dump>> {
    let Some(file_pages) = shown_pages(db, id.file) else {
        return Ok(None);
    };
    if id.page >= file_pages {
        return Ok(None);
    }
    let Some(page) = page_image(db, id) else {
        return Ok(None);
    };
    let unit = PageRef::new(&page).alloc_unit();
    let mut subject = Subject {
        id,
        page: &page,
        file_pages,
        read: &mut |n| neighbour(db, id, n, file_pages),
        owner: owner(unit),
    };
    Ok(Some(dump(&mut subject, detail)))
}

/// The fields of the boot page as they are in memory.
pub fn inspect_boot(db: &Database) -> Dump {
    let mut out = Dump::default();
    super::fixed::boot_fields(&mut out, &db.boot());
    out
}

/// Pages that a file of this number has; of a log file its header page is one.
fn shown_pages(db: &Database, file: u16) -> Option<u32> {
    if let Some(data) = db.store.file(file) {
        return Some(data.size.load(Ordering::SeqCst));
    }
    log_path(db, file).map(|_| 1)
}

fn log_path(db: &Database, file: u16) -> Option<PathBuf> {
    let mut files = db.log()?.file_paths().into_iter();
    files.find_map(|(id, path)| (id.0 == file).then_some(path))
}

/// A page as the pool has it, its checksum made up to date; as the disk has it where the pool cannot give it.
fn page_image(db: &Database, id: PageId) -> Option<Box<PageBytes>> {
    let mut image = Box::new([0; PAGE_BYTES]);
    let Some(file) = db.store.file(id.file) else {
        let path = log_path(db, id.file)?;
        let options = OpenOptions {
            read_only: true,
            ..OpenOptions::default()
        };
        let disk = &db.engine.env.disk;
        let read = disk.open(&path, &options);
        return read
            .and_then(|f| f.read_at(&mut image[..], 0))
            .is_ok()
            .then_some(image);
    };
    match db.engine.pool.read(&db.store, id) {
        Ok(page) => {
            image.copy_from_slice(page.bytes());
            drop(page);
            seal(&mut image);
        }
        Err(_) => {
            let at = u64::from(id.page) * PAGE_BYTES as u64;
            file.handle.read_at(&mut image[..], at).ok()?;
        }
    }
    Some(image)
}
