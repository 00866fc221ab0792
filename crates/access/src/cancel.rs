//! How a running request is asked to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by whoever wants the running request to end: an attention, a lost client, KILL.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(pub Arc<AtomicBool>);

impl CancelToken {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
