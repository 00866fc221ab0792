//! The names under which FROM exposes its sources, and which qualifiers of columns mean them.
//!
//! An alias is all that its source answers to. A table, view or function without one answers to its own name, to which
//! a qualifier may give as many parts as it likes: those that FROM writes too are compared with what is written there,
//! the others with where a name that lacks them is looked up. *Assumed*: a part that the qualifier leaves empty
//! (`db..t.a`) may be any.
//!
//! Two sources have the same exposed name when their last parts are the same, whatever stands before those.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::Host;
use duramen_tsql::ast;

use super::same_name;

/// Where names without a schema are looked up.
const DEFAULT_SCHEMA: &str = "dbo";
/// Where temporary tables are, whatever the current database.
const TEMPORARY_DATABASE: &str = "tempdb";

/// The name of a source.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// Its last part.
    pub name: String,
    before: Before,
}

/// What may stand before the last part.
#[derive(Clone, Debug)]
enum Before {
    /// Nothing: the name is a correlation name.
    Alias,
    /// Nothing: common table expressions and table variables are in no schema.
    Nothing,
    /// The parts that are written there, outermost first, and those that are left out.
    Parts(Arc<[String]>),
    /// Anything, whatever the name: there is no other source.
    Anything,
}

impl Exposed {
    pub fn alias(name: &str) -> Exposed {
        Exposed {
            name: name.to_owned(),
            before: Before::Alias,
        }
    }

    /// Of something that is in no schema and may have an alias.
    pub(crate) fn local(name: &str, alias: Option<&str>) -> Exposed {
        match alias {
            Some(alias) => Exposed::alias(alias),
            None => Exposed {
                name: name.to_owned(),
                before: Before::Nothing,
            },
        }
    }

    /// The name of an object as a statement writes it.
    pub(crate) fn own(name: &ast::ObjectName) -> Exposed {
        let before = match name.parts.as_slice() {
            [before @ .., _] if !before.is_empty() => before.into(),
            _ => Arc::default(),
        };
        Exposed {
            name: name.name().to_owned(),
            before: Before::Parts(before),
        }
    }

    /// The name of a table that an expression belongs to.
    pub fn table(schema: &str, name: &str) -> Exposed {
        Exposed {
            name: name.to_owned(),
            before: Before::Parts([schema.to_owned()].into()),
        }
    }

    /// The one table of an expression that the catalog keeps. Its qualifiers were right when it was defined; the table,
    /// its schema and its database may have got other names since.
    pub fn defined(name: &str) -> Exposed {
        Exposed {
            name: name.to_owned(),
            before: Before::Anything,
        }
    }

    /// Of an object that may have an alias.
    pub(crate) fn of(name: &ast::ObjectName, alias: Option<&str>) -> Exposed {
        match alias {
            Some(alias) => Exposed::alias(alias),
            None => Exposed::own(name),
        }
    }

    /// As messages show it: the way it is written.
    pub(crate) fn written(&self) -> String {
        match &self.before {
            Before::Parts(parts) if !parts.is_empty() => {
                format!("{}.{}", parts.join("."), self.name)
            }
            _ => self.name.clone(),
        }
    }

    /// Whether a qualifier, outermost part first, means the source.
    pub(crate) fn answers_to(&self, qualifier: &[String], host: &dyn Host) -> bool {
        match qualifier.split_last() {
            Some(_) if matches!(self.before, Before::Anything) => true,
            Some((name, before)) => {
                same_name(name, &self.name) && (before.is_empty() || self.follows(before, host))
            }
            None => true,
        }
    }

    /// The name with its schema and database, outermost part first.
    pub(crate) fn whole(&self, host: &dyn Host) -> Vec<String> {
        let before = [1, 0].into_iter().filter_map(|n| self.part(n, host));
        let before = before.map(Cow::into_owned);
        before.chain([self.name.clone()]).collect()
    }

    fn follows(&self, before: &[String], host: &dyn Host) -> bool {
        let mut parts = before.iter().rev().enumerate();
        let own = |n| self.part(n, host);
        parts.all(|(n, part)| own(n).is_some_and(|own| part.is_empty() || same_name(&own, part)))
    }

    /// What stands before the name, or where a name without it is looked up: 0 is the schema, 1 the database, 2 the
    /// server.
    fn part<'p>(&'p self, n: usize, host: &'p dyn Host) -> Option<Cow<'p, str>> {
        let Before::Parts(written) = &self.before else {
            return None;
        };
        let written = written.iter().rev().nth(n).filter(|w| !w.is_empty());
        if let Some(written) = written {
            return Some(written.as_str().into());
        }
        match n {
            0 => Some(DEFAULT_SCHEMA.into()),
            1 if self.name.starts_with('#') => Some(TEMPORARY_DATABASE.into()),
            1 => Some(host.database().into()),
            2 => host.global("servername").ok()?.as_text().map(Cow::from),
            _ => None,
        }
    }

    /// 1011 to 1013 for a source that is exposed as `other` is already.
    pub(crate) fn check_distinct(&self, other: &Exposed) -> SqlResult<()> {
        if !same_name(&self.name, &other.name) {
            return Ok(());
        }
        let (own, others) = (self.written(), other.written());
        let (message, names): (_, &[&dyn Display]) = match (&self.before, &other.before) {
            (Before::Alias, Before::Alias) => (&messages::CORRELATION_NAME_DUPLICATE, &[&own]),
            (Before::Alias, _) => (&messages::CORRELATION_NAME_OF_TABLE, &[&own, &others]),
            (_, Before::Alias) => (&messages::CORRELATION_NAME_OF_TABLE, &[&others, &own]),
            _ => (&messages::SAME_EXPOSED_NAMES, &[&own, &others]),
        };
        Err(SqlError::new(message, names))
    }
}
