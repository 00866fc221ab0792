//! Media of SQL Server, read as they are (with `DURAMEN_MATERIAL`; without it these tests say so and pass), and chunks.

mod boot;
#[path = "../../storage/src/tests/fixture.rs"]
#[allow(dead_code, reason = "tests of the room below need the rest")]
mod fixture;

use duramen_base::Lsn;
use duramen_os::memory::Broker;

use super::*;

/// A file of DURAMEN_MATERIAL.
fn material(name: &str) -> Option<Vec<u8>> {
    let Some(dir) = std::env::var_os("DURAMEN_MATERIAL") else {
        println!("skipped: DURAMEN_MATERIAL is not set");
        return None;
    };
    let dir = std::path::PathBuf::from(dir);
    let mut places = ["", "real-files", "fixtures/real-files"].iter();
    #[allow(
        clippy::disallowed_methods,
        reason = "material is outside of every simulated disk"
    )]
    let found = places.find_map(|sub| std::fs::read(dir.join(sub).join(name)).ok());
    if found.is_none() {
        println!("skipped: {name} is not in DURAMEN_MATERIAL");
    }
    found
}

fn medium(name: &str) -> Option<Medium> {
    let bytes = material(name)?;
    Some(Medium::from_bytes(bytes, name).expect("a medium"))
}

#[test]
fn a_chain_of_2008_follows_itself() {
    let name = |n: &str| format!("restore-time-clean/RestoreTimeClean_RestoreTimeClean{n}");
    let Some(full) = medium(&name(".bak")) else {
        return;
    };
    let set = &full.sets[0];
    let h = &set.header;
    assert_eq!(
        (h.kind, h.database.as_str()),
        (SetKind::Database, "RestoreTimeClean")
    );
    assert_eq!((h.version, h.product, h.own), (661, (10, 50, 1600), false));
    assert_eq!(h.first_lsn, Lsn::new(25, 62, 170));
    assert_eq!(h.started.parts(), (2017, 6, 1, 12, 59, 12));
    let files: Vec<(u16, bool, u64)> = h.files.iter().map(|f| (f.id, f.is_log, f.size)).collect();
    assert_eq!(files, [(1, false, 2_359_296), (2, true, 589_824)]);
    full.verify(set, Transfer::default(), &Broker::new(1 << 20))
        .expect("nothing says that it is damaged");
    let mut end = h.first_lsn;
    for n in ["_1.trn", "_2.trn", "_3.trn"] {
        let log = medium(&name(n)).expect("there");
        let h = &log.sets[0].header;
        assert_eq!((h.kind, h.first_lsn), (SetKind::Log, end), "{n}");
        end = h.last_lsn;
    }
    let differential = medium(&name("2.bak")).expect("there");
    let h = &differential.sets[0].header;
    assert_eq!(h.kind, SetKind::Differential);
    assert_eq!(
        (h.differential_base_lsn, h.differential_base),
        (set.header.checkpoint_lsn, set.header.guid)
    );
}

#[test]
fn a_compressed_medium_of_2016_tells_its_files() {
    let Some(medium) = medium("TutorialDB.bak") else {
        return;
    };
    assert!(medium.compressed);
    let h = &medium.sets[0].header;
    assert_eq!(
        (h.database.as_str(), h.version, h.files.len()),
        ("TutorialDB", 852, 2)
    );
}

#[test]
fn a_stripe_says_that_there_is_another() {
    let name = "stripe/sql2008-backups_RestoreTimeStripe_Stripe1_RestoreTimeStripe.bak";
    let Some(medium) = medium(name) else {
        return;
    };
    assert_eq!((medium.media.families, medium.media.number), (2, 1));
    let number = |r: duramen_base::SqlResult<Medium>| r.map(|_| ()).map_err(|e| e.number);
    assert_eq!(number(Medium::joined(vec![medium])), Err(3132));
    let half = |name: &str| super::tests::medium(name).expect("there");
    const SECOND: &str = "stripe/sql2008-backups_RestoreTimeStripe_Stripe2_RestoreTimeStripe1.bak";
    let halves = || vec![half(SECOND), half(name)];
    let whole = Medium::joined(halves()).expect("a set");
    whole
        .verify(&whole.sets[0], Transfer::default(), &Broker::new(1 << 20))
        .expect("it is whole");
    let families: std::collections::BTreeSet<usize> =
        whole.sets[0].pages.iter().map(|r| r.family).collect();
    assert_eq!(families.into_iter().collect::<Vec<_>>(), [0, 1]);
    let twice = vec![half(name), half(name)];
    assert_eq!(number(Medium::joined(twice)), Err(3227));
}

#[test]
fn a_header_is_read_as_it_was_written() {
    let file = |id: u16, is_log: bool| SetFile {
        id,
        is_log,
        filegroup: u16::from(!is_log),
        logical_name: format!("file{id}"),
        path: format!("/data/{id}"),
        size: 1 << 20,
        max_size: is_log.then_some(8 << 20),
        growth: if is_log { 10 } else { 65_536 },
        growth_percent: is_log,
        create_lsn: Lsn::new(1, 2, 3),
        guid: [u8::from(is_log); 16],
        backup_bytes: 65_536,
    };
    let header = SetHeader {
        kind: SetKind::Differential,
        checksums: true,
        begins_log_chain: true,
        server: "server".to_owned(),
        database: "Crédit".to_owned(),
        family: [7; 16],
        fork: [7; 16],
        first_lsn: Lsn::new(31, 16, 1),
        last_lsn: Lsn::new(32, 99, 1),
        checkpoint_lsn: Lsn::new(31, 20, 4),
        database_backup_lsn: Lsn::new(30, 16, 1),
        differential_base_lsn: Lsn::new(30, 16, 1),
        differential_base: [3; 16],
        started: TapeTime::new(2024, 2, 29, 23, 59, 58),
        expires: TapeTime::new(2030, 1, 1, 0, 0, 0),
        block_bytes: 65_536,
        size: 123_456,
        version: 852,
        compatibility_level: 160,
        product: (16, 0, 1000),
        collation: 9,
        recovery_model: 2,
        created: (45_000, 300),
        options: 1 << 40 | 1,
        filegroups: vec![(1, "PRIMARY".to_owned())],
        files: vec![file(1, false), file(2, true)],
        own: true,
        ..SetHeader::default()
    };
    let bytes = header.encode();
    assert_eq!(SetHeader::decode(&bytes), Ok(header));
    for at in 0..bytes.len() {
        // Neither a panic nor anything that was not there, wherever it ends.
        let _ = SetHeader::decode(&bytes[..at]);
    }
}

#[test]
fn a_header_of_before_there_were_expiration_dates_is_read() {
    let header = SetHeader {
        database: "d".to_owned(),
        collation: 9,
        own: true,
        ..SetHeader::default()
    };
    let bytes = header.encode();
    // The last chunk without its last two fields and its sum, then summed up anew.
    let dura = bytes.windows(4).position(|w| w == b"DURA").expect("ours");
    let mut old = bytes[..bytes.len() - 4 - 9].to_vec();
    let length = (old.len() - dura + 4) as u32;
    old[dura + 4..dura + 8].copy_from_slice(&length.to_le_bytes());
    let crc = crc32c::crc32c(&old[dura..]);
    old.extend(crc.to_le_bytes());
    assert_eq!(SetHeader::decode(&old), Ok(header));
}
