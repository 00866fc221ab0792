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

#[test]
fn a_woken_thread_knows_how_long_it_took_to_run() {
    use super::{Condvar, Mutex, signal_time};
    use std::sync::Arc;
    use std::time::Duration;

    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = shared.clone();
    let waiter = crate::thread::spawn("waits", move || {
        let mut set = other.0.lock();
        while !*set {
            other.1.wait(&mut set);
        }
        drop(set);
        let after_notice = signal_time();
        let mut set = other.0.lock();
        other.1.wait_for(&mut set, Duration::from_millis(1));
        (after_notice, signal_time())
    });
    crate::thread::sleep(Duration::from_millis(400));
    let mut set = shared.0.lock();
    *set = true;
    // Notified now, and it cannot run before the lock is free.
    shared.1.notify_one();
    crate::thread::sleep(Duration::from_millis(20));
    drop(set);
    let (first, second) = waiter.join().unwrap();
    // Not the time before the notice.
    assert!(
        first >= Duration::from_millis(19) && first < Duration::from_millis(390),
        "{first:?}"
    );
    assert!(second > first, "{second:?}");
}

/// Whoever takes locks against their order is told at once, though nobody is in the way.
#[test]
#[cfg(debug_assertions)]
fn ranks_are_an_order() {
    let outer = Mutex::ranked(Rank::Tree, ());
    let inner = RwLock::ranked(Rank::Roots, ());
    {
        let _first = outer.lock();
        let _second = inner.read();
    }
    let against = || {
        let _first = inner.write();
        let _second = outer.lock();
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(against)).is_err());
    // The unwinding has let go of all: the order is looked at afresh.
    let _first = outer.lock();
    let _second = inner.write();
}

/// Two of one rank are taken together only where that is meant, and what is only tried never waits.
#[test]
#[cfg(debug_assertions)]
fn equal_ranks_do_not_meet() {
    let pages = [0, 1].map(|n| RwLock::ranked(Rank::Page, n));
    let _both = (pages[0].read(), pages[1].write());
    let roots = [0, 1].map(|n| Mutex::ranked(Rank::Roots, n));
    let _one = roots[0].lock();
    assert!(roots[1].try_lock().is_some());
    let together = || drop(roots[1].lock());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(together)).is_err());
}

/// Locks without a rank have the order in which they are first taken, by way of others, too.
#[test]
#[cfg(debug_assertions)]
fn what_is_seen_is_an_order() {
    let (first, last) = (Mutex::new(1u8), Mutex::new(3u8));
    let middle = RwLock::new(2u8);
    {
        let _first = first.lock();
        let _middle = middle.read();
    }
    {
        let _middle = middle.write();
        let _last = last.lock();
    }
    let against = || {
        let _last = last.lock();
        let _first = first.lock();
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(against)).is_err());
    // What is tried does not wait, and locks of one class say nothing.
    let _last = last.lock();
    assert!(first.try_lock().is_some());
    let same = [0, 1].map(Mutex::<u8>::new);
    let _both = (same[1].lock(), same[0].lock());
}
