//! Collation rules the reference states, for both string families, and agreement of order, equality and hash.

use super::*;
use crate::{Value, compare, hash_key};
use Ordering::{Equal, Greater, Less};

const CI: CollationId = CollationId::SQL_LATIN1_CI_AS;

/// FNV-1a, to have a hasher without seeds.
struct Fnv(u64);
impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ *b as u64).wrapping_mul(0x100_0000_01b3);
        }
    }
}

fn v(a: &str, b: &str, coll: CollationId) -> Ordering {
    check(&Value::varchar(a), &Value::varchar(b), coll)
}

fn n(a: &str, b: &str, coll: CollationId) -> Ordering {
    check(&Value::nvarchar(a), &Value::nvarchar(b), coll)
}

fn check(a: &Value, b: &Value, coll: CollationId) -> Ordering {
    let order = compare(a, b, coll);
    assert_eq!(compare(b, a, coll), order.reverse(), "{a:?} {b:?}");
    if order == Equal {
        let hash = |v| {
            let mut h = Fnv(0);
            hash_key(v, coll, &mut h);
            h.finish()
        };
        assert_eq!(hash(a), hash(b), "{a:?} {b:?}");
    }
    order
}

#[test]
fn case_and_trailing_blanks_do_not_count() {
    for f in [v, n] {
        assert_eq!(f("Abc", "aBC  ", CI), Equal);
        assert_eq!(f("", "  ", CI), Equal);
        assert_eq!(f("é", "É", CI), Equal);
        assert_eq!(f("a", "á", CI), Less);
        assert_eq!(f("áb", "ac", CI), Less, "accents are a later level");
        assert_eq!(f("a", "ab", CI), Less);
        assert_eq!(
            f("a\tb", "a", CI),
            if f("\t", " ", CI) == Less {
                Less
            } else {
                Greater
            }
        );
    }
}

#[test]
fn classes_are_symbols_digits_letters() {
    for f in [v, n] {
        assert_eq!(f("_", "0", CI), Less);
        assert_eq!(f("9", "a", CI), Less);
        assert_eq!(f("z", "a", CI), Greater);
        assert_eq!(f("€", "0", CI), Less);
    }
}

#[test]
fn hyphens_differ_by_family() {
    assert_eq!(v("a-c", "ab", CI), Less);
    assert_eq!(n("a-c", "ab", CI), Greater);
    assert_eq!(n("a-c", "ac", CI), Greater);
    assert_eq!(n("coop", "co-op", CI), Less);
    assert_eq!(n("a-b-c", "a-b-c", CI), Equal);
}

#[test]
fn ligatures_expand_in_unicode_only() {
    assert_eq!(n("straße", "STRASSE", CI), Equal);
    assert_eq!(n("æ", "ae", CI), Equal);
    assert_ne!(v("ß", "ss", CI), Equal);
    assert_ne!(v("æ", "ae", CI), Equal);
}

#[test]
fn surrogates_weigh_nothing_in_old_collations() {
    assert_eq!(n("😀", "🎉", CI), Equal);
    assert_eq!(n("😀", "", CI), Equal);
    assert_ne!(n("😀", "🎉", CollationId::LATIN1_BIN2), Equal);
    assert_eq!(n("\u{ffff}", "😀", CollationId::LATIN1_BIN2), Less);
}

#[test]
fn binary_collations_use_codes_and_pad() {
    for f in [v, n] {
        assert_eq!(f("B", "a", CollationId::LATIN1_BIN2), Less);
        assert_eq!(f("a", "a ", CollationId::LATIN1_BIN2), Equal);
        assert_eq!(f("a", "A", CollationId::LATIN1_BIN), Greater);
    }
}

#[test]
fn case_sensitive_and_accent_insensitive() {
    let cs = CollationId::from_name("SQL_Latin1_General_CP1_CS_AS").unwrap();
    let ai = CollationId::from_name("Latin1_General_CI_AI").unwrap();
    for f in [v, n] {
        assert_ne!(f("a", "A", cs), Equal);
        assert_eq!(f("ab", "AC", cs), Less);
        assert_eq!(f("ñandú", "NANDU", ai), Equal);
    }
}

#[test]
fn order_is_transitive_over_all_bytes() {
    let mut all: Vec<u8> = (0..=255).collect();
    all.sort_by(|a, b| compare_bytes(&[*a], &[*b], CI));
    for (i, a) in all.iter().enumerate() {
        for b in &all[i..] {
            assert_ne!(compare_bytes(&[*a], &[*b], CI), Greater, "{a} {b}");
        }
    }
}

#[test]
fn tds_bytes_of_the_default() {
    assert_eq!(CI.tds_bytes(), [0x09, 0x04, 0xd0, 0x00, 0x34]);
    assert_eq!(CollationId::from_tds_bytes(CI.tds_bytes()), CI);
}

/// A long value hashes in pieces as it does whole, blanks at the ends of pieces included.
#[test]
fn long_values_hash_alike() {
    let hash = |v: &Value, long: bool, coll| {
        let (mut h, mut asked) = (Fnv(0), 0);
        match long {
            true => hash_long(v, coll, &mut h, &mut || {
                asked += 1;
                Ok(())
            })
            .unwrap(),
            false => hash_key(v, coll, &mut h),
        }
        (h.finish(), asked)
    };
    let text = "a b  \u{df}\u{e6}- '".repeat(30_000) + "  ";
    for v in [Value::varchar(&text), Value::nvarchar(&text)] {
        let (whole, _) = hash(&v, false, CI);
        let (pieces, asked) = hash(&v, true, CI);
        assert_eq!(whole, pieces);
        assert!(asked > 3, "{asked}");
    }
}

/// The comparison of long texts goes on as long as somebody wants it, and says what that of short ones says.
#[test]
fn a_comparison_of_long_texts_can_be_given_up() {
    let text = |end: &str| -> Vec<u16> {
        let text = "aé".repeat(5000) + end;
        text.encode_utf16().collect()
    };
    let (a, b) = (text("x"), text("y"));
    let coll = CollationId::DEFAULT;
    assert_eq!(compare_long_units(&a, &b, coll), Ok(Ordering::Less));
    assert_eq!(compare_long_units(&b, &a, coll), Ok(Ordering::Greater));
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let _listening = given_up::listen_to(flag);
    let given_up = Err(duramen_base::SqlError::given_up());
    assert_eq!(compare_long_units(&a, &b, coll), given_up);
    // Who cannot be told hears what is so.
    assert_eq!(compare_units(&a, &b, coll), Ordering::Less);
}
