//! Variables that a text uses and does not declare. They are found before anything is bound, whatever the statements name.

use duramen_base::{SqlError, messages};
use duramen_planner::bind::REFUSED_GLOBALS;
use duramen_tsql::ast::{VariableRole, VariableUse};

use crate::named::Named;

/// 137 and 1087: every use of a variable that neither the text, up to there, nor its parameters declare. 40517 for globals
/// that are not supported.
pub fn undeclared<'p>(
    uses: &'p [VariableUse],
    parameters: impl IntoIterator<Item = &'p str>,
) -> Vec<SqlError> {
    let mut declared: Named<&str> = parameters.into_iter().collect();
    let mut errors = Vec::new();
    for used in uses {
        let (message, state) = match used.role {
            VariableRole::Declared | VariableRole::DeclaredTable => {
                declared.push(&used.name);
                continue;
            }
            VariableRole::Assigned => (&messages::VARIABLE_NOT_DECLARED, 1),
            VariableRole::Read | VariableRole::Argument => (&messages::VARIABLE_NOT_DECLARED, 2),
            VariableRole::Table => (&messages::TABLE_VARIABLE_NOT_DECLARED, 2),
            VariableRole::Global => {
                let refused = REFUSED_GLOBALS.contains(&used.name.as_str());
                if refused {
                    let what = used.name.to_ascii_uppercase();
                    let error = SqlError::new(&messages::NOT_SUPPORTED, &[&what]);
                    errors.push(error.at_line(used.line as i32));
                }
                continue;
            }
        };
        if declared.find(&used.name).is_none() {
            let error = SqlError::new(message, &[&used.name]).with_state(state);
            errors.push(error.at_line(used.line as i32));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str, parameters: &[&str]) -> Vec<(i32, u8, i32)> {
        let options = duramen_tsql::ParseOptions::default();
        let batch = duramen_tsql::parse_batch(text, &options).unwrap();
        let errors = undeclared(&batch.variables, parameters.iter().copied());
        errors.iter().map(|e| (e.number, e.state, e.line)).collect()
    }

    #[test]
    fn what_is_declared_before_its_use_is_known() {
        for text in [
            "DECLARE @a int = 1; SELECT @A, @@ROWCOUNT",
            "IF 1 = 0 DECLARE @a int; SET @a = 1",
            "DECLARE @t TABLE (a int); INSERT @t SELECT 1; SELECT * FROM @t AS x",
            "DECLARE @r int; EXEC @r = p @x = @r OUTPUT",
            "CREATE PROCEDURE p @a int AS SELECT @a",
            "CREATE FUNCTION f (@a int) RETURNS @r TABLE (a int) AS BEGIN INSERT @r SELECT @a; RETURN END",
        ] {
            assert_eq!(numbers(text, &[]), [], "{text}");
        }
        assert_eq!(
            numbers("SELECT @a; INSERT @t SELECT * FROM @T", &["@a", "@t"]),
            []
        );
    }

    #[test]
    fn every_other_use_is_an_error() {
        for (text, expected) in [
            ("SELECT 1;\nSELECT @a, @b", vec![(137, 2, 2), (137, 2, 2)]),
            ("SET @a = 1", vec![(137, 1, 1)]),
            ("SELECT @a = 1", vec![(137, 1, 1)]),
            ("UPDATE t SET @a = b", vec![(137, 1, 1)]),
            ("EXEC p @a", vec![(137, 2, 1)]),
            ("EXEC p @x = @a OUTPUT", vec![(137, 2, 1)]),
            ("EXEC @a = p", vec![(137, 1, 1)]),
            ("EXEC (@a)", vec![(137, 2, 1)]),
            ("SELECT * FROM @t", vec![(1087, 2, 1)]),
            ("DELETE @t", vec![(1087, 2, 1)]),
            (
                "INSERT t DEFAULT VALUES; INSERT t OUTPUT inserted.a INTO @t DEFAULT VALUES",
                vec![(1087, 2, 1)],
            ),
            // A declaration holds behind its statement.
            ("DECLARE @a int = 1, @b int = @a", vec![(137, 2, 1)]),
            ("SELECT @a; DECLARE @a int", vec![(137, 2, 1)]),
            ("SELECT n.v FROM @x.nodes('/a') AS n(v)", vec![(137, 2, 1)]),
        ] {
            assert_eq!(numbers(text, &[]), expected, "{text}");
        }
    }
}
