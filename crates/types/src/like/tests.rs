//! LIKE by the documented cases; varchar and nvarchar differ in trailing blanks only.

use super::*;

const CI: CollationId = CollationId::SQL_LATIN1_CI_AS;

fn like(v: &str, p: &str, escape: Option<char>) -> (bool, bool) {
    let escape = escape.map(|c| c as u16);
    let narrow = LikePattern::compile(&Value::varchar(p), escape, false, CI);
    let wide = LikePattern::compile(&Value::nvarchar(p), escape, true, CI);
    (
        narrow.matches(&Value::varchar(v)),
        wide.matches(&Value::nvarchar(v)),
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
        LikePattern::compile(&Value::varchar(p), None, false, CI).position(&Value::varchar(v))
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
fn binary_collations_are_exact() {
    let p = LikePattern::compile(
        &Value::varchar("[a-z]%"),
        None,
        false,
        CollationId::LATIN1_BIN2,
    );
    assert!(p.matches(&Value::varchar("ab")));
    assert!(!p.matches(&Value::varchar("Ab")));
}
