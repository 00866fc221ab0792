//! Triggers that are running: what their own statements see.

use std::sync::Arc;

use duramen_base::ObjectId;
use duramen_planner::memory::MemoryTable;

/// A trigger that is running.
#[derive(Debug)]
pub struct Firing {
    pub trigger: ObjectId,
    /// The nesting level of its own statements.
    pub level: u32,
    pub inserted: Arc<MemoryTable>,
    pub deleted: Arc<MemoryTable>,
    /// The columns that got values: UPDATE().
    pub assigned: Vec<String>,
    pub columns: Vec<String>,
}
