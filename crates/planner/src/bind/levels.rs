//! What the compatibility level of a database changes in its language: see the table of `program::compatibility`.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::Expr;
use duramen_tsql::ast;
use duramen_types::{SqlType, TypeId, Value};

use super::Binder;

/// Functions of FROM, and from which level on there are any.
const TABLE_FUNCTIONS: &[(&str, u8)] = &[("generate_series", 160), ("string_split", 130)];

impl Binder<'_> {
    fn before(&self, level: u8) -> bool {
        self.host.compatibility_level() < level
    }

    /// Whether there is no function of FROM of that name at this level.
    pub(super) fn lacks_table_function(&self, name: &str) -> bool {
        let found = TABLE_FUNCTIONS
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.is_some_and(|(_, level)| self.before(*level))
    }

    /// 195 for a conversion that is no function yet.
    pub(super) fn has_conversion(&self, cast: &ast::Cast) -> SqlResult<()> {
        match cast.try_ && cast.kind == ast::CastKind::Convert && self.before(110) {
            true => Err(SqlError::new(
                &messages::UNRECOGNIZED_NAME,
                &[&"TRY_CONVERT", &"built-in function name"],
            )
            .with_state(10)),
            false => Ok(()),
        }
    }

    /// 174: the characters that LTRIM and RTRIM take away came with 160. *Assumed* of TRIM (LEADING ...), too.
    pub(super) fn has_characters(&self, name: &str, args: usize) -> SqlResult<()> {
        match args == 2 && matches!(name, "ltrim" | "rtrim") && self.before(160) {
            true => {
                let args: [&dyn std::fmt::Display; 2] = [&name, &1];
                Err(SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &args))
            }
            false => Ok(()),
        }
    }

    /// 102 at the name of the first window: WINDOW is the table's alias before 160 (*assumed*).
    pub(super) fn has_window_clause(&self, spec: &ast::QuerySpec) -> SqlResult<()> {
        match spec.windows.first() {
            Some((name, _)) if self.before(160) => {
                Err(SqlError::new(&messages::SYNTAX_NEAR, &[name]))
            }
            _ => Ok(()),
        }
    }

    /// The style of a conversion that names none: before 110 computed columns show times of the later types in style 0.
    pub(super) fn unnamed_style(&self, from: &SqlType, to: &SqlType) -> Option<Box<Expr>> {
        let later = matches!(from.id, TypeId::Time | TypeId::DateTime2);
        let old = self.computed && later && to.id.is_string() && self.before(110);
        old.then(|| Box::new(Expr::constant(Value::Int(0), SqlType::INT)))
    }
}
