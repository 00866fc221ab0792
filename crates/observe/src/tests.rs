//! Waits and counters. The totals are the process's, so tests use types and databases of their own.

use std::collections::BTreeSet;
use std::time::Duration;

use duramen_base::{DbId, FileId, SessionId};
use duramen_os::sim::Simulation;
use duramen_os::{thread, time};

use super::*;

fn stat(wait_type: WaitType) -> WaitStat {
    wait_stats()[wait_type as usize]
}

#[test]
fn a_wait_is_counted_at_its_start_and_timed_at_its_end() {
    Simulation::new(1).run(|_| {
        let mut guard = wait(WaitType::LOGBUFFER);
        assert_eq!(stat(WaitType::LOGBUFFER).waiting_tasks_count, 1);
        assert_eq!(stat(WaitType::LOGBUFFER).wait_time_ms, 0);
        thread::sleep(Duration::from_millis(30));
        guard.signalled_at(time::now());
        thread::sleep(Duration::from_millis(12));
        drop(guard);
        record_wait(WaitType::LOGBUFFER, Duration::from_millis(8), None);
        let s = stat(WaitType::LOGBUFFER);
        assert_eq!(s.waiting_tasks_count, 2);
        assert_eq!(
            (s.wait_time_ms, s.max_wait_time_ms, s.signal_wait_time_ms),
            (50, 42, 12)
        );
    });
}

#[test]
fn an_external_wait_has_no_signal_part() {
    Simulation::new(2).run(|_| {
        let mut guard = wait(WaitType::PREEMPTIVE_OS_FILEOPS);
        guard.signalled_at(time::now());
        thread::sleep(Duration::from_millis(5));
        drop(guard);
        let s = stat(WaitType::PREEMPTIVE_OS_FILEOPS);
        assert_eq!((s.wait_time_ms, s.signal_wait_time_ms), (5, 0));
    });
}

#[test]
fn names_are_unique_and_found_in_any_case() {
    let names: BTreeSet<_> = WaitType::ALL.iter().map(|w| w.name()).collect();
    assert_eq!(names.len(), WaitType::COUNT);
    for (i, w) in WaitType::ALL.iter().enumerate() {
        assert_eq!(w.key() as usize, i);
        assert_eq!(WaitType::from_name(&w.name().to_lowercase()), Some(*w));
        let external = w.name().starts_with("PREEMPTIVE_");
        assert_eq!(w.kind() == WaitKind::External, external);
    }
    assert_eq!(WaitType::LCK_M_RIn_NL.to_string(), "LCK_M_RIn_NL");
}

/// system_health compares keys by range.
#[test]
fn keys_are_ordered_as_scripts_expect() {
    use WaitType::*;
    assert!(LCK_M_SCH_S as u16 == 0 && LCK_M_RX_X < LATCH_NL);
    assert!(LATCH_NL < LATCH_SH && LATCH_SH < LATCH_EX && LATCH_EX < LATCH_DT);
    assert!(LATCH_DT < PAGELATCH_NL && PAGELATCH_DT < PAGEIOLATCH_NL);
    assert!(PAGEIOLATCH_DT < IO_COMPLETION && IO_COMPLETION < NETWORK_IO);
    assert!(FCB_REPLICA_WRITE < WRITELOG);
}

#[test]
fn a_session_sees_its_own_waits() {
    Simulation::new(3).run(|_| {
        let waits = SessionWaits::new(SessionId(951), thread::owner());
        let attached = attach(&waits, 0);
        assert_eq!(current_session(), Some(SessionId(951)));
        let guard = wait_on(WaitType::LCK_M_U, "RID: 5:1:121:0", Some(952));
        thread::sleep(Duration::from_millis(7));
        let mine: Vec<_> = waiting_tasks()
            .into_iter()
            .filter(|t| t.session == SessionId(951))
            .collect();
        assert_eq!(mine.len(), 1);
        assert_eq!(mine[0].blocking_session, Some(952));
        assert_eq!(mine[0].resource, "RID: 5:1:121:0");
        assert!(mine[0].waited >= Duration::from_millis(7));
        drop(guard);
        drop(attached);
        assert_eq!(current_session(), None);
        drop(wait(WaitType::LCK_M_U));
        let stats = waits.stats();
        assert_eq!(stats.len(), 1);
        assert_eq!(
            (stats[0].waiting_tasks_count, stats[0].wait_time_ms),
            (1, 7)
        );
        // What a packet waits is its session's, whoever's thread lets it go.
        let others = SessionWaits::new(SessionId(952), thread::owner());
        let attached = attach(&others, 0);
        for ms in [3, 2] {
            record_wait(WaitType::WRITELOG, Duration::from_millis(ms), Some(&waits));
        }
        drop(attached);
        assert!(others.stats().is_empty());
        let last = waits.stats().pop();
        let last = last.map(|s| (s.name, s.waiting_tasks_count, s.wait_time_ms));
        assert_eq!(last, Some(("WRITELOG", 2, 5)));
        waits.clear();
        assert!(waits.stats().is_empty());
    });
}

#[test]
fn counters_count() {
    let before = counter(Counter::PageSplits);
    count(Counter::PageSplits, 3);
    assert_eq!(counter(Counter::PageSplits) - before, 3);
    gauge(Counter::UserConnections, 2);
    gauge(Counter::UserConnections, -2);
    let row = counters()[Counter::PageSplits as usize];
    assert_eq!(
        (row.object, row.name),
        ("Access Methods", "Page Splits/sec")
    );
    assert_eq!(row.kind.cntr_type(), 272_696_576);
    let db = DbId(30_001);
    count_db(db, DbCounter::LogFlushes, 4);
    count_db(db, DbCounter::LogFlushes, 1);
    assert_eq!(db_counter(db, DbCounter::LogFlushes), 5);
    assert!(db_counters().iter().any(|(id, _)| *id == db));
    forget_db(db);
    assert_eq!(db_counter(db, DbCounter::LogFlushes), 0);
}

#[test]
fn a_files_reads_and_writes_are_counted() {
    let io = FileIo::new(DbId(30_002), FileId(2), 7);
    io.write(61_440, Duration::from_millis(3));
    io.read(8192, Duration::from_millis(1));
    let seen = io.snapshot();
    assert_eq!(
        (seen.writes, seen.bytes_written, seen.write_stall_ms),
        (1, 61_440, 3)
    );
    assert_eq!(
        (seen.reads, seen.bytes_read, seen.read_stall_ms),
        (1, 8192, 1)
    );
}

#[test]
fn a_transfer_is_pending_while_it_lasts_and_told_of_when_it_is_over() {
    use crate::events::{EventId, EventRing, EventValue};
    let db = DbId(30_003);
    let io = FileIo::new(db, FileId(1), 7);
    let ring = EventRing::start(&[EventId::FileWriteCompleted], 10_000);
    let first = io.begin_write(8192, 24_576);
    let failed = io.begin_read(65_536, 8192);
    let mut offsets: Vec<u64> = io.pending().iter().map(|p| p.offset).collect();
    offsets.sort_unstable();
    assert_eq!(offsets, [8192, 65_536]);
    drop(failed);
    first.has_written(&[9; 24_576]);
    assert!(io.pending().is_empty());
    let reported = ring.snapshot();
    let mut mine = reported
        .iter()
        .filter(|e| e.value("database_id") == Some(&EventValue::Unsigned(30_003)));
    let event = mine.next().expect("the write");
    assert_eq!(event.value("offset"), Some(&EventValue::Unsigned(8192)));
    assert_eq!(event.value("size"), Some(&EventValue::Unsigned(24_576)));
    assert_eq!(event.value("file_handle"), Some(&EventValue::Pointer(7)));
    assert!(mine.next().is_none());
    let seen = io.snapshot();
    assert_eq!((seen.writes, seen.bytes_written), (1, 24_576));
}

/// Wants the bytes of writes, and keeps those of one database.
struct Copies(duramen_os::sync::Global<Vec<crate::events::Event>>);

impl crate::events::Listener for Copies {
    fn wants(&self) -> u64 {
        crate::events::EventId::FileWriteCompleted.bit()
    }
    fn wants_io_data(&self) -> bool {
        true
    }
    fn event(&self, event: &crate::events::Event) {
        self.0.write(|all| all.push(event.clone()));
    }
}

#[test]
fn bytes_are_copied_for_who_wants_them() {
    use crate::events::EventValue;
    let io = FileIo::new(DbId(30_004), FileId(1), 7);
    let copies = std::sync::Arc::new(Copies(duramen_os::sync::Global::new(Vec::new())));
    crate::events::listen(copies.clone());
    io.begin_write(0, 3).has_written(&[1, 2, 3]);
    let reported = copies.0.read(Clone::clone);
    let own =
        |e: &&crate::events::Event| e.value("database_id") == Some(&EventValue::Unsigned(30_004));
    let event = reported.iter().find(own).expect("the write");
    let data = EventValue::Binary(vec![1, 2, 3]);
    assert_eq!(event.value("io_data"), Some(&data));
}

#[test]
fn a_latch_wait_counts_in_its_class_and_its_type() {
    Simulation::new(4).run(|_| {
        let guard = latch_wait(LatchClass::FGCB_ADD_REMOVE, WaitType::LATCH_UP, "");
        thread::sleep(Duration::from_millis(9));
        drop(guard);
        let class = latch_stats()[LatchClass::FGCB_ADD_REMOVE as usize];
        assert_eq!((class.waiting_requests_count, class.wait_time_ms), (1, 9));
        assert_eq!(class.name, "FGCB_ADD_REMOVE");
        assert_eq!(stat(WaitType::LATCH_UP).wait_time_ms, 9);
    });
}

#[test]
fn an_idle_worker_counts_as_time_goes_by() {
    // Nothing else of this process has idle workers.
    let ms = || stat(WaitType::SOS_WORK_DISPATCHER).wait_time_ms;
    let before = ms();
    let idle = idle_worker();
    duramen_os::thread::sleep(std::time::Duration::from_millis(30));
    let while_it_waits = ms();
    assert!(while_it_waits >= before + 29, "{before} {while_it_waits}");
    drop(idle);
    assert!(ms() >= while_it_waits);
    let after = ms();
    duramen_os::thread::sleep(std::time::Duration::from_millis(20));
    assert!(ms() <= after + 1);
    assert_eq!(stat(WaitType::SOS_WORK_DISPATCHER).waiting_tasks_count, 1);
}

#[test]
fn owners_count_and_wait_apart() {
    let db = DbId(30_001);
    let (first, second) = (u64::MAX - 1, u64::MAX);
    let owned = thread::own(first);
    count_db(db, DbCounter::LogGrowths, 2);
    let waits = SessionWaits::new(SessionId(953), thread::owner());
    let seen = || {
        waiting_tasks()
            .iter()
            .filter(|t| t.session == SessionId(953))
            .count()
    };
    {
        let _attached = attach(&waits, 0);
        let _wait = wait(WaitType::LCK_M_U);
        assert_eq!((seen(), thread::owner()), (1, first));
        let _owned = thread::own(second);
        assert_eq!(seen(), 0);
    }
    let counted = thread::spawn("inherits", move || db_counter(db, DbCounter::LogGrowths));
    assert_eq!(counted.join().ok(), Some(2));
    let others = thread::own(second);
    assert_eq!(db_counter(db, DbCounter::LogGrowths), 0);
    assert!(db_counters().is_empty());
    forget_db(db);
    drop(others);
    assert_eq!(db_counter(db, DbCounter::LogGrowths), 2);
    forget_db(db);
    drop(owned);
}

/// The list of listeners is nobody's while one of them is called: it may begin to listen to more, and emit itself.
#[test]
fn a_listener_may_change_who_listens() {
    use crate::events::{self, Event, EventId, Listener};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[derive(Default)]
    struct Restless(AtomicU64);

    impl Listener for Restless {
        fn wants(&self) -> u64 {
            EventId::DatabasesLogShrink.bit()
        }

        fn event(&self, _: &Event) {
            if self.0.fetch_add(1, Relaxed) == 0 {
                events::listen(Arc::new(Restless(AtomicU64::new(1))));
                events::relisten();
                shrunk();
            }
        }
    }

    fn shrunk() {
        events::emit(|| events::DatabasesLogShrink {
            database_id: 9_999,
            count: 1,
        });
    }

    let first = Arc::new(Restless::default());
    events::listen(first.clone());
    shrunk();
    assert_eq!(first.0.load(Relaxed), 2);
}
