//! What a lock wait is called in the wait statistics.

use duramen_base::SessionId;
use duramen_observe::{Counter, WaitGuard, WaitType, count, wait_on};
use duramen_os::time::Instant;

use super::{LockMode, Resource};

fn wait_type(mode: LockMode) -> WaitType {
    match mode {
        LockMode::SchS => WaitType::LCK_M_SCH_S,
        LockMode::SchM => WaitType::LCK_M_SCH_M,
        LockMode::S => WaitType::LCK_M_S,
        LockMode::U => WaitType::LCK_M_U,
        LockMode::X => WaitType::LCK_M_X,
        LockMode::IS => WaitType::LCK_M_IS,
        LockMode::IU => WaitType::LCK_M_IU,
        LockMode::IX => WaitType::LCK_M_IX,
        LockMode::SIU => WaitType::LCK_M_SIU,
        LockMode::SIX => WaitType::LCK_M_SIX,
        LockMode::UIX => WaitType::LCK_M_UIX,
        LockMode::BU => WaitType::LCK_M_BU,
        LockMode::RangeSS => WaitType::LCK_M_RS_S,
        LockMode::RangeSU => WaitType::LCK_M_RS_U,
        LockMode::RangeIN => WaitType::LCK_M_RIn_NL,
        LockMode::RangeIS => WaitType::LCK_M_RIn_S,
        LockMode::RangeIU => WaitType::LCK_M_RIn_U,
        LockMode::RangeIX => WaitType::LCK_M_RIn_X,
        LockMode::RangeXS => WaitType::LCK_M_RX_S,
        LockMode::RangeXU => WaitType::LCK_M_RX_U,
        LockMode::RangeXX => WaitType::LCK_M_RX_X,
    }
}

/// One wait for a lock, measured until it is dropped.
pub(super) struct LockWait(WaitGuard);

pub(super) fn start(mode: LockMode, resource: &Resource, blocker: Option<SessionId>) -> LockWait {
    count(Counter::LockWaits, 1);
    LockWait(wait_on(
        wait_type(mode),
        resource.to_string(),
        blocker.map(|b| b.0),
    ))
}

impl LockWait {
    /// Somebody ended the wait at this moment; what came after was waiting for a processor.
    pub fn woken(&mut self, at: Option<Instant>) {
        if let Some(at) = at {
            self.0.signalled_at(at);
        }
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        let ms = u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        count(Counter::LockWaitTimeMs, ms);
        count(Counter::LockWaitTimeAverage, ms);
        count(Counter::LockWaitTimeBase, 1);
    }
}
