//! Rot: one bit turns in a page of the data file, in the header page of the log file or in the double-write file. The open
//! refuses it, or who reads the page hears 824, or the offline check finds it; and what is read all the same is true.
//!
//! Every bit of the header of every page in use, and bits anywhere in them; a slice of them without `DURAMEN_SEEDS=2`. Then
//! bits anywhere in any file, as many as are asked for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use duramen_check::check_directory;
use duramen_format::page::PageRef;
use duramen_os::random::Rng;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_os::time;

use super::asked;
use super::work::{Base, Life, Step, caught};

const DATA: &str = "/data/t.mdf";
const LOG: &str = "/data/t_log.ldf";
const DOUBLE_WRITE: &str = "/data/duramen.dwb";
const PAGE: u64 = 8192;
const HEADER: u64 = 96;

/// Who noticed.
#[derive(Default, Debug)]
struct Noticed {
    /// The open.
    refused: u64,
    /// Whoever used the page.
    used: u64,
    /// The offline check alone: nobody reads the page, or the double-write file has put it right.
    checked: u64,
    /// Nobody: what turned means nothing.
    nothing: u64,
}

fn turn(disk: &Arc<SimDisk>, path: &str, at: u64, bit: u32) -> Arc<SimDisk> {
    let disk = disk.fork();
    let byte = disk.durable_bytes(Path::new(path)).expect("it is there")[at as usize];
    disk.damage(Path::new(path), at, &[byte ^ 1 << bit])
        .expect("within the file");
    disk
}

/// Opens, reads everything, changes something. What the first error says, or that there was none; the data must be true.
fn used(disk: &Arc<SimDisk>, base: &Base) -> Result<Option<(bool, i32)>, String> {
    let simulation = Simulation::new(5).on_disk(disk.clone());
    simulation.starting_at(Duration::from_secs(100)).run(|_| {
        let mut life = match Life::open(disk, base.promise.clone()) {
            Ok(life) => life,
            Err(e) => return Ok(Some((true, e.number))),
        };
        let found = life.state();
        let worked = found.and_then(|found| {
            let true_ones = &base.promise.states[base.promise.durable..];
            assert!(true_ones.contains(&found), "{found:?} is read");
            for step in [Step::Insert, Step::Commit, Step::CreateTable, Step::Close] {
                life.step(step)?;
            }
            Ok(())
        });
        life.end();
        Ok(worked.err().map(|e| (false, e.number)))
    })
}

/// One bit. `matters`: somebody has to notice.
fn one(
    base: &Base,
    path: &str,
    at: u64,
    bit: u32,
    matters: bool,
    seen: &mut Noticed,
) -> Result<(), String> {
    let disk = turn(&base.disk, path, at, bit);
    let reports = check_directory(&*disk, Path::new("/data")).map_err(|e| e.to_string())?;
    let checked = reports.iter().any(|r| !r.findings.is_empty());
    match caught(|| used(&disk, base))? {
        Some((true, _)) => seen.refused += 1,
        Some((false, 824 | 823 | 9004)) => seen.used += 1,
        Some((false, number)) => return Err(format!("it is error {number}")),
        None if checked => seen.checked += 1,
        None if matters => return Err("nobody notices".to_owned()),
        None => seen.nothing += 1,
    }
    Ok(())
}

/// Numbers of the pages in use: those that have a type.
fn pages(bytes: &[u8]) -> Vec<u64> {
    let typed = |page: &[u8]| {
        let page = page.try_into().ok().map(PageRef::new);
        page.is_some_and(|p| p.page_type() != 0)
    };
    let numbered = bytes.chunks_exact(PAGE as usize).enumerate();
    numbered
        .filter(|(_, page)| typed(page))
        .map(|(n, _)| n as u64)
        .collect()
}

#[test]
fn no_turned_bit_of_a_page_is_silent() {
    let long = asked() > Some(1);
    let started = time::now();
    let base = Base::closed();
    let bytes = base.disk.durable_bytes(Path::new(DATA)).unwrap();
    let pages = pages(&bytes);
    assert!(pages.len() > 15, "{pages:?}");
    let mut seen = Noticed::default();
    let mut silent = Vec::new();
    let mut rng = Rng::new(1);
    let mut bits: Vec<(&str, u64)> = Vec::new();
    for page in &pages {
        let at = page * PAGE * 8;
        bits.extend((0..HEADER * 8).map(|bit| (DATA, at + bit)));
        bits.extend((0..100).map(|_| (DATA, at + rng.below(PAGE * 8))));
    }
    bits.extend((0..HEADER * 8).map(|bit| (LOG, bit)));
    let every = if long { 1 } else { 211 };
    for (path, bit) in bits.iter().step_by(every) {
        if let Err(e) = one(&base, path, bit / 8, (bit % 8) as u32, true, &mut seen) {
            silent.push(format!(
                "{path} page {} byte {} bit {}: {e}",
                bit / 8 / PAGE,
                bit / 8 % PAGE,
                bit % 8
            ));
        }
    }
    println!(
        "{} pages, {} bits turned, {seen:?}, {} silent: {:.1} s",
        pages.len(),
        bits.len().div_ceil(every),
        silent.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(
        silent.is_empty(),
        "{} are silent: {:#?}",
        silent.len(),
        &silent[..silent.len().min(30)]
    );
}

/// The double-write file of a database that lost its power: what it says is believed whole or not at all.
#[test]
fn no_turned_bit_of_the_double_write_file_is_believed() {
    let every = if asked() > Some(1) { 1 } else { 97 };
    let mut seen = Noticed::default();
    let mut turned = 0;
    for base in [Base::closed(), Base::crashed()] {
        let bytes = base.disk.durable_bytes(Path::new(DOUBLE_WRITE)).unwrap();
        let half = bytes.len() as u64 / 2;
        let mut rng = Rng::new(2);
        let mut at: Vec<u64> = Vec::new();
        for start in [0, half] {
            // Heads with a few entries, and the pages of those.
            at.extend((0..64 + 8 * 32).map(|byte| start + byte));
            at.extend((0..400).map(|_| start + 2 * PAGE + rng.below(8 * PAGE)));
        }
        let bits = at.iter().flat_map(|at| (0..8).map(move |bit| (*at, bit)));
        for (at, bit) in bits.step_by(every) {
            turned += 1;
            one(&base, DOUBLE_WRITE, at, bit, false, &mut seen)
                .unwrap_or_else(|e| panic!("{} base, byte {at} bit {bit}: {e}", base.name));
        }
    }
    println!("{turned} bits of the double-write file turned, {seen:?}");
}

/// Bits anywhere in any file, of a database that was closed and of one that lost its power: the open refuses it, or who
/// uses it hears of it, or the offline check tells, or what turned means nothing: all that can be read is true, and work goes on.
/// `DURAMEN_FLIPS=n` turns n of them, `DURAMEN_FIRST=s` others.
#[test]
fn no_bit_anywhere_turns_silently() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let flips = number("DURAMEN_FLIPS").unwrap_or(60);
    let mut rng = Rng::new(number("DURAMEN_FIRST").unwrap_or(1));
    let started = time::now();
    let bases = [Base::closed(), Base::crashed()];
    let places: Vec<_> = bases.iter().map(places).collect();
    let mut seen = Noticed::default();
    let mut silent = Vec::new();
    for _ in 0..flips {
        let which = rng.below(2) as usize;
        let (path, ranges, kept) = &places[which][rng.below(places[which].len() as u64) as usize];
        let (start, len) = ranges[rng.below(ranges.len() as u64) as usize];
        let (at, bit) = (start + rng.below(len), rng.below(8) as u32);
        // What recovery writes again may turn without anybody having to tell.
        let matters = *kept && which == 0;
        if let Err(e) = one(&bases[which], path, at, bit, matters, &mut seen) {
            silent.push(format!(
                "{} base, {path} byte {at} bit {bit}: {e}",
                bases[which].name
            ));
        }
    }
    println!(
        "{flips} bits anywhere, {seen:?}, {} silent: {:.1} s",
        silent.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(
        silent.is_empty(),
        "{} are silent: {:#?}",
        silent.len(),
        &silent[..silent.len().min(30)]
    );
}

/// A file, the parts of it (start, length) that are in use, and whether every bit of them is protected.
type Place = (&'static str, Vec<(u64, u64)>, bool);

/// Where bits turn: pages in use (the boot page among them), the double-write file, the log.
fn places(base: &Base) -> Vec<Place> {
    let bytes = |path| base.disk.durable_bytes(Path::new(path)).unwrap();
    let data = pages(&bytes(DATA))
        .iter()
        .map(|n| (n * PAGE, PAGE))
        .collect();
    let half = bytes(DOUBLE_WRITE).len() as u64 / 2;
    let doubled = vec![(0, 10 * PAGE), (half, 10 * PAGE)];
    // 512 bytes each in which something stands; what was never used is zeros or the stamp of new space.
    let log = bytes(LOG);
    let sectors = log.chunks_exact(512).enumerate();
    let used = sectors.filter(|(_, s)| s.iter().any(|b| *b != s[0]));
    let written = used.map(|(n, _)| (n as u64 * 512, 512)).collect();
    vec![
        (DATA, data, true),
        (DOUBLE_WRITE, doubled, false),
        (LOG, written, false),
    ]
}
