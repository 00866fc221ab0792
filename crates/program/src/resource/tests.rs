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

/// What stands in a view is asked in the caller's database, whatever database's view it is.
#[test]
fn views_ask_for_no_database_but_their_own() {
    const ASK: &[&str] = &[
        "COL_LENGTH(",
        "COL_NAME(",
        "COLUMNPROPERTY(",
        "DATABASE_PRINCIPAL_ID(",
        "DB_ID()",
        "HAS_PERMS_BY_NAME(",
        "IDENT_CURRENT(",
        "INDEXPROPERTY(",
        "IS_MEMBER(",
        "OBJECT_DEFINITION(",
        "OBJECT_ID(",
        "OBJECT_NAME(",
        "OBJECTPROPERTY(",
        "ORIGINAL_DB_NAME(",
        "SCHEMA_ID(",
        "SCHEMA_NAME(",
        "TYPE_ID(",
        "TYPE_NAME(",
        "USER_NAME(",
    ];
    for m in all().filter(|m| m.kind == ObjectKind::VIEW) {
        let text = m.text.to_uppercase();
        let asked = ASK.iter().find(|name| {
            text.match_indices(*name).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            })
        });
        assert_eq!(asked, None, "{}", m.name);
    }
}
