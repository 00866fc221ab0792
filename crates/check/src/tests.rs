//! Small files made with the format codecs, damaged one bit at a time; and real files, which are clean.

// Fixtures and temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

#[path = "../../storage/src/tests/fixture.rs"]
#[allow(dead_code, reason = "tests of the room below need the rest")]
mod fixture;
mod live;
mod planted;
mod snapshots;
#[path = "../../storage/src/tests/tables.rs"]
#[allow(dead_code, reason = "as above")]
mod tables;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use duramen_base::{AllocUnitId, DbId, FileId, PAGE_BYTES};
use duramen_format::PageBytes;
use duramen_format::alloc::{
    bit_set, format_bitmap, format_iam, format_pfs, iam_set_single, pfs, pfs_set,
};
use duramen_format::boot::{Boot, FileHeader};
use duramen_format::page::{PageMut, page_type, seal};
use duramen_os::Env;
use duramen_wal::{Growth, Log, LogConfig, LogFileSpec};

use super::*;

static DIRS: AtomicU32 = AtomicU32::new(0);
const PAGES: u32 = 64;
const IAM_PAGE: u32 = 16;
const SINGLE: u32 = 17;
const FIRST: u32 = 24;

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn dir() -> Dir {
    let n = DIRS.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("duramen-check-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    Dir(dir)
}

struct Image(Vec<PageBytes>);

impl Image {
    fn page(&mut self, n: u32) -> &mut PageBytes {
        &mut self.0[n as usize]
    }

    /// Changes a page and seals it again: what a bug does, not what a disk does.
    fn change(&mut self, n: u32, f: impl FnOnce(&mut PageBytes)) {
        f(self.page(n));
        seal(self.page(n));
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.concat()
    }
}

fn header(file: u16) -> FileHeader {
    FileHeader {
        binding: [7; 16],
        file_id: file,
        filegroup: 1,
        size: PAGES,
        max_size: None,
        growth: 8,
        min_size: PAGES,
        logical_name: "t".into(),
        own: true,
        ..FileHeader::default()
    }
}

fn boot() -> Boot {
    let mut page = [0; PAGE_BYTES];
    page[1] = page_type::BOOT;
    Boot::read(&page).unwrap()
}

/// A file with one allocation unit: its IAM page and one single page in mixed extent 2, two pages in extent 3.
fn image(file: u16) -> Image {
    let mut image = Image(vec![[0; PAGE_BYTES]; PAGES as usize]);
    let id = |n| PageId::new(file, n);
    let unit = AllocUnitId::from_parts(256, 77);
    header(file).format(image.page(0)).unwrap();
    let p = image.page(1);
    format_pfs(p, id(1)).unwrap();
    for n in [0, 1, 2, 3, 6, 7] {
        pfs_set(p, n, pfs::ALLOCATED | 4);
    }
    if file == 1 {
        pfs_set(p, 9, pfs::ALLOCATED | 4);
        boot().format(image.page(9)).unwrap();
    }
    let p = image.page(1);
    pfs_set(p, IAM_PAGE, pfs::ALLOCATED | pfs::MIXED | pfs::IAM);
    pfs_set(p, SINGLE, pfs::ALLOCATED | pfs::MIXED | 1);
    pfs_set(p, FIRST, pfs::ALLOCATED | 1);
    pfs_set(p, FIRST + 1, pfs::ALLOCATED | 1);
    for (n, kind, fill) in [
        (2, page_type::GAM, true),
        (3, page_type::SGAM, false),
        (6, page_type::DIFF_MAP, false),
        (7, page_type::ML_MAP, false),
    ] {
        format_bitmap(image.page(n), id(n), kind, id(0), fill).unwrap();
    }
    for extent in [0, 1, 2, 3] {
        bit_set(image.page(2), extent, extent == 1 && file != 1);
    }
    bit_set(image.page(3), 2, true);
    let iam = image.page(IAM_PAGE);
    format_iam(iam, id(IAM_PAGE), unit, id(0), 0).unwrap();
    iam_set_single(iam, 0, id(SINGLE));
    bit_set(iam, FIRST / 8, true);
    for n in [SINGLE, FIRST, FIRST + 1] {
        let mut p = PageMut::new(image.page(n));
        p.format(id(n), page_type::DATA, unit, 0, 8);
        for slot in 0..20 {
            let row = [0x10, 0, 8, 0, slot as u8, 2, 3, 4, 1, 0, 0];
            p.insert_record(slot, &row).unwrap();
        }
    }
    for n in 0..PAGES {
        if image.page(n)[0] != 0 {
            seal(image.page(n));
        }
    }
    image
}

fn check_image(image: &Image) -> FileReport {
    let dir = dir();
    let path = dir.0.join("t.mdf");
    std::fs::write(&path, image.bytes()).unwrap();
    let mut reports = check_directory(&*Env::real().disk, &dir.0).unwrap();
    assert_eq!(reports.len(), 1);
    reports.remove(0)
}

fn numbers(report: &FileReport) -> Vec<(u32, Option<u32>)> {
    let found = report.findings.iter();
    found.map(|f| (f.number, f.page.map(|p| p.page))).collect()
}

#[test]
fn a_sound_file_is_clean() {
    for file in [1, 3] {
        let report = check_image(&image(file));
        assert_eq!(report.findings, []);
        // Six of the file, the boot page, four of the allocation unit.
        let pages = if file == 1 { 11 } else { 10 };
        let expected = format!("data file {file}: {pages} of 64 pages checked");
        assert_eq!(report.summary, expected);
    }
}

#[test]
fn a_flipped_bit_on_any_page_in_use_is_found() {
    let used = [0, 1, 2, 3, 6, 7, 9, IAM_PAGE, SINGLE, FIRST, FIRST + 1];
    for n in used {
        for at in [1, 4, 5, 23, 33, 61, 97, 200, 4000, 8190] {
            let mut bad = image(1);
            bad.page(n)[at] ^= 2;
            let report = check_image(&bad);
            assert!(!report.is_clean(), "page {n}, byte {at}");
            assert!(
                report
                    .findings
                    .iter()
                    .any(|f| f.page.is_some_and(|p| p.page == n)),
                "page {n}, byte {at}: {report:?}"
            );
        }
    }
    let mut unused = image(1);
    unused.page(40)[100] ^= 2;
    assert!(check_image(&unused).is_clean());
}

#[test]
fn each_contradiction_has_its_number() {
    type Damage = fn(&mut Image);
    let cases: [(&str, Damage, u32, u32); 12] = [
        (
            "page written to another place",
            |i| *i.page(FIRST) = *i.page(FIRST + 1),
            8909,
            FIRST,
        ),
        ("page never written", |i| i.page(FIRST).fill(0), 8909, FIRST),
        (
            "other unit",
            |i| i.change(FIRST, |p| p[24] ^= 1),
            2533,
            FIRST,
        ),
        ("slot", |i| i.change(FIRST, |p| p[8190] ^= 8), 8943, FIRST),
        (
            "owned and free",
            |i| i.change(2, |p| bit_set(p, 3, true)),
            8904,
            FIRST,
        ),
        (
            "free and mixed",
            |i| i.change(2, |p| bit_set(p, 2, true)),
            8903,
            IAM_PAGE,
        ),
        (
            "nobody's extent",
            |i| i.change(2, |p| bit_set(p, 5, false)),
            8905,
            40,
        ),
        (
            "nobody's page",
            |i| i.change(1, |p| pfs_set(p, 33, pfs::ALLOCATED)),
            8906,
            33,
        ),
        (
            "IAM bit",
            |i| i.change(1, |p| pfs_set(p, FIRST, 0x70)),
            8948,
            FIRST,
        ),
        (
            "owned, not in use",
            |i| i.change(1, |p| pfs_set(p, SINGLE, 0)),
            8948,
            SINGLE,
        ),
        (
            "two owners",
            |i| i.change(IAM_PAGE, |p| iam_set_single(p, 1, PageId::new(1, FIRST))),
            8910,
            FIRST,
        ),
        (
            "chain",
            |i| {
                i.change(IAM_PAGE, |p| {
                    PageMut::new(p).set_next_page(PageId::new(1, FIRST))
                })
            },
            2575,
            IAM_PAGE,
        ),
    ];
    for (name, damage, number, page) in cases {
        let mut bad = image(1);
        damage(&mut bad);
        let report = check_image(&bad);
        let found = numbers(&report);
        assert!(found.contains(&(number, Some(page))), "{name}: {report:?}");
    }
}

#[test]
fn files_that_are_no_data_files() {
    let dir = dir();
    let path = dir.0.join("t.ndf");
    let whole = image(1).bytes();
    for bytes in [
        &[][..],
        &[1; 100],
        &[0; 8192],
        &[0x5a; 20_000],
        &whole[..9000],
    ] {
        std::fs::write(&path, bytes).unwrap();
        let reports = check_directory(&*Env::real().disk, &dir.0).unwrap();
        assert!(!reports[0].is_clean(), "{} bytes", bytes.len());
    }
    assert!(check_directory(&*Env::real().disk, &dir.0.join("none")).is_err());
}

#[test]
fn an_iam_page_may_own_extents_of_another_file() {
    let dir = dir();
    let below = dir.0.join("drives");
    std::fs::create_dir_all(&below).unwrap();
    let (mut one, mut three) = (image(1), image(3));
    // File 1's IAM page at 18 covers file 3: extent 5, one page of which is in use.
    let unit = AllocUnitId::from_parts(256, 78);
    one.change(18, |p| {
        format_iam(p, PageId::new(1, 18), unit, PageId::new(3, 0), 0).unwrap();
        bit_set(p, 5, true);
    });
    one.change(1, |p| pfs_set(p, 18, 0x70));
    three.change(1, |p| pfs_set(p, 40, 0x41));
    three.change(2, |p| bit_set(p, 5, false));
    three.change(40, |p| {
        PageMut::new(p).format(PageId::new(3, 40), 1, unit, 0, 8)
    });
    std::fs::write(dir.0.join("t.mdf"), one.bytes()).unwrap();
    std::fs::write(below.join("t3.ndf"), three.bytes()).unwrap();
    // A copy is a database of its own.
    std::fs::write(dir.0.join("u.mdf"), image(1).bytes()).unwrap();
    let reports = check_directory(&*Env::real().disk, &dir.0).unwrap();
    assert_eq!(reports.len(), 3);
    assert!(reports.iter().all(FileReport::is_clean), "{reports:?}");
}

#[test]
fn a_log_is_checked_with_its_header_page() {
    let dir = dir();
    let path = dir.0.join("t_log.ldf");
    let spec = LogFileSpec {
        name: "log".to_owned(),
        path: path.clone(),
        file_id: FileId(2),
        size: 1 << 20,
        max_size: None,
        growth: Growth::None,
    };
    let cfg = LogConfig {
        db_name: "t".into(),
        db_id: DbId(902),
        ..LogConfig::default()
    };
    let mut page = [0; PAGE_BYTES];
    header(2).format(&mut page).unwrap();
    seal(&mut page);
    let log = Log::create(&Env::real(), cfg, &spec, &page).unwrap();
    log.shutdown().unwrap();
    let disk = Env::real().disk;
    let report = check_directory(&*disk, &dir.0).unwrap().remove(0);
    assert_eq!(report.findings, []);
    assert_eq!(report.summary, "log: 4 VLFs (1 used), 0 blocks, 0 records");
    let whole = std::fs::read(&path).unwrap();
    for (at, number) in [(100, 824), (8192, 9004), (8192 + 31 * 8192 + 17, 9004)] {
        let mut bad = whole.clone();
        bad[at] ^= 2;
        std::fs::write(&path, &bad).unwrap();
        let report = check_directory(&*disk, &dir.0).unwrap().remove(0);
        assert_eq!(numbers(&report)[0].0, number, "at {at}");
    }
}

#[test]
fn real_files_are_clean() {
    let Some(material) = std::env::var_os("DURAMEN_MATERIAL") else {
        println!("skipped: DURAMEN_MATERIAL is not set");
        return;
    };
    for name in [
        "pubs.mdf",
        "northwnd.mdf",
        "pubs_log.ldf",
        "northwnd_log.ldf",
    ] {
        let path = ["", "real-files", "fixtures/real-files"]
            .iter()
            .map(|sub| Path::new(&material).join(sub).join(name))
            .find(|p| p.exists());
        let Some(path) = path else {
            println!("skipped: {name} is not in DURAMEN_MATERIAL");
            continue;
        };
        let report = check_files(&*Env::real().disk, &[path]).remove(0);
        assert_eq!(report.findings, [], "{name}");
        println!("{}: {:?}", report.summary, report.notes);
    }
}
