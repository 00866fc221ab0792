//! Collation labels: whose collation decides where strings meet, and where nobody's can.
//!
//! The rules are those of the page about collation precedence: COLLATE in the expression (explicit) beats a column's
//! collation (implicit), which beats that of literals, variables and results of functions without a string argument
//! (coercible-default, the database's). Two different explicit collations, or two implicit ones, cannot be decided between:
//! the first is an error wherever they meet, the second when the value is compared, sorted or sent.
//! A label is not kept: it follows from the expression. Columns of derived tables count as implicit (*assumed*).

use duramen_base::{SqlError, SqlResult, messages};
use duramen_columns::CompareOp;
use duramen_query::functions::{self, COLLATE};
use duramen_query::{Expr, Kind};
use duramen_tsql::ast;
use duramen_types::{BinaryOp, CollationId, SqlType, Value};

use super::Binder;

/// Where a string's collation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// Not a string.
    None,
    Default(CollationId),
    Implicit(CollationId),
    Explicit(CollationId),
    /// Two collations, in the order that messages name them: the right operand's first.
    Conflict(CollationId, CollationId),
}

impl Label {
    /// What two operands have together.
    fn combine(self, right: Label) -> Label {
        use Label::{Conflict, Default, Explicit, Implicit, None};
        match (self, right) {
            (None, other) | (other, None) => other,
            (Explicit(a), Explicit(b)) | (Implicit(a), Implicit(b)) if a != b => Conflict(b, a),
            (Explicit(a), _) | (_, Explicit(a)) => Explicit(a),
            (conflict @ Conflict(..), _) | (_, conflict @ Conflict(..)) => conflict,
            (Implicit(a), _) | (_, Implicit(a)) => Implicit(a),
            (Default(a), Default(CollationId::DEFAULT)) => Default(a),
            (Default(_), Default(b)) => Default(b),
        }
    }

    fn collation(self) -> Option<CollationId> {
        match self {
            Label::None | Label::Conflict(..) => None,
            Label::Default(c) | Label::Implicit(c) | Label::Explicit(c) => Some(c),
        }
    }
}

/// The label of an expression's value.
pub(crate) fn label(e: &Expr) -> Label {
    if !e.ty.id.is_string() {
        return Label::None;
    }
    let own = e.ty.collation;
    match &e.kind {
        Kind::Function { function, .. } if function.name == COLLATE => Label::Explicit(own),
        Kind::Column { .. } | Kind::Scalar(_) | Kind::Aggregate(_) | Kind::Window(_) => {
            Label::Implicit(own)
        }
        Kind::Convert { input, .. } => match label(input) {
            Label::None => Label::Default(own),
            given => given,
        },
        Kind::Arithmetic(BinaryOp::Add, l, r) => label(l).combine(label(r)),
        Kind::Case {
            branches,
            otherwise,
        } => {
            let results = branches.iter().map(|(_, then)| then);
            all(results.chain(otherwise.as_deref()))
        }
        Kind::Function { args, .. } => match all(args) {
            Label::None => Label::Default(own),
            given => given,
        },
        _ => Label::Default(own),
    }
}

fn all<'e>(items: impl IntoIterator<Item = &'e Expr>) -> Label {
    let labels = items.into_iter().map(label);
    labels.fold(Label::None, Label::combine)
}

/// The collation under which the items are compared; `None` when there is no string among them. Error 468 when nobody's
/// decides.
pub(crate) fn decided<'e>(
    items: impl IntoIterator<Item = &'e Expr>,
    operation: &str,
) -> SqlResult<Option<CollationId>> {
    let label = all(items);
    match label {
        Label::Conflict(right, left) => {
            let args: [&dyn std::fmt::Display; 3] = [&right, &left, &operation];
            Err(SqlError::new(&messages::COLLATION_CONFLICT, &args).with_state(9))
        }
        _ => Ok(label.collation()),
    }
}

/// The collation that a result of the items has; one of them while there is a conflict that nobody has asked about.
pub(crate) fn of_result<'e>(items: impl IntoIterator<Item = &'e Expr>) -> Option<CollationId> {
    match all(items) {
        Label::Conflict(_, left) => Some(left),
        label => label.collation(),
    }
}

/// Error 451: a value whose collation is undecided goes to the client or is sorted. `place` counts from 1.
pub(crate) fn check_output(e: &Expr, statement: &str, place: usize) -> SqlResult<()> {
    let Label::Conflict(right, left) = label(e) else {
        return Ok(());
    };
    let operator = match e.kind {
        Kind::Case { .. } => "CASE",
        Kind::Arithmetic(..) => "add",
        Kind::Function { function, .. } => function.name,
        _ => "convert",
    };
    let args: [&dyn std::fmt::Display; 5] = [&right, &left, &operator, &statement, &place];
    Err(SqlError::new(&messages::COLLATION_CONFLICT_COLUMN, &args))
}

/// The collation of a column of a set operation: error 468 for UNION and its kin, 457 for UNION ALL. A side of the
/// database's own collation gives way, since literals have it too.
pub(crate) fn of_columns(
    left: &SqlType,
    right: &SqlType,
    database: CollationId,
    operation: &str,
) -> SqlResult<CollationId> {
    let (a, b) = (left.collation, right.collation);
    if a == b || !left.id.is_string() || !right.id.is_string() || b == database {
        return Ok(if left.id.is_string() { a } else { b });
    }
    if a == database {
        return Ok(b);
    }
    if operation == "UNION ALL" {
        let (from, to) = (right.id.name(), left.id.name());
        let args: [&dyn std::fmt::Display; 5] = [&from, &to, &b, &a, &operation];
        return Err(SqlError::new(&messages::IMPLICIT_COLLATION_VALUE, &args));
    }
    let args: [&dyn std::fmt::Display; 3] = [&b, &a, &operation];
    Err(SqlError::new(&messages::COLLATION_CONFLICT, &args).with_state(9))
}

/// The words of an operator in messages.
pub(crate) fn operation(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "equal to",
        CompareOp::Ne => "not equal to",
        CompareOp::Lt => "less than",
        CompareOp::Le => "less than or equal to",
        CompareOp::Gt => "greater than",
        CompareOp::Ge => "greater than or equal to",
    }
}

impl Binder<'_> {
    /// `input COLLATE name`. Only strings have one (447).
    pub(super) fn collate(&self, input: Expr, name: &str) -> SqlResult<Expr> {
        let collation = match name.eq_ignore_ascii_case("database_default") {
            true => Some(self.host.collation()),
            false => CollationId::from_name(name),
        };
        let collation =
            collation.ok_or_else(|| SqlError::new(&messages::INVALID_COLLATION, &[&name]))?;
        if !input.ty.id.is_string() {
            let null = super::expr::is_null(&input);
            if !null {
                let args: [&dyn std::fmt::Display; 1] = [&input.ty.id.name()];
                return Err(SqlError::new(&messages::COLLATE_TYPE_INVALID, &args));
            }
        }
        let Some(function) = functions::find(COLLATE) else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let ty = match input.ty.id.is_string() {
            true => input.ty.with_collation(collation),
            false => SqlType::varchar(1).with_collation(collation),
        };
        let nullable = input.nullable;
        let args = vec![input];
        Ok(Expr {
            kind: Kind::Function { function, args },
            ty,
            nullable,
        })
    }

    /// The collation of what has none of its own. The values of variables and of CAST are in the code page: under a UTF-8
    /// database they keep the default collation (*assumed* to compare alike).
    pub(super) fn plain_collation(&self) -> CollationId {
        let own = self.host.collation();
        if own.is_utf8() {
            CollationId::DEFAULT
        } else {
            own
        }
    }

    /// A literal, under the database's collation.
    pub(super) fn literal(&self, l: &ast::Literal) -> SqlResult<Expr> {
        let mut e = super::literal::literal(l)?;
        if !e.ty.id.is_string() {
            return Ok(e);
        }
        e.ty.collation = self.host.collation();
        if let (true, ast::Literal::String(s)) = (e.ty.collation.is_utf8(), l)
            && !s.national
        {
            let bytes = s.value.clone().into_bytes();
            e.ty.length = match bytes.len() {
                0 => 1,
                n if n <= 8000 => n as u16,
                _ => duramen_types::MAX_LENGTH,
            };
            e.kind = Kind::Const(Value::VarChar(bytes));
        }
        Ok(e)
    }
}
