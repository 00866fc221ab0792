//! Which triggers of a table an event fires.

use duramen_catalog::{TableDef, TriggerDef, trigger_events};
use duramen_query::host::Event;

fn bit(event: Event) -> u8 {
    match event {
        Event::Insert => trigger_events::INSERT,
        Event::Update => trigger_events::UPDATE,
        Event::Delete => trigger_events::DELETE,
    }
}

/// The enabled triggers of a table that an event fires.
pub fn fired_by(def: &TableDef, event: Event) -> Vec<i32> {
    let meant = |t: &&TriggerDef| !t.disabled && t.events & bit(event) != 0;
    def.triggers.iter().filter(meant).map(|t| t.id.0).collect()
}
