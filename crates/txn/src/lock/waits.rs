//! The wait type of each mode.

use super::LockMode;

/// Measures a wait for `mode` until the guard is dropped.
pub(super) fn start(_mode: LockMode) {}
