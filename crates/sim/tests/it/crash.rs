//! A few seeds of the whole engine; thousands are the program's (`cargo xtask sim`).

use duramen_session::Session;
use duramen_sim::crash::stories::{self, Story};
use duramen_sim::crash::wire::execute;
use duramen_sim::crash::{backups, image, run_seed};

#[test]
fn what_was_promised_survives_every_crash() {
    let mut commits = 0;
    for seed in duramen_os::sim::seeds(1, 12) {
        match run_seed(seed) {
            Ok(report) => commits += report.commits,
            Err(e) => panic!("{e}"),
        }
    }
    assert!(commits > 0, "nothing was committed: nothing was tested");
}

/// Backups taken while sessions work and power fails, restored beside the others.
#[test]
fn acknowledged_backups_have_what_was_committed_before() {
    let mut sum = backups::Report::default();
    for seed in duramen_os::sim::seeds(1, 16) {
        match backups::run_seed(seed) {
            Ok(report) => {
                sum.backups += report.backups;
                sum.restores += report.restores;
            }
            Err(e) => panic!("{e}"),
        }
    }
    assert!(sum.backups > 20 && sum.restores > 20, "{sum:?}");
}

/// A file that grew while it was backed up: what follows in the log is about pages behind the length it was restored with.
#[test]
fn a_file_that_grew_meanwhile_is_restored() {
    if let Err(e) = backups::run_seed(142) {
        panic!("{e}");
    }
}

/// A log that cannot grow and is full: no COMMIT, ROLLBACK or recovery is refused, and what is refused changes nothing.
#[test]
fn a_full_log_has_room_for_what_is_owed() {
    let (mut done, mut cut) = (0, 0);
    for seed in duramen_os::sim::seeds(1, 6) {
        match stories::run_seed(Story::Full, seed) {
            Ok(report) => (done, cut) = (done + report.done, cut + report.cut),
            Err(e) => panic!("{e}"),
        }
    }
    assert!(done > 1000 && cut > 0, "{done} done, {cut} cut");
}

/// Open transactions on shared pages: what one has freed is there when it goes back, whoever fills pages meanwhile.
#[test]
fn room_stays_with_its_transaction() {
    let (mut done, mut cut) = (0, 0);
    for seed in duramen_os::sim::seeds(1, 2) {
        match stories::run_seed(Story::Room, seed) {
            Ok(report) => (done, cut) = (done + report.done, cut + report.cut),
            Err(e) => panic!("{e}"),
        }
    }
    assert!(done > 200, "{done} done, {cut} cut");
}

/// Standbys and pages, in stories of their own. (What the third one, partitions, finds is not mended yet.)
#[test]
fn rare_statements_survive_every_crash() {
    for story in [Story::Standby, Story::Pages, Story::Files] {
        let (mut done, mut cut) = (0, 0);
        for seed in duramen_os::sim::seeds(1, 20) {
            match stories::run_seed(story, seed) {
                Ok(report) => (done, cut) = (done + report.done, cut + report.cut),
                Err(e) => panic!("{story:?}: {e}"),
            }
        }
        assert!(done > 20 && cut > 0, "{story:?}: {done} done, {cut} cut");
    }
}

#[test]
fn a_seed_replays() {
    let once = run_seed(3).unwrap();
    assert_eq!(once, run_seed(3).unwrap());
    assert_ne!(once.trace, run_seed(4).unwrap().trace);
}

/// Pieces of large values are on shared pages: nobody takes the slot of one whose deletion may be rolled back.
#[test]
fn a_slot_waits_for_its_deleter() {
    let disk = image::prepared().of(512, 1);
    let instance = duramen_session::start(&disk.env(), image::config(4 << 20, 512)).unwrap();
    let mut one = image::login(&instance).unwrap();
    let mut two = image::login(&instance).unwrap();
    let run = |session: &mut Session, sql: &str| {
        let reply = execute(session, sql);
        assert!(reply.errors.is_empty(), "{sql}: {:?}", reply.errors);
        reply.rows
    };
    let insert = |id: i32| {
        format!("INSERT a.dbo.l VALUES ({id}, REPLICATE(CAST('x' AS varchar(max)), 9000))")
    };
    for id in 0..8 {
        run(&mut one, &insert(id));
    }
    run(&mut one, "BEGIN TRAN; DELETE a.dbo.l WHERE id < 6");
    for id in 20..28 {
        run(&mut two, &insert(id));
    }
    run(&mut one, "ROLLBACK");
    let rows = run(
        &mut two,
        "SELECT id FROM a.dbo.l WHERE DATALENGTH(body) = 9000",
    );
    assert_eq!(rows.len(), 16);
    drop((one, two));
    instance.shutdown().unwrap();
}
