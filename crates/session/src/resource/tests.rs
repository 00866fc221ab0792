//! The texts are modules, each with a name and id of its own.

use super::*;

#[test]
fn every_text_is_a_module_of_its_own() {
    let texts: usize = FILES.iter().map(|f| f.split("\nGO\n").count()).sum();
    assert_eq!(
        all().count(),
        texts,
        "a text begins with no CREATE, or says not what it needs"
    );
    let mut ids: Vec<i32> = all().map(|m| m.id.0).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all().count(), "two modules have one id");
}

#[test]
fn every_text_parses() {
    for m in all() {
        if m.kind == ObjectKind::VIEW {
            view(m, "it's").unwrap_or_else(|e| panic!("{}: {e:?}", m.name));
        } else {
            let options = ParseOptions {
                quoted_identifier: true,
            };
            duramen_tsql::parse_batch(&m.text, &options)
                .unwrap_or_else(|e| panic!("{}: {e:?}", m.name));
        }
    }
}

#[test]
fn names_answer_where_they_once_were() {
    let view = |s, n| find(s, n, ObjectKind::VIEW).map(|m| m.name.as_str());
    assert_eq!(view(Some("information_schema"), "tables"), Some("TABLES"));
    assert_eq!(view(None, "SYSOBJECTS"), Some("sysobjects"));
    assert_eq!(view(Some("dbo"), "sysobjects"), Some("sysobjects"));
    assert_eq!(view(Some("other"), "sysobjects"), None);
    assert_eq!(view(None, "tables"), None);
    assert!(find(None, "sp_help", ObjectKind::PROCEDURE).is_some());
    assert!(find(Some("INFORMATION_SCHEMA"), "sp_help", ObjectKind::PROCEDURE).is_none());
}

#[test]
fn no_view_is_here_and_in_code() {
    for m in all().filter(|m| m.schema == duramen_catalog::SCHEMA_SYS) {
        let declared = crate::views::declared_object(&m.name);
        assert!(declared.is_none(), "{} is declared twice", m.name);
    }
}
