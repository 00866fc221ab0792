use std::cell::RefCell;

use duramen_tsql::ast::{Batch, StatementKind};
use duramen_tsql::{ParseOptions, parse_batch};

use super::*;

fn parsed(event: &str, condition: &str) -> EventPredicate {
    let text = format!("CREATE EVENT SESSION s ON SERVER ADD EVENT {event} (WHERE {condition})");
    let Batch { statements, .. } = parse_batch(&text, &ParseOptions::default()).expect("it parses");
    match &statements[0].kind {
        StatementKind::CreateEventSession(s) => s.events[0].predicate.clone().expect("a predicate"),
        other => panic!("{other:?}"),
    }
}

fn bound(condition: &str) -> SqlResult<Predicate> {
    Predicate::bind(EventId::WaitInfo, &parsed("sqlos.wait_info", condition))
}

/// A wait of that type, that long.
fn wait(key: &str, duration: u64) -> Vec<EventValue> {
    let key = objects::map_key("wait_types", key).expect("a wait type");
    vec![
        EventValue::Mapped(key, ""),
        EventValue::Mapped(1, "End"),
        EventValue::Unsigned(duration),
        EventValue::Unsigned(0),
    ]
}

fn said(condition: &str, values: &[EventValue]) -> bool {
    let lookup = |source| match source {
        Source::Field(at) => values.get(at).cloned(),
        Source::Action(ActionId::ClientAppName) => Some(EventValue::Text("SQLCMD".to_owned())),
        _ => None,
    };
    bound(condition).expect("it binds").holds(&lookup)
}

#[test]
fn not_binds_more_than_and_and_and_more_than_or() {
    let short = wait("WRITELOG", 1);
    let long = wait("LCK_M_S", 9);
    let text = "NOT duration = 1 AND opcode = 1 OR wait_type = N'WRITELOG'";
    assert!(said(text, &short) && said(text, &long));
    let text = "NOT (duration = 1 OR opcode = 1)";
    assert!(!said(text, &short) && !said(text, &long));
}

#[test]
fn texts_of_maps_are_their_keys() {
    let text = "([wait_type] >= N'LATCH_NL' AND [wait_type] <= N'LATCH_DT')";
    assert!(said(text, &wait("LATCH_EX", 1)));
    assert!(!said(text, &wait("PAGELATCH_EX", 1)));
    assert!(bound("wait_type = N'NO_SUCH_WAIT'").is_err());
}

#[test]
fn functions_compare_in_their_types() {
    let w = wait("WRITELOG", 12);
    assert!(said("package0.greater_than_uint64(duration, (11))", &w));
    assert!(said("package0.divides_by_uint64(duration, 4)", &w));
    assert!(!said("package0.divides_by_uint64(duration, 5)", &w));
    let like = "sqlserver.like_i_sql_unicode_string(sqlserver.client_app_name, N'sql%')";
    assert!(said(like, &w));
    assert!(!said(&format!("NOT {like}"), &w));
    let exact = "package0.equal_unicode_string(sqlserver.client_app_name, N'sqlcmd')";
    assert!(!said(exact, &w));
    assert!(said("sqlserver.client_app_name = N'sqlcmd'", &w));
}

#[test]
fn counters_count_what_came_to_them() {
    let values = RefCell::new(wait("WRITELOG", 1));
    let p = bound("duration > 5 AND package0.counter <= 2").expect("it binds");
    let ask = || {
        let values = values.borrow().clone();
        p.holds(&|source| match source {
            Source::Field(at) => values.get(at).cloned(),
            _ => None,
        })
    };
    assert!(!ask());
    *values.borrow_mut() = wait("WRITELOG", 6);
    assert_eq!([ask(), ask(), ask()], [true, true, false]);
}

#[test]
fn what_is_too_short_need_not_be_told() {
    let shortest = |text| bound(text).expect("it binds").shortest().as_millis();
    assert_eq!(
        shortest("duration > 15000 AND wait_type = N'WRITELOG'"),
        15001
    );
    assert_eq!(shortest("duration > 15 OR duration >= 7 AND opcode = 1"), 7);
    assert_eq!(shortest("NOT duration > 15"), 0);
    assert_eq!(shortest("wait_type = N'WRITELOG'"), 0);
}

#[test]
fn errors_say_what_is_wrong() {
    let number = |text| bound(text).expect_err("it is wrong").number;
    assert_eq!(number("batch_text = N'x'"), 25706);
    assert_eq!(number("sqlserver.nothing = 1"), 25706);
    assert_eq!(number("duration = N'x'"), 25713);
    assert_eq!(number("package0.divides_by_uint64(duration, 0)"), 25713);
    assert_eq!(number("package0.similar_uint64(duration, 1)"), 25623);
    assert_eq!(number("sqlserver.equal_uint64(duration, 1)"), 25623);
}
