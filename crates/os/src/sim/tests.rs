//! The scheduler: same seed, same trace; different seeds, different interleavings; ends are clean.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::sync::{Condvar, Mutex, channel};
use crate::{random, thread, time};

/// Who got a lock in which order, what they drew and when.
fn race(seed: u64) -> (Vec<usize>, u64, u64, u64) {
    Simulation::new(seed).run(|sim| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let order = order.clone();
                thread::spawn("racer", move || {
                    for _ in 0..4 {
                        order.lock().push(i);
                        thread::yield_now();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let order = order.lock().clone();
        (order, random::next_u64(), time::now().0, sim.trace_hash())
    })
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let mut different = BTreeSet::new();
    for seed in 0..100 {
        let first = race(seed);
        assert_eq!(first, race(seed), "seed {seed}");
        different.insert(first.0);
    }
    assert!(different.len() > 50, "only {} orders", different.len());
}

#[test]
fn a_lost_update_is_found() {
    let found = (0..200).any(|seed| {
        Simulation::new(seed).run(|_| {
            let n = Arc::new(Mutex::new(0));
            let other = n.clone();
            let t = thread::spawn("other", move || {
                let seen = *other.lock();
                *other.lock() = seen + 1;
            });
            let seen = *n.lock();
            *n.lock() = seen + 1;
            t.join().unwrap();
            let end = *n.lock();
            end == 1
        })
    });
    assert!(found);
}

fn failure(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    payload.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn a_deadlock_is_named_with_its_seed() {
    let text = failure(|| {
        Simulation::new(7).run(|_| {
            let (tx, rx) = channel::<()>(1);
            thread::spawn("waiter", move || rx.recv());
            let m = Mutex::new(());
            let never = Condvar::new();
            never.wait(&mut m.lock());
            drop(tx);
        })
    });
    assert!(
        text.contains("seed 7") && text.contains("deadlock"),
        "{text}"
    );
    assert!(text.contains("[main for a condition]"), "{text}");
    assert!(text.contains("[waiter for a condition]"), "{text}");
}

#[test]
fn a_panic_anywhere_fails_the_run() {
    let text = failure(|| {
        Simulation::new(8).run(|_| {
            thread::spawn("bad", || panic!("two and two"));
            thread::sleep(Duration::from_secs(1));
        })
    });
    assert!(text.contains("thread bad panicked: two and two"), "{text}");
}

#[test]
fn an_endless_loop_is_stopped() {
    let text = failure(|| {
        Simulation::new(9).max_steps(1000).run(|_| {
            loop {
                thread::yield_now();
            }
        })
    });
    assert!(text.contains("1000 steps"), "{text}");
}

#[test]
fn the_process_ends_whatever_its_threads_do() {
    struct Loud(Arc<Mutex<u32>>);
    impl Drop for Loud {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    let dropped = Arc::new(Mutex::new(0));
    for seed in 0..20 {
        Simulation::new(seed).run(|_| {
            let (tx, rx) = channel::<()>(1);
            let loud = Loud(dropped.clone());
            thread::spawn("receives for ever", move || {
                let _loud = loud;
                let _ = rx.recv();
            });
            thread::spawn("sleeps for ever", || {
                loop {
                    thread::sleep(Duration::from_secs(1));
                }
            });
            thread::sleep(Duration::from_millis(10));
            std::mem::forget(tx);
        });
    }
    assert_eq!(*dropped.lock(), 20);
}

#[test]
fn a_spinning_loop_lets_time_pass() {
    Simulation::new(3).run(|_| {
        let end = time::now() + Duration::from_millis(1);
        while time::now() < end {
            thread::yield_now();
        }
    });
}

/// Every primitive in one small world: locks, timed waits, channels, sleeps, disk and randomness.
fn busy_world(seed: u64) -> (u64, u64, Vec<u64>) {
    Simulation::new(seed).run(|sim| {
        let (tx, rx) = channel::<u64>(2);
        let shared = Arc::new((Mutex::new(0u64), Condvar::new()));
        let disk = sim.env().disk;
        let options = crate::OpenOptions {
            create: true,
            ..Default::default()
        };
        let file = disk.open("/log".as_ref(), &options).unwrap();
        for i in 0..3u64 {
            let (tx, shared, file) = (tx.clone(), shared.clone(), file.clone());
            thread::spawn("worker", move || {
                for n in 0..5 {
                    let draw = random::next_u64();
                    file.write_durable_at(&draw.to_le_bytes(), (i * 5 + n) * 8)
                        .unwrap();
                    *shared.0.lock() += 1;
                    shared.1.notify_one();
                    tx.send(draw ^ time::now().0).unwrap();
                    if draw.is_multiple_of(3) {
                        thread::sleep(Duration::from_micros(draw % 100));
                    }
                }
            });
        }
        drop(tx);
        let waiter = shared.clone();
        let counter = thread::spawn("counter", move || {
            let mut timeouts = 0;
            let mut n = waiter.0.lock();
            while *n < 15 {
                timeouts += waiter.1.wait_for(&mut n, Duration::from_micros(50)) as u64;
            }
            timeouts
        });
        let mut got = Vec::new();
        while let Ok(n) = rx.recv() {
            got.push(n);
        }
        got.push(counter.join().unwrap());
        (sim.trace_hash(), sim.disk().trace_hash(), got)
    })
}

#[test]
fn a_busy_world_replays() {
    for seed in seeds(0, 150) {
        assert_eq!(busy_world(seed), busy_world(seed), "seed {seed}");
    }
}
