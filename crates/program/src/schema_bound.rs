//! Whether a module was made WITH SCHEMABINDING.

use duramen_catalog::ModuleDef;
use duramen_tsql::ast::StatementKind;

const OPTION: &str = "SCHEMABINDING";

/// Whether a module was made WITH SCHEMABINDING.
pub fn is_schema_bound(module: &ModuleDef) -> bool {
    // Few texts have the word: only they are parsed.
    if !names(&module.text, OPTION) {
        return false;
    }
    let options = duramen_tsql::ParseOptions {
        quoted_identifier: module.quoted_identifier,
    };
    let batch = duramen_tsql::parse_batch(&module.text, &options);
    let first = batch.ok().and_then(|b| b.statements.into_iter().next());
    match first.map(|s| s.kind) {
        Some(StatementKind::CreateModule(stmt)) => stmt.options.iter().any(|o| o == OPTION),
        _ => false,
    }
}

/// Whether a text has the word, in any case.
pub fn names(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$');
    text.match_indices(&word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
