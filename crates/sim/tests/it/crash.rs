//! A few seeds of the whole engine; thousands are the program's (`cargo xtask sim`).

use duramen_sim::crash::run_seed;

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

#[test]
fn a_seed_replays() {
    let once = run_seed(3).unwrap();
    assert_eq!(once, run_seed(3).unwrap());
    assert_ne!(once.trace, run_seed(4).unwrap().trace);
}
