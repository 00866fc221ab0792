//! Logins, users, roles and permissions.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    /// At LOGIN, USER, ROLE or SERVER ROLE.
    pub(super) fn principal(&mut self, alter: bool) -> SqlResult<StatementKind> {
        let mut kind = self.name_or_word()?.to_ascii_uppercase();
        if kind == "SERVER" {
            self.expect_word("ROLE")?;
            kind.push_str(" ROLE");
        }
        let name = self.name_or_word()?;
        let mut options = Vec::new();
        loop {
            let line = self.line();
            if self.eat_word("WITH") {
                options.extend(self.list(Self::principal_option)?.into_iter().flatten());
                continue;
            }
            let named = [
                ("FOR", "LOGIN"),
                ("FROM", "LOGIN"),
                ("ADD", "MEMBER"),
                ("DROP", "MEMBER"),
            ];
            if let Some((a, b)) = named.iter().find(|(a, b)| self.is_words(&[a, b])) {
                self.expect_words(&[a, b])?;
                let value = Some(OptionValue::Word(self.name_or_word()?));
                options.push(NamedOption {
                    name: format!("{a} {b}"),
                    value,
                    line,
                });
            } else if self.eat_word("AUTHORIZATION") {
                let value = Some(OptionValue::Word(self.name_or_word()?));
                options.push(NamedOption {
                    name: "AUTHORIZATION".to_string(),
                    value,
                    line,
                });
            } else if self.eat_words(&["WITHOUT", "LOGIN"]) {
                options.push(NamedOption {
                    name: "WITHOUT LOGIN".to_string(),
                    value: None,
                    line,
                });
            } else if self.is_any(&["ENABLE", "DISABLE"]) {
                options.push(self.named_option()?);
            } else if self.is_any(&["FOR", "FROM"]) {
                let what =
                    "principals FROM WINDOWS, CERTIFICATE, ASYMMETRIC KEY or EXTERNAL PROVIDER";
                return Err(self.not_supported(what));
            } else if self.is_any(&["ADD", "DROP"]) && self.is_word_at(1, "CREDENTIAL") {
                return Err(self.not_supported("ALTER LOGIN ... CREDENTIAL"));
            } else {
                break;
            }
        }
        let statement = PrincipalStmt {
            alter,
            kind,
            name,
            options,
        };
        Ok(StatementKind::Principal(Box::new(statement)))
    }

    /// `PASSWORD = '...' [HASHED] [MUST_CHANGE] [UNLOCK] [OLD_PASSWORD = '...']`, `DEFAULT_DATABASE = x`, ...
    fn principal_option(&mut self) -> SqlResult<Vec<NamedOption>> {
        let mut out = vec![self.named_option()?];
        while out[0].name == "PASSWORD"
            && self.is_any(&["HASHED", "MUST_CHANGE", "UNLOCK", "OLD_PASSWORD"])
        {
            out.push(self.named_option()?);
        }
        Ok(out)
    }

    pub(super) fn permission(&mut self) -> SqlResult<StatementKind> {
        let action = match () {
            () if self.eat_word("GRANT") => PermissionAction::Grant,
            () if self.eat_word("DENY") => PermissionAction::Deny,
            () => self
                .expect_word("REVOKE")
                .map(|()| PermissionAction::Revoke)?,
        };
        let mut grant_option = self.eat_words(&["GRANT", "OPTION", "FOR"]);
        let permissions = self.list(Self::permission_words)?;
        let mut on = None;
        if self.eat_word("ON") {
            on = Some(self.securable()?);
            if self.is_op('(') {
                return Err(self.not_supported("column permissions"));
            }
        }
        if !self.eat_word("TO") {
            match action {
                PermissionAction::Revoke => self.expect_word("FROM")?,
                _ => return Err(self.unexpected()),
            }
        }
        let principals = self.list(Self::name_or_word)?;
        grant_option |= self.eat_words(&["WITH", "GRANT", "OPTION"]);
        let cascade = self.eat_word("CASCADE");
        if self.eat_word("AS") {
            self.name_or_word()?;
        }
        let statement = PermissionStmt {
            action,
            permissions,
            on,
            principals,
            grant_option,
            cascade,
        };
        Ok(StatementKind::Permission(Box::new(statement)))
    }

    fn permission_words(&mut self) -> SqlResult<String> {
        let mut words = Vec::new();
        while matches!(self.kind(), Tok::Word { .. }) && !self.is_any(&["ON", "TO", "FROM"]) {
            words.push(self.text(0).to_ascii_uppercase());
            self.advance();
        }
        if words.is_empty() {
            return Err(self.unexpected());
        }
        if self.is_op('(') {
            return Err(self.not_supported("column permissions"));
        }
        Ok(words.join(" "))
    }

    /// `[CLASS::]name`.
    pub(super) fn securable(&mut self) -> SqlResult<(Option<String>, ObjectName)> {
        let mut class = None;
        // `XML SCHEMA COLLECTION::` has the most words.
        let words = (1..=3).find(|n| self.is_op_at(*n, ':') && self.is_op_at(n + 1, ':'));
        if let Some(words) = words {
            let mut named = Vec::new();
            for _ in 0..words {
                named.push(self.name_or_word()?.to_ascii_uppercase());
            }
            class = Some(named.join(" "));
            self.expect_op(':')?;
            self.expect_op(':')?;
        }
        Ok((class, self.object_name()?))
    }
}
