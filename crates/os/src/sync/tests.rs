//! Locks, conditions and channels, in the real world and in simulations.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::sim::{Simulation, seeds};
use crate::{thread, time};

/// Many threads add under one lock; nothing is lost.
fn count_together() -> u64 {
    let total = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let total = total.clone();
            thread::spawn(&format!("adder {i}"), move || {
                for _ in 0..50 {
                    let seen = *total.lock();
                    let mut guard = total.lock();
                    assert!(*guard >= seen);
                    *guard += 1;
                }
            })
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    *total.lock()
}

#[test]
fn a_mutex_excludes() {
    assert_eq!(count_together(), 200);
    for seed in seeds(0, 50) {
        assert_eq!(Simulation::new(seed).run(|_| count_together()), 200);
    }
}

fn pass_through_channels() -> u64 {
    let (tx, rx) = channel::<u64>(2);
    let (back, results) = channel::<u64>(1);
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (rx, back) = (rx.clone(), back.clone());
            thread::spawn("worker", move || {
                while let Ok(n) = rx.recv() {
                    back.send(n * 2).unwrap();
                }
            })
        })
        .collect();
    drop((rx, back));
    let sender = thread::spawn("sender", move || (1..=30).for_each(|n| tx.send(n).unwrap()));
    let mut sum = 0;
    while let Ok(n) = results.recv() {
        sum += n;
    }
    sender.join().unwrap();
    workers.into_iter().for_each(|w| w.join().unwrap());
    sum
}

#[test]
fn channels_deliver_everything_once_and_end() {
    assert_eq!(pass_through_channels(), 930);
    for seed in seeds(0, 50) {
        assert_eq!(Simulation::new(seed).run(|_| pass_through_channels()), 930);
    }
}

#[test]
fn a_full_or_abandoned_channel_says_so() {
    let (tx, rx) = channel(1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    tx.try_send(1).unwrap();
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(rx.recv(), Ok(1));
    let limit = Duration::from_millis(1);
    assert_eq!(rx.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    drop(rx);
    assert_eq!(tx.send(3), Err(SendError(3)));
}

#[test]
fn a_timed_wait_takes_virtual_time_only() {
    Simulation::new(1).run(|_| {
        let (m, c) = (Mutex::new(()), Condvar::new());
        let before = time::now();
        assert!(c.wait_for(&mut m.lock(), Duration::from_secs(3600)));
        let took = before.elapsed();
        assert!(took >= Duration::from_secs(3600) && took < Duration::from_secs(3601));
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    let run = || {
        let pair = Arc::new(RwLock::new((0u32, 0u32)));
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let pair = pair.clone();
                thread::spawn("rw", move || {
                    for _ in 0..20 {
                        if i % 2 == 0 {
                            let mut w = pair.write();
                            w.0 += 1;
                            thread::yield_now();
                            w.1 += 1;
                        } else {
                            let r = pair.read();
                            thread::yield_now();
                            assert_eq!(r.0, r.1);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        *pair.read()
    };
    assert_eq!(run(), (40, 40));
    for seed in seeds(0, 50) {
        assert_eq!(Simulation::new(seed).run(|_| run()), (40, 40));
    }
}

/// What one simulation leaves in a static must not change the schedule of the next.
#[test]
fn a_global_is_no_scheduling_point() {
    static LEFT: Global<u64> = Global::new(0);
    let run = || {
        Simulation::new(4).run(|sim| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    thread::spawn("counts", || {
                        for _ in 0..LEFT.read(|n| *n % 2) + 1 {
                            LEFT.write(|n| *n += 1);
                        }
                        thread::yield_now();
                    })
                })
                .collect();
            threads.into_iter().for_each(|t| t.join().unwrap());
            sim.trace_hash()
        })
    };
    let first = run();
    LEFT.write(|n| *n += 1);
    assert_eq!(first, run());
    assert!(LEFT.read(|n| *n) > 6);
}
