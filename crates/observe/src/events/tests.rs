use super::*;

fn mine(ring: &EventRing, number: i64) -> Vec<Event> {
    let found = |e: &Event| e.value("error_number") == Some(&EventValue::Signed(number));
    ring.snapshot().into_iter().filter(found).collect()
}

fn report(number: i64) {
    emit(|| ErrorReported {
        error_number: number,
        severity: 16,
        state: 1,
        user_defined: false,
        category: ErrorCategory,
        destination: ErrorDestination,
        is_intercepted: false,
        message: "no".to_owned(),
    });
}

#[test]
fn a_ring_hears_what_it_asked_for_and_only_while_it_lives() {
    let ring = EventRing::start(&[EventId::ErrorReported], 10_000);
    report(-101);
    emit(|| CheckpointBegin {
        database_id: 60_001,
    });
    let received = mine(&ring, -101);
    assert_eq!(received.len(), 1);
    assert_eq!(
        received[0].value("message"),
        Some(&EventValue::Text("no".to_owned()))
    );
    assert!(
        ring.snapshot()
            .iter()
            .all(|e| e.id == EventId::ErrorReported)
    );
    drop(ring);
    let later = EventRing::start(&[EventId::ErrorReported], 10_000);
    assert!(mine(&later, -101).is_empty());
}

#[test]
fn the_oldest_goes_first() {
    let ring = EventRing::start(&[EventId::LogTruncation], 3);
    for count in 0..5 {
        emit(|| LogTruncation {
            database_id: 1,
            count,
        });
    }
    let kept: Vec<_> = ring.drain().iter().map(|e| e.values[1].clone()).collect();
    assert_eq!(kept, [2, 3, 4].map(EventValue::Unsigned));
    assert_eq!(ring.dropped(), 2);
    assert!(ring.snapshot().is_empty());
}

#[test]
fn a_simulation_is_not_heard_from_outside_and_hears_itself() {
    let world = || {
        sim::Simulation::new(5).run(|sim| {
            report(-102);
            let elapsed = sim.elapsed();
            let inside = EventRing::start(&[EventId::ErrorReported], 10);
            report(-103);
            (elapsed, inside.snapshot().len())
        })
    };
    let alone = world();
    let outside = EventRing::start(&[EventId::ErrorReported], 10_000);
    assert_eq!((world(), alone.1), (alone, 1));
    assert!(mine(&outside, -102).is_empty() && mine(&outside, -103).is_empty());
}

#[test]
fn every_event_has_its_bit() {
    assert!(EventId::ALL.len() <= 64);
    for (i, id) in EventId::ALL.iter().enumerate() {
        assert_eq!(*id as usize, i);
        assert!(!id.fields().is_empty(), "{}", id.name());
    }
}
