//! LIKE by the documented cases; varchar and nvarchar differ in trailing blanks only.

use super::*;

const CI: CollationId = CollationId::SQL_LATIN1_CI_AS;

fn like(v: &str, p: &str, escape: Option<char>) -> (bool, bool) {
    let escape = escape.map(|c| c as u16);
    let narrow = LikePattern::compile(&Value::varchar(p), escape, false, CI);
    let wide = LikePattern::compile(&Value::nvarchar(p), escape, true, CI);
    (
        narrow.matches(&Value::varchar(v)).unwrap(),
        wide.matches(&Value::nvarchar(v)).unwrap(),
    )
}

#[test]
fn wildcards() {
    for (v, p, expected) in [
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "A_C", true),
        ("abc", "a_", false),
        ("", "%", true),
        ("", "_", false),
        ("abab", "%ab", true),
        ("aXbXc", "%x%x%", true),
        ("mississippi", "m%iss%pi", true),
        ("abc", "[a-c][^x]c", true),
        ("abc", "[^a]%", false),
        ("é", "[a-f]", true),
        ("z", "[a-f]", false),
        ("%", "[%]", true),
        ("x", "[%]", false),
        ("]", "]", true),
        ("[", "[", false),
        ("a-b", "a[-]b", true),
        ("a", "[]", false),
        ("a", "a ", false),
    ] {
        assert_eq!(like(v, p, None), (expected, expected), "{v:?} like {p:?}");
    }
}

#[test]
fn escapes() {
    assert_eq!(like("a%", "a!%", Some('!')), (true, true));
    assert_eq!(like("ab", "a!%", Some('!')), (false, false));
    assert_eq!(like("a", "a!", Some('!')), (false, false));
    assert_eq!(like("ab", "a!b", Some('!')), (true, true));
    assert_eq!(like("]", "[!]]", Some('!')), (true, true));
}

#[test]
fn trailing_blanks_of_the_value() {
    assert_eq!(like("abc  ", "abc", None), (true, false));
    assert_eq!(like("abc ", "abc ", None), (true, true));
    assert_eq!(like("abc  ", "%c", None), (true, false));
}

#[test]
fn positions() {
    let at = |v: &str, p: &str| {
        LikePattern::compile(&Value::varchar(p), None, false, CI)
            .position(&Value::varchar(v))
            .unwrap()
    };
    assert_eq!(at("hello world", "%O_w%"), 5);
    assert_eq!(at("hello", "h%"), 1);
    assert_eq!(at("hello", "%z%"), 0);
    assert_eq!(at("hello", "%lo"), 4);
    assert_eq!(at("hello", "%"), 1);
}

#[test]
fn long_patterns_stay_linear_enough() {
    let v = "a".repeat(4000);
    assert_eq!(like(&v, "%a%a%a%a%a%a%a%b", None), (false, false));
}

#[test]
fn a_long_value_is_not_searched_again_from_each_place() {
    let v = Value::varchar(&"a".repeat(300_000));
    let p = LikePattern::compile(&Value::varchar("%a%a%b%"), None, false, CI);
    assert_eq!(p.position(&v).unwrap(), 0);
}

/// The first place from which the rest of the value matches what follows the leading `%`.
#[test]
fn a_position_is_the_first_that_matches() {
    let mut state = 1u32;
    let mut draw = |of: &[&str]| {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        of[(state >> 16) as usize % of.len()].to_owned()
    };
    for _ in 0..20_000 {
        let lengths = ["1", "2", "3", "4", "5", "6"];
        let many = |n: String| 0..n.parse::<usize>().unwrap();
        let v: String = many(draw(&lengths))
            .map(|_| draw(&["a", "b", " "]))
            .collect();
        let p: String = many(draw(&lengths))
            .map(|_| draw(&["a", "b", "%", "_", " "]))
            .collect();
        let position = |p: &str, v: &str| {
            LikePattern::compile(&Value::varchar(p), None, false, CI)
                .position(&Value::varchar(v))
                .unwrap()
        };
        let rest = p.trim_start_matches('%');
        let first = (0..=v.len()).find(|at| rest.is_empty() || like(&v[*at..], rest, None).0);
        let expected = first.map_or(0, |at| at + 1);
        assert_eq!(
            position(&format!("%{rest}"), &v),
            expected,
            "{v:?} {rest:?}"
        );
    }
}

#[test]
fn binary_collations_are_exact() {
    let p = LikePattern::compile(
        &Value::varchar("[a-z]%"),
        None,
        false,
        CollationId::LATIN1_BIN2,
    );
    assert!(p.matches(&Value::varchar("ab")).unwrap());
    assert!(!p.matches(&Value::varchar("Ab")).unwrap());
}
