//! Where an event happens: the statement that its session is at with what has called it, the plan of that statement, the
//! thread.
//!
//! Asked where the event fires: nothing here waits.

use std::fmt::Write as _;

use duramen_core::activity::{Activity, At};
use duramen_observe::events::{Event, EventValue};
use duramen_program::program::handle::{handle_bytes, sql_handle};
use duramen_program::program::shown::offset;

use super::objects::ActionId;

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}

/// One frame. A program that is at no statement yet is told as a whole (*assumed*).
fn frame(out: &mut String, level: usize, at: &At) {
    let (program, step) = at;
    let step = step.and_then(|s| program.steps.get(s));
    let line = step.map_or(1, |s| s.line);
    let from = step.map_or(0, |s| offset(&program.text, s.span.0));
    let to = step.map_or(-1, |s| offset(&program.text, s.span.1));
    let _ = write!(
        out,
        "<frame level='{level}' handle='0x{}' line='{line}' offsetStart='{from}' offsetEnd='{to}'/>",
        hex(&sql_handle(program)),
    );
}

fn frames(who: &Activity) -> Option<String> {
    let stack = who.stack();
    if stack.is_empty() {
        return None;
    }
    let mut out = String::from("<frames>");
    for (i, at) in stack.iter().enumerate() {
        frame(&mut out, i + 1, at);
    }
    Some(out + "</frames>")
}

fn innermost_frame(who: &Activity) -> Option<String> {
    let mut out = String::new();
    frame(&mut out, 1, who.stack().first()?);
    Some(out)
}

/// The hash of the statement that a session is at, as `sys.dm_exec_query_stats` has it. 0: it is at none.
fn query_hash(who: &Activity) -> u64 {
    let found = who.statement().and_then(|(program, at)| {
        let span = program.steps.get(at?)?.span;
        let text = program.text.get(span.0..span.1);
        text.map(duramen_program::planned::query_hash)
    });
    found.unwrap_or(0)
}

/// The hash of its plan. 0: it has none, or none yet.
fn plan_hash(who: &Activity) -> u64 {
    let found = who
        .statement()
        .and_then(|(program, at)| program.stats.plan_hash(at?));
    found.unwrap_or(0)
}

/// The handle of the plans of what a session runs.
fn plan_handle(who: &Activity) -> Option<Vec<u8>> {
    let (program, _) = who.statement()?;
    let first = if program.stats.module().is_some() {
        5
    } else {
        6
    };
    Some(handle_bytes(first, &program))
}

/// Microseconds since the request at hand began (*assumed*: the unit is not published).
fn task_time(who: &Activity) -> u64 {
    let now = duramen_os::time::wall().unix_nanos() as i64;
    u64::try_from((now - who.started()) / 1000).unwrap_or(0)
}

/// Sessions and what they are at; `None` for an action of another kind, and where nobody knows.
pub(super) fn of(event: &Event, action: ActionId, who: Option<&Activity>) -> Option<EventValue> {
    let spid = who.map(|a| a.spid).or(event.session);
    let context = || u64::from(duramen_observe::current_context());
    Some(match action {
        ActionId::TsqlStack => EventValue::Text(frames(who?)?),
        ActionId::TsqlFrame => EventValue::Text(innermost_frame(who?)?),
        ActionId::QueryHash => EventValue::Unsigned(query_hash(who?)),
        ActionId::QueryHashSigned => EventValue::Signed(query_hash(who?) as i64),
        ActionId::QueryPlanHash => EventValue::Unsigned(plan_hash(who?)),
        ActionId::QueryPlanHashSigned => EventValue::Signed(plan_hash(who?) as i64),
        ActionId::PlanHandle => EventValue::Binary(plan_handle(who?)?),
        ActionId::ContextInfo => EventValue::Binary(who?.context_info()?),
        ActionId::TaskTime => EventValue::Unsigned(task_time(who?)),
        ActionId::SystemThreadId => {
            EventValue::Unsigned(u64::from(duramen_os::thread::system_id()))
        }
        ActionId::CpuId => EventValue::Unsigned(u64::from(duramen_os::thread::processor())),
        // As `sys.dm_os_tasks` has them.
        ActionId::SchedulerId => {
            let at = u64::from(spid?.0) + context();
            EventValue::Unsigned(at % duramen_os::machine::processors().max(1) as u64)
        }
        ActionId::WorkerAddress => EventValue::Pointer(u64::from(spid?.0) << 32 | context()),
        _ => return None,
    })
}
