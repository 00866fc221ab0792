//! `duramen page FILE N`: a page of a data file, as DBCC PAGE shows it, without a server. Files of SQL Server, too.
//!
//! Rows are shown by column where the file's own catalog can be read: in a primary data file that fits in memory.

use std::io::Write;
use std::path::Path;

use duramen_base::{AllocUnitId, PAGE_BYTES, PageId};
use duramen_check::inspect::{Detail, Owner, Shape, Subject, dump};
use duramen_format::PageBytes;
use duramen_format::foreign::ForeignDatabase;
use duramen_format::page::{PageRef, restore_torn_bits};
use duramen_os::{DiskFile, Env, IoError, OpenOptions};
use duramen_types::{Value, to_display};

const USAGE: &str = "\
usage: duramen page FILE N [--detail 0|1|2|3]

Shows page N of a data file: 0 header, 1 records, 2 all bytes, 3 (the default) columns, maps as ranges.
";
/// What a VLF begins with, and no page.
const VLF_SIGNATURE: u8 = 0xAB;
/// Larger files are shown without their catalog.
const MAX_CATALOG_BYTES: u64 = 1 << 30;

/// The exit code.
pub fn run(args: &[String]) -> u8 {
    if args.iter().any(|a| matches!(a.as_str(), "--help" | "-h")) {
        print!("{USAGE}");
        return 0;
    }
    let Some((file, page, detail)) = parse(args) else {
        eprint!("{USAGE}");
        return 2;
    };
    match show(&Env::real(), Path::new(file), page, detail) {
        Ok(lines) => {
            let mut out = std::io::stdout().lock();
            for line in lines {
                if writeln!(out, "{line}").is_err() {
                    // Whoever reads has seen enough.
                    break;
                }
            }
            0
        }
        Err(error) => {
            eprintln!("duramen: {file}: {error}");
            1
        }
    }
}

fn parse(args: &[String]) -> Option<(&str, u32, Detail)> {
    let (file, rest) = args.split_first()?;
    let (page, rest) = rest.split_first()?;
    let detail = match rest {
        [] => Detail::Columns,
        [flag, n] if flag == "--detail" => Detail::of(n.parse().ok()?)?,
        [one] => Detail::of(one.strip_prefix("--detail=")?.parse().ok()?)?,
        _ => return None,
    };
    Some((file, page.parse().ok()?, detail))
}

/// The lines of a dump.
pub fn show(env: &Env, path: &Path, page: u32, detail: Detail) -> Result<Vec<String>, String> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options).map_err(text)?;
    let bytes = file.len().map_err(text)?;
    let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
    if page >= pages {
        return Err(format!("there is no page {page}: the file has {pages}"));
    }
    let read = |n: u32| read_page(&*file, n).ok().filter(|_| n < pages);
    if page > 0 && read(1).is_some_and(|p| p[0] == VLF_SIGNATURE) {
        return Err(format!(
            "there is no page {page}: behind the first page of a log file are VLFs"
        ));
    }
    let image = read_page(&*file, page).map_err(text)?;
    // Which file of its database this is, its first page says.
    let number = read(0).map_or(1, |p| PageRef::new(&p).page_id().file);
    let mut subject = Subject {
        id: PageId::new(number, page),
        page: &image,
        file_pages: pages,
        read: &mut |n| read(n),
        owner: owner(&*file, bytes, PageRef::new(&image).alloc_unit(), detail),
    };
    let dump = dump(&mut subject, detail);
    let mut lines = dump.text();
    if let Some((columns, rows)) = dump.index {
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        lines.extend([String::new(), names.join(" | ")]);
        for row in rows {
            let shown = row.iter().zip(&columns).map(|(v, (_, ty))| match v {
                Value::Null => "[NULL]".to_owned(),
                v => to_display(v, ty),
            });
            lines.push(shown.collect::<Vec<_>>().join(" | "));
        }
    }
    Ok(lines)
}

fn text(e: IoError) -> String {
    e.to_string()
}

/// A page with the bits that torn-page detection displaced put back.
fn read_page(file: &dyn DiskFile, page: u32) -> Result<Box<PageBytes>, IoError> {
    let mut bytes = Box::new([0; PAGE_BYTES]);
    file.read_at(&mut bytes[..], u64::from(page) * PAGE_BYTES as u64)?;
    restore_torn_bits(&mut bytes);
    Ok(bytes)
}

/// The table of an allocation unit, from the file's own catalog.
fn owner(file: &dyn DiskFile, bytes: u64, unit: AllocUnitId, detail: Detail) -> Option<Owner> {
    if detail == Detail::Whole || bytes > MAX_CATALOG_BYTES {
        return None;
    }
    let mut all = vec![0; bytes as usize];
    file.read_at(&mut all, 0).ok()?;
    let db = ForeignDatabase::from_mdf(&all).ok()?;
    let unit = db.units.values().find(|u| u.id == unit)?;
    let rowset = db.rowsets.get(&unit.owner)?;
    // The rows of a table; those of its other indexes and its large values have other columns.
    let data = rowset.index <= 1 && unit.kind == 1 && rowset.compression == 0;
    let layout = data.then(|| db.table_layout(rowset.object, rowset.id).ok());
    let columns = db.columns.get(&rowset.object);
    Some(Owner {
        object: rowset.object,
        index: rowset.index,
        partition: rowset.id,
        shape: layout.flatten().map(|layout| Shape {
            layout,
            names: columns
                .into_iter()
                .flatten()
                .map(|c| c.name.clone())
                .collect(),
            def: None,
        }),
    })
}

#[cfg(test)]
mod tests {
    //! Arguments, and pages of real files.

    use super::*;

    fn args(all: &[&str]) -> Vec<String> {
        all.iter().map(|a| (*a).to_owned()).collect()
    }

    #[test]
    fn arguments() {
        assert_eq!(
            parse(&args(&["f.mdf", "9"])),
            Some(("f.mdf", 9, Detail::Columns))
        );
        let plain = Some(("f.mdf", 0, Detail::Header));
        assert_eq!(parse(&args(&["f.mdf", "0", "--detail", "0"])), plain);
        assert_eq!(parse(&args(&["f.mdf", "0", "--detail=0"])), plain);
        for wrong in [
            &["f.mdf"][..],
            &["f.mdf", "x"],
            &["f.mdf", "1", "--detail", "4"],
            &["f.mdf", "1", "2"],
        ] {
            assert_eq!(parse(&args(wrong)), None);
        }
        assert_eq!(run(&args(&["--help"])), 0);
        assert_eq!(run(&args(&["/nowhere/f.mdf", "1"])), 1);
    }

    /// What is known of pubs: its boot page, and the authors' table with its first row.
    #[test]
    fn a_real_file() {
        let Ok(material) = std::env::var("DURAMEN_MATERIAL") else {
            eprintln!("skipped: DURAMEN_MATERIAL is not set");
            return;
        };
        let path = Path::new(&material).join("pubs.mdf");
        let env = Env::real();
        if !env.disk.exists(&path) {
            eprintln!("skipped: pubs.mdf is not in DURAMEN_MATERIAL");
            return;
        }
        let boot = show(&env, &path, 9, Detail::Columns).expect("a page");
        let has = |lines: &[String], what: &str| lines.iter().any(|l| l.contains(what));
        assert!(has(&boot, "dbi_version = 655") && has(&boot, "dbi_dbname = C:\\DBS\\PUBS.MDF"));
        let file = env.disk.open(
            &path,
            &OpenOptions {
                read_only: true,
                ..Default::default()
            },
        );
        let file = file.expect("opens");
        let mut bytes = vec![0; file.len().expect("length") as usize];
        file.read_at(&mut bytes, 0).expect("read");
        let db = ForeignDatabase::from_mdf(&bytes).expect("a database");
        let authors = db
            .user_tables()
            .find(|t| t.name == "authors")
            .expect("authors");
        let rowset = db.data_rowset(authors.id).expect("rows");
        let unit = db.units.get(&(rowset.id, 1)).expect("a unit");
        let leaf = db.leftmost_leaf(unit.root).expect("a leaf");
        let lines = show(&env, &path, leaf.page, Detail::Columns).expect("a page");
        for what in [
            "au_id = 172-32-1176",
            "au_lname = White",
            "city = Menlo Park",
            "contract = 1",
        ] {
            assert!(has(&lines, what), "{what}: {lines:#?}");
        }
        for page in 0..64 {
            for detail in 0..4 {
                let detail = Detail::of(detail).expect("a detail");
                assert!(show(&env, &path, page, detail).is_ok());
            }
        }
    }
}
