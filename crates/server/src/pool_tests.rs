//! Jobs run, no more at once than there may be workers; a worker that waits is made good; and `close` waits for all.

use std::sync::atomic::Ordering;

use duramen_observe::WaitType;

use super::*;

fn until(what: &str, done: impl Fn() -> bool) {
    let limit = time::now() + Duration::from_secs(20);
    while !done() {
        assert!(time::now() < limit, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn runs_all_and_bounds_the_workers() {
    let pool = Pool::with_limits(3, 2, IDLE_LIMIT).unwrap();
    let (now, most, ran) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    for _ in 0..20 {
        let (now, most, ran) = (now.clone(), most.clone(), ran.clone());
        pool.run(move || {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let _wait = duramen_observe::wait(WaitType::ASYNC_NETWORK_IO);
            thread::sleep(Duration::from_millis(2));
            now.fetch_sub(1, Ordering::SeqCst);
            ran.fetch_add(1, Ordering::SeqCst);
        });
    }
    until("all have run", || ran.load(Ordering::SeqCst) == 20);
    assert!(pool.close(Duration::from_secs(10)));
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[test]
fn who_waits_is_made_good_and_those_too_many_end() {
    let pool = Pool::with_limits(64, 2, Duration::from_millis(5)).unwrap();
    let (waiting, go) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    for _ in 0..20 {
        let (waiting, go) = (waiting.clone(), go.clone());
        pool.run(move || {
            let _wait = duramen_observe::wait(WaitType::ASYNC_NETWORK_IO);
            waiting.fetch_add(1, Ordering::SeqCst);
            until("all wait at once", || go.load(Ordering::SeqCst));
        });
    }
    until("all wait at once", || waiting.load(Ordering::SeqCst) == 20);
    go.store(true, Ordering::SeqCst);
    // Whoever finds itself one too many when it has done something ends.
    until("those too many end", || {
        pool.run(|| {});
        pool.0.state.lock().workers <= 2
    });
    assert!(pool.close(Duration::from_secs(10)));
}

#[test]
fn a_tick_makes_good_who_computes() {
    let pool = Pool::with_limits(8, 2, IDLE_LIMIT).unwrap();
    let (begun, go) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    for _ in 0..4 {
        let (begun, go) = (begun.clone(), go.clone());
        pool.run(move || {
            begun.fetch_add(1, Ordering::SeqCst);
            until("all compute at once", || go.load(Ordering::SeqCst));
        });
    }
    until("two compute", || begun.load(Ordering::SeqCst) == 2);
    until("all compute at once", || {
        pool.tick();
        begun.load(Ordering::SeqCst) == 4
    });
    go.store(true, Ordering::SeqCst);
    // With nobody at work the ticks end, and the next job has them begin again.
    until("the ticks end", || !pool.tick());
    assert!(pool.0.asleep.load(Ordering::SeqCst));
    pool.run(|| {});
    until("the ticks begin", || !pool.0.asleep.load(Ordering::SeqCst));
    assert_eq!(pool.0.target.load(Ordering::SeqCst), 2);
    assert!(pool.close(Duration::from_secs(10)));
}

/// Jobs come one by one, from several sides, to workers that are awake, about to sleep or asleep: each is run although
/// nothing comes after it.
#[test]
fn no_job_lies_while_workers_sleep() {
    let pool = Pool::with_limits(8, 2, IDLE_LIMIT).unwrap();
    let sides: Vec<_> = (0..3u64)
        .map(|side| {
            let pool = pool.clone();
            thread::spawn("side", move || {
                let done = Arc::new(AtomicU64::new(0));
                for n in 1..=4_000 {
                    let ran = done.clone();
                    pool.run(move || ran.store(n, Ordering::SeqCst));
                    let limit = time::now() + Duration::from_secs(20);
                    while done.load(Ordering::SeqCst) != n {
                        assert!(time::now() < limit, "job {n} of side {side} lies");
                        thread::yield_now();
                    }
                    // As long as a worker stays awake, more or less.
                    let pause = (n * 7 + side * 13) % 120;
                    if pause > 60 {
                        thread::sleep(Duration::from_micros(pause - 40));
                    }
                }
            })
        })
        .collect();
    for side in sides {
        side.join().expect("every job has run");
    }
    assert!(pool.close(Duration::from_secs(10)));
}
