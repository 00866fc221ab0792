//! What sessions have taken of the machine, by the processor that a session's number gives it: the figures of
//! `sys.dm_os_schedulers`, which outlive the sessions.

use duramen_base::SessionId;
use duramen_observe::Switches;

use crate::activity::Activity;

/// Of a session, or of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    pub cpu_nanos: u64,
    pub switches: Switches,
}

impl Load {
    /// What a session has taken so far.
    pub fn of(activity: &Activity) -> Load {
        Load {
            cpu_nanos: activity.times().1.cpu,
            switches: activity.waits.switches(),
        }
    }

    pub fn plus(&self, more: &Load) -> Load {
        let (a, b) = (&self.switches, &more.switches);
        Load {
            cpu_nanos: self.cpu_nanos + more.cpu_nanos,
            switches: Switches {
                context: a.context + b.context,
                own: a.own + b.own,
                preemptive: a.preemptive + b.preemptive,
                signal_nanos: a.signal_nanos + b.signal_nanos,
            },
        }
    }
}

/// The place of a session among so many processors.
pub fn place_of(session: SessionId, of: usize) -> usize {
    usize::from(session.0) % of.max(1)
}

/// What sessions that have ended had taken, by the processors of the machine and one for administrators.
#[derive(Debug, Default)]
pub struct Departed {
    places: Vec<Load>,
    admin: Load,
}

impl Departed {
    pub fn add(&mut self, session: SessionId, admin: bool, load: &Load) {
        let count = duramen_os::machine::processors();
        self.places.resize(count.max(1), Load::default());
        let place = place_of(session, count);
        let sum = match admin {
            true => &mut self.admin,
            false => &mut self.places[place],
        };
        *sum = sum.plus(load);
    }

    pub fn of(&self, place: usize) -> Load {
        self.places.get(place).copied().unwrap_or_default()
    }

    pub fn admin(&self) -> Load {
        self.admin
    }
}
