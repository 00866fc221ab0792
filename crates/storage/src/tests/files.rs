//! Several files and filegroups: filled, grown, added and removed, with the power going off in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_os::random::Rng;
use duramen_os::sim::{SimDisk, Simulation, seeds};
use duramen_os::sync::Mutex;
use duramen_pool::{DataFileSpec, FileGrowth};

use super::fixture::*;
use crate::*;

fn spec(name: &str, filegroup: u16, pages: u32, growth: FileGrowth) -> DataFileSpec {
    DataFileSpec {
        path: PathBuf::from(format!("/data/{name}.ndf")),
        shown_path: format!(r"D:\data\{name}.ndf"),
        logical_name: name.to_owned(),
        file_id: 0,
        filegroup,
        size: pages,
        max_size: None,
        growth,
    }
}

fn used(db: &Database, file: u16) -> u32 {
    let files = db.files();
    let f = files.iter().find(|f| f.spec.file_id == file).unwrap();
    f.size / 8 - f.free_extents
}

fn fill(engine: &Engine, table: &Rowset, from: i32, rows: i32) -> Result<(), SqlError> {
    let tx = begin(engine, 51);
    for id in from..from + rows {
        if let Err(e) = table.insert(&tx, &row(id, 4000, None)[..2]) {
            engine.rollback(&tx, None)?;
            return Err(e.into());
        }
    }
    engine.commit(&tx, None)?;
    Ok(())
}

#[test]
fn a_table_lives_in_the_files_of_its_filegroup() {
    let disk = Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let group = db.add_filegroup("Archive").unwrap();
        assert_eq!(group, 2);
        assert_eq!(db.add_filegroup("ARCHIVE").unwrap_err().number, 5035);
        assert_eq!(db.add_filegroup("default").unwrap_err().number, 5051);
        let default = FilegroupChange::Default;
        let empty = db.modify_filegroup("Archive", &default).unwrap_err();
        assert_eq!(empty.number, 5050);
        // Twice the free space is twice the extents.
        let small = db
            .add_data_file(&spec("a1", group, 400, FileGrowth::None))
            .unwrap();
        let large = db
            .add_data_file(&spec("a2", group, 800, FileGrowth::None))
            .unwrap();
        assert_eq!((small, large), (3, 4));
        let taken = db.add_data_file(&spec("A1", group, 64, FileGrowth::None));
        assert_eq!(taken.unwrap_err().number, 1828);
        let before = used(&db, 1);
        let table = new_heap(&engine, &db, 400, group).unwrap();
        fill(&engine, &table, 0, 400).unwrap();
        assert_eq!(used(&db, 1), before, "nothing of it is in PRIMARY");
        let (a, b) = (used(&db, small), used(&db, large));
        assert!((a * 2).abs_diff(b) <= 3, "{a} and {b}");
        assert_eq!(db.remove_data_file("a1").unwrap_err().number, 5042);
        assert_eq!(db.remove_filegroup("archive").unwrap_err().number, 5042);
        assert_eq!(db.remove_data_file("t").unwrap_err().number, 5020);
        assert_eq!(db.remove_data_file("none").unwrap_err().number, 5009);
        db.modify_filegroup("Archive", &default).unwrap();
        assert_eq!(db.default_filegroup(), group);
        db.close().unwrap();
        sound(&*env.disk);
        sim.disk()
    });
    let disk = Simulation::new(2).on_disk(disk).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        // Only the primary file is named: the others are found by it.
        let db = open(&engine).unwrap();
        assert_eq!(db.filegroups().len(), 2);
        assert_eq!(db.default_filegroup(), 2);
        assert_eq!(db.files().len(), 3);
        assert_eq!(db.files()[2].spec.shown_path, r"D:\data\a2.ndf");
        let def = heap_numbered(400);
        let tx = begin(&engine, 51);
        assert_eq!(all(&db.rowset(&def), &tx).len(), 400);
        assert_eq!(db.rowset(&def).row_count(), Ok(400));
        // New extents still come from the filegroup.
        let (primary, a) = (used(&db, 1), used(&db, 3));
        fill(&engine, &db.rowset(&def), 1000, 60).unwrap();
        assert_eq!(used(&db, 1), primary);
        assert!(used(&db, 3) > a);
        engine.commit(&tx, None).unwrap();
        let tx = begin(&engine, 51);
        db.drop_storage(&tx, &def).unwrap();
        remove_unit(&db, &tx, 400).unwrap();
        engine.commit(&tx, None).unwrap();
        assert_eq!((used(&db, 3), used(&db, 4)), (1, 1));
        db.remove_data_file("A1").unwrap();
        let last = db.remove_data_file("a2").unwrap_err();
        assert_eq!(last.number, 5031, "the only file of the default filegroup");
        db.modify_filegroup("primary", &FilegroupChange::Default)
            .unwrap();
        db.remove_data_file("a2").unwrap();
        db.remove_filegroup("ARCHIVE").unwrap();
        assert!(!env.disk.exists(Path::new("/data/a1.ndf")));
        // Ids are given again.
        let id = db.add_data_file(&spec("b", 1, 64, FileGrowth::None));
        assert_eq!(id.unwrap(), 3);
        db.close().unwrap();
        sound(&*env.disk);
        sim.disk()
    });
    Simulation::new(3).on_disk(disk).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).unwrap();
        let names: Vec<_> = db
            .files()
            .into_iter()
            .map(|f| f.spec.logical_name)
            .collect();
        assert_eq!(names, ["t", "b"]);
        assert_eq!(db.filegroups().len(), 1);
    });
}

#[test]
fn files_grow_in_turn_and_not_beyond_their_maximum() {
    Simulation::new(4).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let group = db.add_filegroup("g").unwrap();
        let mut one = spec("one", group, 64, FileGrowth::Pages(16));
        one.max_size = Some(96);
        db.add_data_file(&one).unwrap();
        db.add_data_file(&spec("two", group, 64, FileGrowth::Percent(50)))
            .unwrap();
        let sizes = || {
            let files = db.files();
            let size = |n: &str| files.iter().find(|f| f.spec.logical_name == n).unwrap().size;
            (size("one"), size("two"))
        };
        let table = new_heap(&engine, &db, 400, group).unwrap();
        let mut seen = vec![sizes()];
        let mut id = 0;
        while seen.len() < 6 {
            fill(&engine, &table, id, 1).unwrap();
            id += 1;
            if *seen.last().unwrap() != sizes() {
                seen.push(sizes());
            }
        }
        let expected = [(64, 64), (80, 64), (80, 96), (96, 96), (96, 144), (96, 216)];
        assert_eq!(seen, expected);
        let none = FileChange {
            growth: Some(FileGrowth::None),
            ..FileChange::default()
        };
        db.modify_data_file("two", &none).unwrap();
        let full = loop {
            match fill(&engine, &table, id, 1) {
                Ok(()) => id += 1,
                Err(e) => break e,
            }
        };
        assert_eq!((full.number, full.severity), (1101, 17));
        assert!(full.message.contains("filegroup 'g'"), "{full}");
        let names: ObjectNames = Arc::new(|_| Some(("dbo.t".into(), Some("PK_t".into()))));
        db.set_object_names(names);
        let full = fill(&engine, &table, id, 1).unwrap_err();
        let text = "Could not allocate space for object 'dbo.t'.'PK_t' in database 't' because the 'g' filegroup is full.";
        assert!(full.number == 1105 && full.message.starts_with(text), "{full}");
        // The rows that did not fit have left nothing behind.
        let tx = begin(&engine, 51);
        assert_eq!(all(&table, &tx).len() as i32, id);
        assert_eq!(table.row_count(), Ok(id as u64));
        engine.commit(&tx, None).unwrap();
        let change = |f: fn(&mut FileChange)| {
            let mut c = FileChange::default();
            f(&mut c);
            db.modify_data_file("TWO", &c).map_err(|e| e.number)
        };
        assert_eq!(change(|_| {}), Err(5038));
        assert_eq!(change(|c| c.size = Some(216)), Err(5039));
        assert_eq!(change(|c| c.max_size = Some(Some(200))), Err(5040));
        assert_eq!(change(|c| c.name = Some("One".into())), Err(1828));
        assert_eq!(change(|c| c.size = Some(300)), Ok(()));
        assert_eq!(change(|c| c.name = Some("three".into())), Ok(()));
        assert_eq!(change(|c| c.size = Some(400)), Err(5041));
        fill(&engine, &table, id, 1).unwrap();
        db.close().unwrap();
        sound(&*env.disk);
    });
}

#[test]
fn a_growth_over_the_next_maps_formats_them() {
    for instant in [true, false] {
        Simulation::new(5).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            engine.set_instant_file_init(instant);
            let db = create(&engine).unwrap();
            let interval = duramen_format::alloc::GAM_INTERVAL;
            let change = FileChange {
                size: Some(if instant { interval } else { 8088 * 2 } + 160),
                ..FileChange::default()
            };
            db.modify_data_file("t", &change).unwrap();
            let table = new_heap(&engine, &db, 400, 1).unwrap();
            fill(&engine, &table, 0, 40).unwrap();
            if instant {
                // The next extents come from the second GAM interval: another IAM page, other maps.
                let file = db.store.file(1).unwrap();
                *file.alloc.lock() = interval / 8;
                fill(&engine, &table, 40, 40).unwrap();
                let tx = begin(&engine, 51);
                assert_eq!(all(&table, &tx).len(), 80);
                let pages = db.pages_of(table.roots().first_iam).unwrap();
                assert!(pages.iter().any(|p| p.page > interval));
                engine.commit(&tx, None).unwrap();
            }
            assert!(db.is_allocated(duramen_base::PageId::new(1, 8088)).unwrap());
            db.close().unwrap();
            sound(&*env.disk);
        });
    }
}

#[test]
fn the_files_of_tempdb_grow_together() {
    Simulation::new(9).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create_as(&engine, 2, "t").unwrap();
        assert!(db.filegroups()[0].autogrow_all);
        db.add_data_file(&spec("temp2", 0, 128, FileGrowth::Pages(64)))
            .unwrap();
        let sizes = || db.files().iter().map(|f| f.size).collect::<Vec<_>>();
        let before = sizes();
        let table = db.rowset(&heap());
        let mut id = 0;
        while sizes() == before {
            fill(&engine, &table, id, 10).unwrap();
            id += 10;
        }
        let grown: Vec<_> = sizes().iter().zip(&before).map(|(a, b)| a - b).collect();
        assert_eq!(grown, [128, 64]);
        db.remove_data_file("temp2").unwrap_err();
        db.close().unwrap();
    });
}

#[test]
fn room_in_a_heap_is_found_after_a_restart() {
    let rid_pages = |table: &Rowset, tx: &duramen_txn::Transaction| {
        let mut cursor = table.scan(tx, ScanSpec::all(LockHint::Read)).unwrap();
        let mut pages = std::collections::BTreeSet::new();
        while let Some((at, _)) = cursor.next(tx).unwrap() {
            if let RowLocator::Rid(page, _) = at {
                pages.insert(page);
            }
        }
        pages
    };
    let disk = Simulation::new(7).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let table = db.rowset(&heap());
        let tx = begin(&engine, 51);
        let mut places = Vec::new();
        for id in 0..400 {
            places.push(table.insert(&tx, &row(id, 900, None)[..2]).unwrap());
        }
        assert_eq!(rid_pages(&table, &tx).len(), 50);
        engine.commit(&tx, None).unwrap();
        // Every page loses half of its rows.
        let tx = begin(&engine, 51);
        for (i, at) in places.iter().enumerate() {
            if i % 2 == 0 {
                assert!(table.delete(&tx, at).unwrap());
            }
        }
        engine.commit(&tx, None).unwrap();
        db.log().unwrap().flush_all().unwrap();
        sim.disk()
    });
    Simulation::new(8).on_disk(disk.crash(1)).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = open(&engine).unwrap();
        let table = db.rowset(&heap());
        let tx = begin(&engine, 51);
        let before = rid_pages(&table, &tx);
        for id in 1000..1180 {
            table.insert(&tx, &row(id, 900, None)[..2]).unwrap();
        }
        let after = rid_pages(&table, &tx);
        assert_eq!(after, before, "the new rows are on the old pages");
        engine.commit(&tx, None).unwrap();
        db.close().unwrap();
        sound(&*env.disk);
    });
}

/// The files that a database may have after a crash: each call either did everything or nothing.
#[derive(Default)]
struct Promise {
    /// Logical names before and after the call that runs now.
    before: Vec<String>,
    after: Vec<String>,
    rows: i32,
}

/// `-E`: a file gives 64 extents before it is the next one's turn.
#[test]
fn a_file_gives_as_many_extents_as_its_turn_has() {
    Simulation::new(9).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        engine.set_extents_in_turn(64);
        let db = create(&engine).unwrap();
        let group = db.add_filegroup("g").unwrap();
        let add = |name| db.add_data_file(&spec(name, group, 1600, FileGrowth::None));
        let files = [add("a").unwrap(), add("b").unwrap()];
        let table = new_heap(&engine, &db, 400, group).unwrap();
        let now = || {
            let mut used = files.map(|f| used(&db, f));
            used.sort();
            used
        };
        let before = now();
        // Two rows a page, 16 an extent.
        fill(&engine, &table, 0, 16 * 60).unwrap();
        let [less, more] = now();
        assert!(less == before[0] && more >= 60, "{less} and {more}");
        fill(&engine, &table, 1000, 16 * 66).unwrap();
        let [less, more] = now();
        assert!(less.min(more) >= 60, "{less} and {more}");
        db.close().unwrap();
        sound(&*env.disk);
    });
}

fn names(db: &Database) -> Vec<String> {
    let mut names: Vec<_> = db
        .files()
        .into_iter()
        .map(|f| f.spec.logical_name)
        .collect();
    names.sort();
    names
}

/// Adds and removes files, fills and drops tables in them, until the power goes.
fn work(
    engine: &Arc<Engine>,
    db: &Arc<Database>,
    rng: &mut Rng,
    promise: &Mutex<Promise>,
) -> Result<(), SqlError> {
    let group = match db.filegroup("g") {
        Some(g) => g.id,
        None => db.add_filegroup("g")?,
    };
    let mut table: Option<(u16, Rowset)> = None;
    let mut number = 400 + (rng.below(1000) as u16) * 20;
    for _ in 0..40 {
        let have = names(db);
        let free = (0..4).map(|n| format!("f{n}")).find(|n| !have.contains(n));
        match rng.below(6) {
            0 | 1 => {
                let Some(name) = free else { continue };
                let target = if rng.one_in(3) { 1 } else { group };
                let new = spec(
                    &name,
                    target,
                    64,
                    FileGrowth::Pages(8 + rng.below(64) as u32),
                );
                let mut after = have.clone();
                after.push(name);
                after.sort();
                *promise.lock() = Promise {
                    before: have,
                    after: after.clone(),
                    rows: 0,
                };
                db.add_data_file(&new)?;
                promise.lock().before = after;
            }
            2 => {
                let victim = format!("f{}", rng.below(4));
                let mut after = have.clone();
                after.retain(|n| *n != victim);
                *promise.lock() = Promise {
                    before: have,
                    after: after.clone(),
                    rows: 0,
                };
                match db.remove_data_file(&victim) {
                    Ok(()) => promise.lock().before = after,
                    Err(e) if [5042, 5009].contains(&e.number) => {
                        let mut p = promise.lock();
                        p.after = p.before.clone();
                    }
                    Err(e) => return Err(e),
                }
            }
            3 => {
                if let Some((n, _)) = table.take() {
                    let tx = begin(engine, 51);
                    db.drop_storage(&tx, &heap_numbered(n))?;
                    remove_unit(db, &tx, n)?;
                    if rng.one_in(3) {
                        engine.rollback(&tx, None)?;
                    } else {
                        engine.commit(&tx, None)?;
                    }
                }
            }
            _ => {
                if table.is_none() && db.files().iter().any(|f| f.spec.filegroup == group) {
                    number += 1;
                    table = Some((number, new_heap(engine, db, number, group)?));
                }
                if let Some((_, t)) = &table {
                    fill(engine, t, 0, rng.below(80) as i32)?;
                }
            }
        }
        if rng.one_in(10) {
            db.checkpoint()?;
        }
    }
    Ok(())
}

fn crash_with_files(seed: u64) {
    let mut rng = Rng::new(seed);
    let promise = Arc::new(Mutex::new(Promise::default()));
    let off_after = 10 + rng.below(400);
    let kept = promise.clone();
    let mut disk = Simulation::new(seed).run(move |sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 2 << 20);
        let db = create(&engine).unwrap();
        kept.lock().before = names(&db);
        kept.lock().after = names(&db);
        sim.disk().power_off_after(off_after);
        let result = work(&engine, &db, &mut rng, &kept);
        assert!(result.is_ok() || sim.disk().is_off(), "{result:?}");
        sim.disk()
    });
    for round in 0..3u64 {
        disk = disk.crash(seed.wrapping_mul(37).wrapping_add(round));
        let cut = (round < 2).then_some(1 + (seed + round * 13) % 40);
        let kept = promise.clone();
        disk = Simulation::new(seed + 2000 + round)
            .on_disk(disk)
            .run(move |sim| {
                if let Some(n) = cut {
                    sim.disk().power_off_after(n);
                }
                let env = duramen_os::Env::with_disk(sim.disk());
                let config = EngineConfig {
                    memory: 2 << 20,
                    doublewrite_path: "/data/duramen.dwb".into(),
                };
                let opened = Engine::new(&env, &config).and_then(|e| Ok((open(&e)?, e)));
                match opened {
                    Ok((db, _engine)) => {
                        let p = kept.lock();
                        let found = names(&db);
                        let fits = found == p.before || found == p.after;
                        assert!(
                            fits,
                            "{found:?}: {:?} or {:?}, {}",
                            p.before, p.after, p.rows
                        );
                        if db.close().is_ok() && !sim.disk().is_off() {
                            sound(&*env.disk);
                        }
                    }
                    Err(e) => assert!(sim.disk().is_off(), "recovery failed: {e}"),
                }
                sim.disk()
            });
    }
}

#[test]
fn a_crash_leaves_the_files_before_or_after_and_loses_no_page() {
    for seed in seeds(1, 12) {
        crash_with_files(seed);
    }
}

/// A change of the file list is cut off at each of its writes, and then the recovery from that at each of its own: the next
/// start finds every file that the list on the disk wants.
fn cut_twice(base: &Arc<SimDisk>, allowed: &[&[&str]], change: fn(&Database) -> SqlResult<()>) {
    let start = |disk: Arc<SimDisk>, off: Option<u64>, seed: u64| {
        Simulation::new(seed).on_disk(disk).run(move |sim| {
            if let Some(n) = off {
                sim.disk().power_off_after(n);
            }
            let env = duramen_os::Env::with_disk(sim.disk());
            let config = EngineConfig {
                memory: 2 << 20,
                doublewrite_path: "/data/duramen.dwb".into(),
            };
            let opened = Engine::new(&env, &config).and_then(|e| Ok((open(&e)?, e)));
            let found = opened.map(|(db, _engine)| names(&db));
            (sim.disk(), found)
        })
    };
    for k in 1.. {
        let first = Simulation::new(k).on_disk(base.crash(k)).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 2 << 20);
            let db = open(&engine).unwrap();
            sim.disk().power_off_after(k);
            let result = change(&db);
            assert!(result.is_ok() || sim.disk().is_off(), "{result:?}");
            sim.disk()
        });
        for j in 1.. {
            let (second, cut) = start(first.crash(j), Some(j), k + j);
            let was_off = second.is_off();
            assert!(cut.is_ok() || was_off, "{k}, {j}: {cut:?}");
            let (_, found) = start(second.crash(k * 31 + j), None, k + j);
            let found = found.unwrap_or_else(|e| panic!("{k}, {j}: {e}"));
            assert!(allowed.contains(&&*strs(&found)), "{k}, {j}: {found:?}");
            if !was_off {
                break;
            }
        }
        if !first.is_off() {
            break;
        }
    }
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn a_second_crash_in_recovery_finds_its_files() {
    let with = |file: Option<&'static str>| {
        Simulation::new(1).run(move |sim| {
            let env = duramen_os::Env::with_disk(sim.disk());
            let engine = engine(&env, 2 << 20);
            let db = create(&engine).unwrap();
            let group = db.add_filegroup("g").unwrap();
            if let Some(name) = file {
                db.add_data_file(&spec(name, group, 64, FileGrowth::None))
                    .unwrap();
            }
            db.close().unwrap();
            sim.disk()
        })
    };
    let (one, two): (&[&str], &[&str]) = (&["t"], &["f", "t"]);
    cut_twice(&with(Some("f")), &[one, two], |db| db.remove_data_file("f"));
    cut_twice(&with(None), &[one, two], |db| {
        db.add_data_file(&spec("f", 2, 64, FileGrowth::None))
            .map(|_| ())
    });
}

/// Whoever takes a page holds the unit's cursor while a file grows for it. When the log refuses that growth, its rollback
/// forgets what cursors remember, and must not wait for this one.
#[test]
fn a_growth_that_the_log_refuses_ends_with_an_error() {
    Simulation::new(1).run(|sim| {
        let env = duramen_os::Env::with_disk(sim.disk());
        let engine = engine(&env, 4 << 20);
        let db = create(&engine).unwrap();
        let group = db.add_filegroup("Archive").unwrap();
        let growth = FileGrowth::Pages(64);
        let file = db.add_data_file(&spec("a", group, 64, growth)).unwrap();
        let table = new_heap(&engine, &db, 400, group).unwrap();
        let free = || {
            let files = db.files();
            let here = files.iter().find(|f| f.spec.file_id == file);
            here.map_or(0, |f| f.free_extents)
        };
        // Two rows a page, sixteen an extent: until every page of the file is full.
        let mut next = 0;
        while free() > 0 {
            fill(&engine, &table, next, 1).unwrap();
            next += 1;
        }
        fill(&engine, &table, next, 15).unwrap();
        assert_eq!(free(), 0, "the next row needs a growth");
        let tx = begin(&engine, 52);
        db.log().unwrap().abandon();
        assert!(table.insert(&tx, &row(next + 15, 4000, None)[..2]).is_err());
    });
}
