//! A short run of every fuzz target, from a fixed seed; long runs are the program's (`fuzz --seconds N`).

use std::time::Duration;

use duramen_sim::fuzz::{Run, run, target};

fn short(name: &str) {
    let target = target(name).unwrap();
    let built_in = (target.corpus)();
    // Some inputs are there to be refused.
    let valid = built_in.iter().filter(|input| (target.feed)(input)).count();
    assert!(2 * valid > built_in.len(), "{name}: {valid} of the corpus");
    let done = run(
        target,
        Run {
            seed: 20,
            time: Duration::from_secs(2),
            inputs: 200_000,
        },
    );
    assert!(done.inputs > built_in.len() as u64);
    assert!(done.accepted > 0, "{name}: {done:?}");
    println!("{name}: {done:?}");
}

macro_rules! targets {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            short(stringify!($name));
        }
    )*};
}

targets!(tsql packets login rpc values tokens page row block record);
