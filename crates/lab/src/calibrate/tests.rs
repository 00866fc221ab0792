//! The measurements run to their end on a simulated disk, clean up, and say what is wrong with their arguments.

use std::path::Path;
use std::time::Duration;

use duramen_os::Env;
use duramen_os::sim::Simulation;

use super::{DEPTHS, Effort, measure, parse, render};

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

#[test]
fn every_measurement_has_a_number_and_no_file_is_left() {
    Simulation::new(1).run(|sim| {
        let env = Env::with_disk(sim.disk());
        let dir = Path::new("/measure");
        let effort = Effort {
            each: Duration::from_millis(2),
            file_bytes: 1 << 20,
        };
        let report = measure(&env, dir, effort).expect("a good disk");
        assert_eq!(report.latencies.len(), 4);
        assert_eq!(report.bandwidths.len(), 2 * DEPTHS.len());
        assert!(
            report
                .latencies
                .iter()
                .all(|l| l.count > 0 && l.p50 <= l.p99)
        );
        assert!(report.bandwidths.iter().all(|b| b.mib_per_second > 0.0));
        assert!(render(dir, &report).contains("written"));
        assert!(env.disk.list(dir).expect("the directory").is_empty());
    });
}

#[test]
fn arguments() {
    let (dir, each) = parse(&args(&["/x", "--seconds", "0.5"])).expect("good");
    assert_eq!(
        (dir.as_path(), each),
        (Path::new("/x"), Duration::from_millis(500))
    );
    assert!(parse(&args(&["--seconds"])).is_err());
    assert!(parse(&args(&["--seconds", "0"])).is_err());
    assert!(parse(&args(&["--fast"])).is_err());
}
