//! The shape of a statement: what two texts have in common that differ in literals only.

use crate::lexer::{Tok, tokenize};

/// FNV-1a.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A token of a kind, apart from the next one.
    fn token(&mut self, kind: u8, text: &str) {
        self.add(&[kind]);
        self.add(text.to_lowercase().as_bytes());
        self.add(&[0]);
    }
}

/// The same number for texts that differ only in literals (and the signs before them), blanks, comments, the case of
/// letters, brackets around names, and semicolons at the end. A name in double quotes counts as a name. A text that cannot
/// be cut into tokens is taken as it is.
pub fn shape_hash(sql: &str) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let Ok(tokens) = tokenize(sql) else {
        hash.add(sql.as_bytes());
        return hash.0;
    };
    let mut rest = &tokens[..];
    while let [before @ .., last] = rest
        && matches!(last.kind, Tok::End | Tok::Op(';'))
    {
        rest = before;
    }
    for (i, token) in rest.iter().enumerate() {
        let text = sql.get(token.start as usize..token.end as usize);
        let text = text.unwrap_or_default();
        match &token.kind {
            Tok::Word { .. } => hash.token(b'n', text),
            Tok::Bracketed(name) | Tok::DoubleQuoted(name) => hash.token(b'n', name),
            Tok::Variable => hash.token(b'v', text),
            Tok::Op('-' | '+') if is_sign(&rest[..i]) && rest.get(i + 1).is_some_and(is_number) => {
            }
            Tok::Op(c) => hash.token(b'o', c.encode_utf8(&mut [0; 4])),
            Tok::End => {}
            Tok::String { .. }
            | Tok::Int(_)
            | Tok::Decimal(_)
            | Tok::Float(_)
            | Tok::Money(_)
            | Tok::Binary(_) => hash.token(b'?', ""),
        }
    }
    hash.0
}

fn is_number(token: &crate::lexer::Token) -> bool {
    let kind = &token.kind;
    matches!(
        kind,
        Tok::Int(_) | Tok::Decimal(_) | Tok::Float(_) | Tok::Money(_)
    )
}

/// Whether a plus or minus after these tokens belongs to a number and takes nothing from what is before it.
fn is_sign(before: &[crate::lexer::Token]) -> bool {
    match before.last().map(|t| &t.kind) {
        Some(Tok::Op(c)) => *c != ')',
        Some(Tok::Word { reserved }) => *reserved,
        None => true,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::shape_hash;

    #[test]
    fn texts_that_differ_in_literals_have_one_shape() {
        let one = shape_hash("SELECT a FROM t WHERE b = 5 AND c = N'x'");
        for same in [
            "select A from [t] where b = -17 and c = 'it''s'",
            "SELECT a FROM t -- all\nWHERE b=0x05 AND c=1e3;",
        ] {
            assert_eq!(shape_hash(same), one, "{same}");
        }
        for other in [
            "SELECT a FROM t WHERE b = 5 OR c = N'x'",
            "SELECT a FROM t WHERE b = @b AND c = N'x'",
            "SELECT a FROM t WHERE b = a - 5 AND c = N'x'",
            "SELECT a FROM u WHERE b = 5 AND c = N'x'",
            "SELECT a FROM t WHERE b IN (5, 6) AND c = N'x'",
        ] {
            assert_ne!(shape_hash(other), one, "{other}");
        }
        assert_ne!(shape_hash("SELECT a - 5"), shape_hash("SELECT a 5"));
        assert_ne!(
            shape_hash("SELECT 'unclosed"),
            shape_hash("SELECT 'unclosed2")
        );
    }
}
