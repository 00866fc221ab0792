//! The resource monitor: looks at the process ten times a second, more often while it has too much, and sees to it that what it
//! has stays within the limit.
//!
//! The broker knows what is told; the process also has code, stacks, small tables and what its allocator keeps for a next time.
//! When all of that together passes what is allowed, the allocator gives back what it keeps, then the pool and the caches,
//! and if that does not help, statements that have taken much give up (701). Only for a process that is one server: where
//! several instances live in one, what is resident is nobody's alone.

use std::sync::{Arc, Weak};
use std::time::Duration;

use duramen_observe::{Duty, WaitType, background};
use duramen_os::memory::{Broker, Clerk};
use duramen_os::time::{self, Instant};
use duramen_os::{heap, machine, thread};

use crate::instance_core::InstanceCore;

const LOOK: Duration = Duration::from_millis(100);
/// While there is too much: a few statements take a megabyte a millisecond.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Free memory that the allocator may keep even when there is little.
const KEPT: u64 = 16 << 20;
/// The same when statements would have to give up otherwise.
const KEPT_AT_LAST: u64 = 2 << 20;
/// What it keeps is no more than one of so many parts of what is resident, when nobody presses.
const FREE_PART: u64 = 5;
/// Between two times that it is asked: when there is too much and it gave something, when it had little to give, and when
/// there is enough.
const SOON: Duration = Duration::from_millis(60);
const IN_VAIN: Duration = Duration::from_millis(500);
const LATER: Duration = Duration::from_secs(3);

/// Its arenas are locked while it looks: no more than one of so many parts of the time, or of so many when there is far too
/// much.
const TIME_PART: u32 = 5;
const TIME_PART_FAR: u32 = 2;
/// So much beyond where it is too much is far too much.
const FAR: u64 = 48 << 20;

/// When the allocator was asked last, how long that took, and whether it gave something.
struct Trimmed {
    at: Instant,
    took: Duration,
    gave: bool,
}

impl Trimmed {
    fn is_due(&self, exceeds: bool, far: bool) -> bool {
        if far {
            return self.at.elapsed() >= self.took * TIME_PART_FAR;
        }
        let pause = match (exceeds, self.gave) {
            (true, true) => SOON,
            (true, false) => IN_VAIN,
            (false, _) => LATER,
        };
        self.at.elapsed() >= pause.max(self.took * TIME_PART)
    }
}

impl InstanceCore {
    /// The process is this instance's alone: it answers for all memory that the process has. Ends with the instance.
    pub fn watch_process(&self) {
        heap::give_large_blocks_back();
        let broker = Arc::downgrade(&self.databases.engine.memory);
        let role = background(Duty::ResourceMonitor, None);
        let started = thread::try_spawn("resource monitor", move || {
            let mut trimmed = Trimmed {
                at: time::now(),
                took: Duration::ZERO,
                gave: true,
            };
            let mut pause = LOOK;
            loop {
                let idle = role.waits(WaitType::SLEEP_SYSTEMTASK);
                thread::sleep(pause);
                drop(idle);
                let Some(broker) = Weak::upgrade(&broker) else {
                    return;
                };
                pause = match look(&broker, &mut trimmed) {
                    true => LOOK_AGAIN,
                    false => LOOK,
                };
            }
        });
        // Without the thread what is told of is bounded all the same.
        drop(started);
    }
}

/// One look; whether the process has too much.
fn look(broker: &Broker, trimmed: &mut Trimmed) -> bool {
    let Some(mut resident) = machine::resident_bytes() else {
        return false;
    };
    let named = broker.of(Clerk::BufferPool) + heap::allocated().unwrap_or(resident);
    let free = resident.saturating_sub(named);
    let exceeds = broker.exceeds(resident);
    // Without need, too, where it is a large part of all: others on the machine may want it.
    let lacking = broker.lacking(resident) > 0;
    let far = lacking || broker.exceeds(resident.saturating_sub(FAR));
    let kept = match (lacking, exceeds) {
        (true, _) => KEPT_AT_LAST,
        (false, true) => KEPT,
        (false, false) => resident / FREE_PART,
    };
    if free > kept && trimmed.is_due(exceeds, far) {
        let began = time::now();
        heap::trim();
        let after = machine::resident_bytes().unwrap_or(resident);
        *trimmed = Trimmed {
            at: time::now(),
            took: began.elapsed(),
            gave: resident.saturating_sub(after) > free / 8,
        };
        resident = after;
    }
    broker.watch(resident);
    heap::press(broker.is_over());
    exceeds
}
