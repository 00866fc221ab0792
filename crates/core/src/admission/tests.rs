//! Everybody gets a turn, also when holders fall asleep on theirs; few statements run at once while many want to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duramen_base::SessionId;
use duramen_os::sim::{Simulation, seeds};
use duramen_os::thread;

use super::{Admission, QUANTUM};

#[test]
fn everybody_gets_through_though_some_sleep_on_their_turn() {
    for seed in seeds(1, 20) {
        Simulation::new(seed).run(|_| {
            let admission = Arc::new(Admission::new(2));
            let inside = Arc::new(AtomicUsize::new(0));
            let most = Arc::new(AtomicUsize::new(0));
            let sessions: Vec<_> = (0..20)
                .map(|n| {
                    let (admission, inside, most) =
                        (admission.clone(), inside.clone(), most.clone());
                    thread::spawn("session", move || {
                        let id = SessionId(51 + n);
                        for i in 0..10 {
                            let admitted = admission.enter(id);
                            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            thread::sleep(Duration::from_micros(100));
                            if n == 3 && i == 5 {
                                // Blocked on something with its turn in hand.
                                thread::sleep(10 * QUANTUM);
                            }
                            inside.fetch_sub(1, Ordering::SeqCst);
                            if n % 2 == 0 {
                                admission.leave(id);
                            }
                            drop(admitted);
                        }
                        // Odd sessions leave their turn to run out.
                    })
                })
                .collect();
            for s in sessions {
                s.join().expect("a session ends");
            }
            // Four were let in before it was crowded; two turns; one slept through the end of its.
            assert!(most.load(Ordering::SeqCst) <= 7, "{most:?} at once");
            assert!(admission.line.lock().waiting.is_empty());
        });
    }
}

/// Called, and its turn over and given on before it woke up: it is not in line and has no turn, and must go on.
#[test]
fn a_turn_that_ran_out_before_its_session_woke_up_is_no_dead_end() {
    for seed in seeds(1, 10) {
        Simulation::new(seed).run(|_| {
            let admission = Arc::new(Admission::new(1));
            let _others: Vec<_> = (90..93).map(|n| admission.enter(SessionId(n))).collect();
            let waiter = admission.clone();
            let second = thread::spawn("second", move || drop(waiter.enter(SessionId(52))));
            while admission.line.lock().waiting.is_empty() {
                thread::sleep(Duration::from_micros(10));
            }
            let mut line = admission.line.lock();
            line.turns.clear();
            admission.call_next(&mut line);
            line.turns.clear();
            drop(line);
            second.join().expect("it goes on");
        });
    }
}

#[test]
fn few_need_no_turn() {
    let admission = Admission::new(2);
    let all: Vec<_> = (51..55).map(|n| admission.enter(SessionId(n))).collect();
    assert!(admission.line.lock().turns.is_empty());
    let fifth = admission.enter(SessionId(60));
    assert_eq!(admission.line.lock().turns.len(), 1);
    drop((all, fifth));
    admission.leave(SessionId(60));
    assert!(admission.line.lock().turns.is_empty());
}
