//! Files of an earlier version: their marks are raised whatever a crash does, and before the log gets a record of ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use duramen_base::{FileId, PAGE_BYTES, PageId, SqlResult};
use duramen_format::PageBytes;
use duramen_format::boot::{BOOT_PAGE, FileHeader};
use duramen_format::page::{Verify, seal, verify};
use duramen_format::version::{FORMAT_VERSION, is_whole, too_new};
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::{Disk, Env, OpenOptions};
use duramen_pool::DataFileSpec;
use duramen_wal::LogFileSpec;
use duramen_wal::record::Lcx;

use super::fixture::*;
use super::tables::tables;
use crate::marks::version_of_file;
use crate::*;

/// The last byte of the boot page's mark, and bytes before and behind it, by their places in the record.
const MARK_ENDS: usize = 1415;
const BEFORE: usize = 1336;
const BEHIND: usize = 1472;
const HEADER: usize = 96;
const FILES: [&str; 4] = ["t.mdf", "t2.ndf", "t_log.ldf", "t_log2.ldf"];
const KEPT: i32 = 20;

fn path(name: &str) -> PathBuf {
    Path::new("/data").join(name)
}

fn logs() -> Vec<LogFileSpec> {
    let mut all = log_files("t");
    all.push(LogFileSpec {
        name: "log2".to_owned(),
        path: path("t_log2.ldf"),
        file_id: FileId(4),
        ..all[0].clone()
    });
    all
}

fn new_engine(env: &Env) -> SqlResult<Arc<Engine>> {
    let config = EngineConfig {
        memory: 4 << 20,
        doublewrite_path: path("duramen.dwb"),
    };
    Engine::new(env, &config)
}

fn opened(env: &Env) -> SqlResult<Arc<Database>> {
    opened_on(&new_engine(env)?)
}

fn opened_on(engine: &Arc<Engine>) -> SqlResult<Arc<Database>> {
    let spec = OpenDatabase {
        id: duramen_base::DbId(5),
        name: "t".to_owned(),
        data: data_files("t"),
        log: logs(),
        sector: 512,
        model: crate::RecoveryModel::Simple,
        restored: false,
    };
    Database::open(engine, &spec)
}

fn read(disk: &dyn Disk, name: &str, at: u64, into: &mut [u8]) {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = disk.open(&path(name), &options).unwrap();
    file.read_at(into, at).unwrap();
}

/// The last bytes of all marks of a page.
fn marks(page: &[u8]) -> Vec<usize> {
    let found = page.windows(15).enumerate();
    let found = found.filter(|(_, w)| *w == b"DURAMEN-FORMAT-");
    found.map(|(at, _)| at + 15).collect()
}

/// Where the pages with marks are.
const MARKED: [(&str, u32); 5] = [
    ("t.mdf", 0),
    ("t.mdf", BOOT_PAGE),
    ("t2.ndf", 0),
    ("t_log.ldf", 0),
    ("t_log2.ldf", 0),
];

/// The versions of all marks.
fn versions(disk: &Arc<SimDisk>) -> Vec<u8> {
    let all = MARKED.into_iter().map(|(name, number)| {
        let mut page = [0; PAGE_BYTES];
        let at = u64::from(number) * PAGE_BYTES as u64;
        read(&*disk.fork().env().disk, name, at, &mut page);
        assert_eq!(marks(&page).len(), 1, "{name} {number}");
        page[marks(&page)[0]] - b'0'
    });
    all.collect()
}

/// Makes the files those of version 1. Nothing is in flight to them: the double-write file is emptied.
fn lower(disk: &SimDisk) {
    for (name, number) in MARKED {
        let at = u64::from(number) * PAGE_BYTES as u64;
        let mut page: PageBytes = [0; PAGE_BYTES];
        page.copy_from_slice(
            &disk.durable_bytes(&path(name)).unwrap()[at as usize..][..PAGE_BYTES],
        );
        page[marks(&page)[0]] = b'1';
        seal(&mut page);
        disk.damage(&path(name), at, &page).unwrap();
    }
    let dwb = path("duramen.dwb");
    let bytes = disk.durable_bytes(&dwb).unwrap().len();
    disk.damage(&dwb, 0, &vec![0; bytes]).unwrap();
}

/// Changes of the boot page as a server of version 1 has logged them: on both sides of the mark, in one record.
fn change_boot_as_before(db: &Arc<Database>, tx: &duramen_txn::Transaction, to: u8) {
    let id = PageId::new(1, BOOT_PAGE);
    let mut page = db.write_page(id).unwrap();
    let old = page.page().expect_record(0).unwrap().to_vec();
    let mut new = old.clone();
    (new[BEFORE], new[BEHIND]) = (to, to);
    assert_eq!((old[MARK_ENDS], new[MARK_ENDS]), (b'1', b'1'));
    db.replace_record(tx, id, &mut page, (0, &old, &new), Lcx::BOOT_PAGE)
        .unwrap();
}

/// A database of version 1 at the loss of power: with log to redo and to undo.
fn earlier() -> Arc<SimDisk> {
    let disk = SimDisk::new(31);
    Simulation::new(31).on_disk(disk.clone()).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let group = db.add_filegroup("g").unwrap();
        db.add_data_file(&DataFileSpec {
            path: path("t2.ndf"),
            shown_path: "/data/t2.ndf".to_owned(),
            logical_name: "t2".to_owned(),
            file_id: 3,
            filegroup: group,
            ..data_files("t")[0].clone()
        })
        .unwrap();
        db.add_log_file(&logs()[1]).unwrap();
        let tables = tables(&db);
        let kept = begin(&engine, 51);
        for id in 0..KEPT {
            tables.insert(&kept, id, 300, Some(id)).unwrap();
            if id == KEPT / 2 {
                db.checkpoint().unwrap();
            }
        }
        engine.commit(&kept, None).unwrap();
        let id = PageId::new(1, BOOT_PAGE);
        let mut page = db.write_page(id).unwrap();
        page.change().bytes_mut()[HEADER + MARK_ENDS] = b'1';
        drop(page);
        let redone = db.own_transaction("LogBackup");
        change_boot_as_before(&db, &redone, 7);
        engine.commit(&redone, None).unwrap();
        let undone = db.own_transaction("LogBackup");
        change_boot_as_before(&db, &undone, 8);
        let lost = begin(&engine, 52);
        for id in 0..KEPT {
            tables.insert(&lost, 100 + id, 300, None).unwrap();
        }
        db.log().unwrap().flush_all().unwrap();
    });
    let disk = disk.crash(1);
    lower(&disk);
    disk
}

/// What a server of version 1 would do with these files: refuse one of them, or take them for its own.
fn an_earlier_server_believes(disk: &Arc<SimDisk>) -> bool {
    let disk = disk.fork().env().disk;
    FILES
        .iter()
        .all(|f| too_new("t", version_of_file(&*disk, &path(f)), 1).is_ok())
}

/// How many log blocks begin in the log files, by what each of them begins with.
fn blocks(disk: &Arc<SimDisk>) -> usize {
    let disk = disk.fork().env().disk;
    let count = |spec: &LogFileSpec| {
        let name = spec.path.file_name().unwrap().to_str().unwrap();
        let mut bytes = vec![0; spec.size as usize];
        read(&*disk, name, 0, &mut bytes);
        let heads = bytes.chunks(512).skip(16);
        heads.filter(|s| &s[28..32] == b"DuLB").count()
    };
    logs().iter().map(count).sum()
}

/// Opens what is on the disk; everything says this version then, and holds what it held.
fn opens(disk: &Arc<SimDisk>) {
    Simulation::new(33).on_disk(disk.clone()).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let db = opened(&env).unwrap();
        let tables = tables(&db);
        let tx = begin(&db.engine, 51);
        for rowset in [&tables.table, &tables.index, &tables.heap] {
            assert_eq!(all(rowset, &tx).len(), KEPT as usize);
        }
        db.engine.commit(&tx, None).unwrap();
        let page = db.read_page(PageId::new(1, BOOT_PAGE)).unwrap();
        let record = page.page().expect_record(0).unwrap().bytes();
        assert_eq!((record[BEFORE], record[BEHIND]), (7, 7));
        drop(page);
        assert_eq!(versions(&sim.disk()), [FORMAT_VERSION; MARKED.len()]);
        db.close().unwrap();
        sound(&*env.disk);
    });
}

/// Opens until the power goes; gives the changes of the disk.
fn open_until(disk: &Arc<SimDisk>, cut: Option<u64>) -> u64 {
    let before = disk.changes();
    if let Some(n) = cut {
        disk.power_off_after(n);
    }
    Simulation::new(32).on_disk(disk.clone()).run(|sim| {
        let db = opened(&Env::with_disk(sim.disk()));
        assert!(db.is_ok() || disk.is_off(), "{:?}", db.err());
        disk.changes() - before
    })
}

#[test]
fn marks_are_raised_whatever_a_crash_does() {
    let base = earlier();
    assert_eq!(versions(&base), [1; MARKED.len()]);
    assert!(an_earlier_server_believes(&base));
    let whole = base.fork();
    let changes = open_until(&whole, None);
    assert_eq!(versions(&whole), [FORMAT_VERSION; MARKED.len()]);
    assert!(!an_earlier_server_believes(&whole));
    opens(&base.fork());
    let (mut halves, mut mixed, mut believed) = (0, 0, 0);
    for cut in 0..changes {
        let disk = base.fork();
        open_until(&disk, Some(cut));
        for seed in 0..6 {
            let disk = disk.crash(cut * 6 + seed);
            let mut header: PageBytes = [0; PAGE_BYTES];
            read(&*disk.fork().env().disk, "t_log.ldf", 0, &mut header);
            assert!(is_whole(&header), "{cut} {seed}");
            halves += u32::from(verify(&header) != Verify::Ok);
            let found = versions(&disk);
            mixed += u32::from(found.iter().any(|v| *v != found[0]));
            if an_earlier_server_believes(&disk) {
                believed += 1;
                assert_eq!(blocks(&disk), blocks(&base), "{cut} {seed}");
            }
            opens(&disk);
        }
    }
    println!("{changes} changes: {halves} halves, {mixed} mixed, {believed} believed");
    assert!(halves > 0 && mixed > 0 && believed > 0);
}

/// Undo puts bytes back that have the earlier mark among them, and the checkpoint that would write the boot page anew is put off.
#[test]
fn undo_does_not_bring_the_earlier_mark_back() {
    let disk = earlier();
    Simulation::new(34).on_disk(disk).run(|sim| {
        let engine = new_engine(&Env::with_disk(sim.disk())).unwrap();
        engine.checkpoint_debt.store(0, SeqCst);
        let db = opened_on(&engine).unwrap();
        assert!(db.owes_checkpoint.load(SeqCst));
        let page = db.read_page(PageId::new(1, BOOT_PAGE)).unwrap();
        let record = page.page().expect_record(0).unwrap().bytes();
        assert_eq!((record[BEFORE], record[BEHIND]), (7, 7));
        assert_eq!(record[MARK_ENDS], b'0' + FORMAT_VERSION);
        drop(page);
        assert_eq!(versions(&sim.disk()), [FORMAT_VERSION; MARKED.len()]);
    });
}

/// Only the mark of a header may be in doubt.
#[test]
fn a_header_with_another_wrong_byte_is_not_whole() {
    let base = earlier();
    let mut header: PageBytes = [0; PAGE_BYTES];
    read(&*base.env().disk, "t_log.ldf", 0, &mut header);
    let last = marks(&header)[0];
    for (version, whole) in [(b'1', true), (b'2', true), (b'3', false), (b'0', false)] {
        let mut page = header;
        page[last] = version;
        assert_eq!(is_whole(&page), whole, "{version}");
        page[HEADER + 4] ^= 1;
        assert!(!is_whole(&page), "{version}");
    }
    let mut page = header;
    page[last] = b'3';
    seal(&mut page);
    assert!(is_whole(&page), "a newer one is refused by its number");
}

/// A double-write file as the first version wrote it, with the boot page, which is torn in its place.
fn first_double_write(base: &Arc<SimDisk>, batch: u64) -> Arc<SimDisk> {
    let disk = base.fork();
    let bytes = disk.durable_bytes(&path("t.mdf")).unwrap();
    let boot = BOOT_PAGE as usize * PAGE_BYTES;
    let page = &bytes[boot..boot + PAGE_BYTES];
    let header = bytes[..PAGE_BYTES].try_into().unwrap();
    let mut file = vec![0; 2 * PAGE_BYTES];
    file[..16].copy_from_slice(b"DURAMEN-DWRITE-1");
    file[16..24].copy_from_slice(&batch.to_le_bytes());
    file[24..28].copy_from_slice(&1_u32.to_le_bytes());
    file[64..80].copy_from_slice(&FileHeader::read(&header).unwrap().binding);
    file[80..82].copy_from_slice(&1_u16.to_le_bytes());
    file[84..88].copy_from_slice(&BOOT_PAGE.to_le_bytes());
    file[88..92].copy_from_slice(&crc32c::crc32c(page).to_le_bytes());
    let crc = crc32c::crc32c(&file[..PAGE_BYTES]);
    file[28..32].copy_from_slice(&crc.to_le_bytes());
    file[PAGE_BYTES..].copy_from_slice(page);
    disk.damage(&path("duramen.dwb"), 0, &file).unwrap();
    let torn = boot as u64 + 512;
    disk.damage(&path("t.mdf"), torn, &[0; PAGE_BYTES - 512])
        .unwrap();
    disk
}

#[test]
fn the_first_double_write_file_repairs_what_it_has() {
    let base = earlier();
    for batch in [1, 2] {
        let first = first_double_write(&base, batch);
        opens(&first.fork());
        for cut in 0..open_until(&first.fork(), None) {
            let disk = first.fork();
            open_until(&disk, Some(cut));
            opens(&disk.crash(cut));
        }
    }
    // A page that does not have its checksum is none: its batch was cut short, and had touched no place.
    let disk = first_double_write(&base, 2);
    let whole = base.durable_bytes(&path("t.mdf")).unwrap();
    disk.damage(&path("t.mdf"), 0, &whole).unwrap();
    disk.damage(&path("duramen.dwb"), 5000 + PAGE_BYTES as u64, &[1])
        .unwrap();
    opens(&disk);
}

/// The page of a database that is not open yet outlives the batches of others, also those that are cut short.
#[test]
fn the_first_double_write_file_is_kept_until_its_databases_come() {
    let base = earlier();
    let making = |disk: &Arc<SimDisk>, cut: Option<u64>| {
        let before = disk.changes();
        if let Some(n) = cut {
            disk.power_off_after(n);
        }
        Simulation::new(35).on_disk(disk.clone()).run(|sim| {
            let made = new_engine(&Env::with_disk(sim.disk())).and_then(|e| create_as(&e, 6, "u"));
            assert!(made.is_ok() || disk.is_off(), "{:?}", made.err());
            disk.changes() - before
        })
    };
    for batch in [1, 2] {
        let first = first_double_write(&base, batch);
        for cut in 0..=making(&first.fork(), None) {
            let disk = first.fork();
            making(&disk, Some(cut));
            let disk = disk.crash(cut);
            for name in ["u.mdf", "u_log.ldf"] {
                let _ = disk.env().disk.remove(&path(name));
            }
            opens(&disk);
        }
    }
}
