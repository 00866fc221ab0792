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

targets!(tsql packets login rpc values tokens page row block record container);

/// Blocks of our own make: the engine's are in the corpus, and a changed one is accepted once its checksums are right.
#[test]
fn changed_blocks_of_our_own_get_past_their_checksums() {
    let target = target("block").unwrap();
    let own = |block: &&Vec<u8>| block.get(28..32) == Some(b"DuLB".as_slice());
    let corpus = (target.corpus)();
    let ours: Vec<&Vec<u8>> = corpus.iter().filter(own).collect();
    assert!(ours.len() > 4, "{} blocks of ours", ours.len());
    for block in ours {
        assert!((target.feed)(block));
        let mut changed = block.clone();
        changed[73] ^= 1;
        assert!(!(target.feed)(&changed), "the checksums decide");
        (target.fix)(&mut changed);
        assert!((target.feed)(&changed));
    }
}
