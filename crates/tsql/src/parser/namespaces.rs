//! `WITH XMLNAMESPACES (...)`: what the queries of xml methods in the rest of the statement begin with.
//!
//! Only binding can tell `c.value('...')` from a user's function: the text of the argument stays as it is, and the
//! declarations stand beside it.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::{Expr, ExprKind, Literal, ObjectName, XML_METHODS};

/// A URI as a literal of XQuery.
fn quoted(uri: &str) -> String {
    let uri = uri.replace('&', "&amp;").replace('"', "&quot;");
    format!("\"{uri}\"")
}

impl Parser<'_> {
    /// `XMLNAMESPACES ('uri' AS prefix, DEFAULT 'uri')`, kept for the rest of the statement.
    pub(super) fn xml_namespaces(&mut self) -> SqlResult<()> {
        self.expect_word("XMLNAMESPACES")?;
        let declared = self.parenthesized(|p| {
            if p.eat_word("DEFAULT") {
                let uri = quoted(&p.string()?.value);
                return Ok(format!("declare default element namespace {uri};"));
            }
            let uri = quoted(&p.string()?.value);
            p.expect_word("AS")?;
            let prefix = p.name()?;
            Ok(format!("declare namespace {prefix}={uri};"))
        })?;
        self.namespaces = declared.concat();
        Ok(())
    }

    /// Gives them to the query of a method, if the call of that name may be one.
    pub(super) fn with_namespaces(&self, name: &ObjectName, args: &mut [Expr]) {
        if self.namespaces.is_empty() || name.parts.len() < 2 || !XML_METHODS.contains(&name.name())
        {
            return;
        }
        if let Some(first) = args.first_mut()
            && let ExprKind::Literal(Literal::String(text)) = &mut first.kind
        {
            text.namespaces.clone_from(&self.namespaces);
        }
    }
}
