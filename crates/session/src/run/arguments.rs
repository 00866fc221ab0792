//! The arguments of a call, matched to the parameters of a procedure that is code.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::coded::{Fallback, Parameter, Row, Takes};
use duramen_program::program::same;
use duramen_types::{SqlType, Target, Value};

use super::Run;
use super::exec::{Given, parameter_error, still_wanted};
use super::failure::RunResult;

/// What a parameter was given.
pub(super) struct Taken {
    pub ty: SqlType,
    pub value: Value,
}

pub(super) struct Arguments<'a> {
    pub row: &'static Row,
    /// As the call has them.
    pub all: &'a [Given],
    /// By parameter; `None` for one that was not given, or as DEFAULT.
    taken: Vec<Option<Taken>>,
}

impl Arguments<'_> {
    /// What a parameter was given, NULL or not.
    pub fn given(&self, name: &str) -> Option<&Taken> {
        self.taken[self.row.place(name)?].as_ref()
    }

    /// What a parameter was given, unless it is NULL.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.given(name).map(|t| &t.value).filter(|v| !v.is_null())
    }

    fn fallback(&self, name: &str) -> Option<Fallback> {
        let place = self.row.place(name)?;
        let missing = self.taken[place].is_none();
        missing.then(|| self.row.parameters[place].without)
    }

    /// The text of an argument, or of what stands for it when there is none; `None` for NULL.
    pub fn text(&self, name: &str) -> Option<String> {
        match self.fallback(name) {
            Some(Fallback::Text(text)) => Some(text.to_owned()),
            Some(_) => None,
            None => self.value(name)?.as_text(),
        }
    }

    /// The same of a number.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.fallback(name) {
            Some(Fallback::Number(n)) => Some(n),
            Some(_) => None,
            None => self.value(name)?.as_i64(),
        }
    }

    /// 201
    pub fn missing(&self, name: &str) -> SqlError {
        not_supplied(self.row, name)
    }
}

fn not_supplied(row: &Row, name: &str) -> SqlError {
    let args: [&dyn std::fmt::Display; 2] = [&row.name, &name];
    SqlError::new(&messages::PARAMETER_NOT_SUPPLIED, &args).with_state(4)
}

/// 8144 when there are more arguments than parameters, 8145 for a name that is none of theirs, 8143 for a parameter that is
/// given twice, by its name or by its place and its name. `place` knows the names.
pub(super) fn check_places(
    procedure: &str,
    given: &[Given],
    count: usize,
    place: impl Fn(&str) -> Option<usize>,
) -> SqlResult<()> {
    check_count(procedure, given, count)?;
    // Names come behind places.
    let places = given.iter().take_while(|g| g.name.is_none()).count();
    for (i, g) in given.iter().enumerate().skip(places) {
        let Some(name) = &g.name else { continue };
        let Some(at) = place(name) else {
            let error = SqlError::new(&messages::NOT_A_PARAMETER, &[name, &procedure]);
            return Err(error.with_state(2));
        };
        let twice = |o: &Given| o.name.as_ref().is_some_and(|n| same(n, name));
        if at < places || given[places..i].iter().any(twice) {
            return Err(SqlError::new(&messages::PARAMETER_SUPPLIED_TWICE, &[name]));
        }
    }
    Ok(())
}

fn check_count(procedure: &str, given: &[Given], count: usize) -> SqlResult<()> {
    match given.len() > count {
        true => {
            let error = SqlError::new(&messages::TOO_MANY_ARGUMENTS, &[&procedure]);
            Err(error.with_state(2))
        }
        false => Ok(()),
    }
}

impl Run<'_> {
    /// The arguments of a call of the procedure of `row`.
    pub(super) fn arguments_for<'a>(
        &mut self,
        row: &'static Row,
        given: &'a [Given],
    ) -> RunResult<Arguments<'a>> {
        let declared = row.takes == Takes::Declared;
        match declared {
            true if row.is_text_elsewhere() && row.parameters.is_empty() && !given.is_empty() => {
                let message = &messages::PROCEDURE_HAS_NO_PARAMETERS;
                return Err(SqlError::new(message, &[&row.name]).with_state(2).into());
            }
            true => check_places(row.name, given, row.parameters.len(), |n| row.place(n))?,
            false => check_count(row.name, given, row.parameters.len())?,
        }
        let mut taken = Vec::with_capacity(row.parameters.len());
        for (place, p) in row.parameters.iter().enumerate() {
            let named = |g: &Given| g.name.as_ref().is_some_and(|n| p.is_called(n));
            let positional = || given.get(place).filter(|g| g.name.is_none()).map(|_| place);
            let at = given.iter().position(named).or_else(positional);
            let found = match at {
                Some(at) => self.taken(p, &given[at], declared)?,
                None => None,
            };
            if found.is_none() && declared && p.without == Fallback::Needed {
                return Err(not_supplied(row, p.name).into());
            }
            taken.push(found);
        }
        Ok(Arguments {
            row,
            all: given,
            taken,
        })
    }

    /// The value of an argument, of its parameter's type when that is asked for; `None` for DEFAULT.
    fn taken(&self, p: &Parameter, given: &Given, declared: bool) -> RunResult<Option<Taken>> {
        if given.table.is_some() {
            let args: [&dyn std::fmt::Display; 2] = [&"table", &p.ty.id.name()];
            return Err(SqlError::new(&messages::OPERAND_TYPE_CLASH, &args).into());
        }
        let Some(value) = given.value.clone() else {
            return Ok(None);
        };
        // What takes any type takes the value as it is; large texts are looked at where they are used.
        if !declared || p.ty == SqlType::VARIANT || p.ty.is_max() || p.output {
            return Ok(Some(Taken {
                ty: given.ty,
                value,
            }));
        }
        if !value.is_null() {
            duramen_types::check_implicit(&given.ty, &p.ty)?;
        }
        still_wanted(value.heap_bytes())?;
        let value = match value {
            Value::Spooled(s) => self.session.in_memory(&s, &given.ty)?,
            value => value,
        };
        let ctx = self.session.options.convert_ctx();
        let converted = duramen_types::assign(value, &given.ty, &p.ty, Target::Variable, &ctx);
        let value = converted.map_err(|e| parameter_error(e, &given.ty, &p.ty))?;
        Ok(Some(Taken { ty: p.ty, value }))
    }
}
