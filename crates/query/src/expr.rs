//! Bound expressions and the one evaluator of them: for rows, variables, defaults and predicates alike.
//!
//! Binding has already chosen every type: both sides of a comparison have one type (a `Convert` stands where a
//! conversion is implicit), names are slots, functions are entries of a table. Evaluation only computes.
//! Predicates follow three-valued logic: `test` answers `None` for UNKNOWN.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::given_up::after_step;
use duramen_base::{SqlResult, messages};
use duramen_columns::CompareOp;
use duramen_types::collate::compare_long_units;
use duramen_types::{LikePattern, SqlType, Value};

use crate::cx::Cx;
use crate::functions::ScalarFunction;
use crate::in_list::InList;
use crate::kept::Held;
use crate::long;
use crate::plan::Plan;

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: Kind,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Const(Value),
    /// An aggregate of the query being bound; binding replaces it by a column before the plan is done.
    Aggregate(usize),
    /// A window function of the query being bound; binding replaces it by a column as well.
    Window(usize),
    /// A column of the row at hand (`depth` 0) or of an enclosing query's row.
    Column {
        depth: usize,
        index: usize,
    },
    Variable(usize),
    /// `@@ROWCOUNT` and its kin, asked of the session by lower-case name without the signs.
    Global(&'static str),
    Arithmetic(duramen_types::BinaryOp, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    BitNot(Box<Expr>),
    Convert {
        input: Box<Expr>,
        style: Option<Box<Expr>>,
        or_null: bool,
    },
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    Function {
        function: &'static ScalarFunction,
        args: Vec<Expr>,
    },
    /// A function only the session can answer: `DB_ID`, `OBJECT_ID`, `SUSER_SNAME`...
    Session {
        name: String,
        args: Vec<Expr>,
    },
    /// A scalar function of a user.
    User {
        function: UserCall,
        args: Vec<Expr>,
    },
    Scalar(Arc<Plan>),
    // Predicates from here on.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    IsNull {
        input: Box<Expr>,
        negated: bool,
    },
    In {
        item: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        item: Box<Expr>,
        plan: Arc<Plan>,
        negated: bool,
    },
    /// `item op ALL (subquery)`, or ANY.
    Quantified {
        op: CompareOp,
        all: bool,
        item: Box<Expr>,
        plan: Arc<Plan>,
    },
    Exists(Arc<Plan>),
    Like {
        input: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
}

/// A user's function in an expression; two are the same when they are one.
#[derive(Clone, Debug)]
pub struct UserCall(pub Arc<dyn crate::host::UserFunction>);

impl PartialEq for UserCall {
    fn eq(&self, other: &UserCall) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name() == other.0.name()
    }
}

impl Expr {
    pub fn constant(value: Value, ty: SqlType) -> Expr {
        let nullable = value.is_null();
        Expr {
            kind: Kind::Const(value),
            ty,
            nullable,
        }
    }

    pub fn column(index: usize, ty: SqlType, nullable: bool) -> Expr {
        Expr {
            kind: Kind::Column { depth: 0, index },
            ty,
            nullable,
        }
    }

    pub fn predicate(kind: Kind) -> Expr {
        Expr {
            kind,
            ty: SqlType::BIT,
            nullable: true,
        }
    }

    /// A predicate has no value of its own; it stands only where a condition may.
    pub fn is_predicate(&self) -> bool {
        matches!(
            self.kind,
            Kind::Compare(..)
                | Kind::And(_)
                | Kind::Or(_)
                | Kind::Not(_)
                | Kind::IsNull { .. }
                | Kind::In { .. }
                | Kind::InQuery { .. }
                | Kind::Quantified { .. }
                | Kind::Exists(_)
                | Kind::Like { .. }
        )
    }

    /// The value of a scalar expression over `row`.
    pub fn eval(&self, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
        match &self.kind {
            Kind::Const(v) => Ok(v.clone()),
            Kind::Column { depth: 0, index } => long::own(&row[*index], &self.ty, cx),
            Kind::Column { depth, index } => long::own(&cx.outer_row(*depth)[*index], &self.ty, cx),
            Kind::Variable(slot) => long::own(&cx.vars[*slot], &self.ty, cx),
            Kind::Global(name) => cx.host.global(name),
            Kind::Arithmetic(op, l, r) => {
                if self.ty.is_max() {
                    return long::arithmetic(*op, (l, r), row, &self.ty, cx);
                }
                let a = l.eval(row, cx)?;
                let b = r.eval(row, cx)?;
                duramen_types::arithmetic(*op, &a, &l.ty, &b, &r.ty, &self.ty, &cx.convert)
            }
            Kind::Negate(e) => duramen_types::negate(&e.eval(row, cx)?, &e.ty),
            Kind::BitNot(e) => duramen_types::bit_not(&e.eval(row, cx)?, &e.ty),
            Kind::Convert {
                input,
                style,
                or_null,
            } => self.convert(input, style.as_deref(), *or_null, row, cx),
            Kind::Case {
                branches,
                otherwise,
            } => {
                for (i, (when, then)) in branches.iter().enumerate() {
                    after_step(i)?;
                    if when.test(row, cx)? == Some(true) {
                        return then.eval(row, cx);
                    }
                }
                otherwise
                    .as_ref()
                    .map_or(Ok(Value::Null), |e| e.eval(row, cx))
            }
            Kind::Function { function, args } => {
                if args.iter().any(long::is_lent) {
                    return long::lending(function, args, &self.ty, row, cx);
                }
                let mut values = Vec::with_capacity(args.len());
                for a in args {
                    values.push(a.eval(row, cx)?);
                }
                called(function, args, &values, &self.ty, cx)
            }
            Kind::Session { name, args } => {
                let mut values = Vec::with_capacity(args.len());
                for a in args {
                    values.push(a.eval(row, cx)?);
                }
                cx.host.function(name, &values)
            }
            Kind::User { function, args } => {
                let mut values = Vec::with_capacity(args.len());
                for a in args {
                    values.push(a.eval(row, cx)?);
                }
                Ok(cx.host.call_function(&*function.0, values)?.0)
            }
            Kind::Scalar(plan) => scalar_subquery(plan, row, cx),
            Kind::Aggregate(_) | Kind::Window(_) => Err(duramen_base::SqlError::new(
                &messages::INTERNAL_QUERY_ERROR,
                &[],
            )),
            _ => Ok(match self.test(row, cx)? {
                Some(b) => Value::Bit(b),
                None => Value::Null,
            }),
        }
    }

    /// The same for a variable: a value that is not in memory stays where it is, for longer than the statement runs.
    #[inline]
    pub fn eval_kept(&self, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
        long::assigned(self, row, cx)
    }

    fn convert(
        &self,
        input: &Expr,
        style: Option<&Expr>,
        or_null: bool,
        row: &[Value],
        cx: &mut Cx<'_>,
    ) -> SqlResult<Value> {
        let value = input.eval(row, cx)?;
        // The binder has checked the pair of types; a bare NULL, int by name, goes into any.
        if value.is_null() {
            return Ok(Value::Null);
        }
        let style = match style {
            Some(e) => match e.eval(row, cx)?.as_i64() {
                Some(n) => Some(n as i32),
                None => return Ok(Value::Null),
            },
            None => None,
        };
        match long::converted(&value, &input.ty, &self.ty, style, cx) {
            Err(e) if or_null && e.number != 0 => Ok(Value::Null),
            other => other,
        }
    }

    /// The truth of a predicate over `row`; `None` is UNKNOWN.
    #[expect(clippy::too_many_lines, reason = "one arm a condition")]
    pub fn test(&self, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Option<bool>> {
        match &self.kind {
            Kind::Compare(op, l, r) => {
                if l.ty.is_max()
                    && let Some(order) = long::compared(l, r, row, cx)?
                {
                    return Ok(order.map(|o| op.holds(o)));
                }
                let a = l.eval(row, cx)?;
                let b = r.eval(row, cx)?;
                if l.ty.is_max()
                    && let (Value::NVarChar(a), Value::NVarChar(b)) = (&a, &b)
                {
                    let order = compare_long_units(a, b, l.ty.collation)?;
                    return Ok(Some(op.holds(order)));
                }
                Ok(compare(&a, &b, l).map(|o| op.holds(o)))
            }
            Kind::And(parts) => all(parts, false, row, cx),
            Kind::Or(parts) => all(parts, true, row, cx),
            Kind::Not(e) => Ok(e.test(row, cx)?.map(|b| !b)),
            Kind::IsNull { input, negated } => match input.kind {
                Kind::Variable(slot) => Ok(Some(cx.vars[slot].is_null() != *negated)),
                Kind::Column { depth: 0, index } => Ok(Some(row[index].is_null() != *negated)),
                _ => Ok(Some(input.eval(row, cx)?.is_null() != *negated)),
            },
            Kind::In {
                item,
                list,
                negated,
            } => {
                let needle = item.eval(row, cx)?;
                let mut unknown = needle.is_null();
                for (i, e) in list.iter().enumerate() {
                    after_step(i)?;
                    let v = e.eval(row, cx)?;
                    match compare(&needle, &v, item) {
                        Some(Ordering::Equal) => return Ok(Some(!negated)),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(*negated) })
            }
            Kind::InQuery {
                item,
                plan,
                negated,
            } => {
                let needle = item.eval(row, cx)?;
                let found = in_query(&needle, item, plan, row, cx)?;
                Ok(found.map(|b| b != *negated))
            }
            Kind::Quantified {
                op,
                all,
                item,
                plan,
            } => {
                let needle = item.eval(row, cx)?;
                quantified(&needle, (*op, *all), item, plan, row, cx)
            }
            Kind::Exists(plan) => {
                let key = Arc::as_ptr(plan) as usize;
                if let Some(rows) = cx.cached.get(&key) {
                    return Ok(Some(!rows.is_empty()));
                }
                cx.push_outer(row);
                let first = cx.asking(1, |cx| {
                    crate::exec::open_for(plan, true, cx).and_then(|mut op| op.next(cx))
                });
                cx.pop_outer();
                let first = first?;
                let found = first.is_some();
                if !plan.correlated {
                    cx.cached.insert(key, Arc::new(first.unwrap_or_default()));
                }
                Ok(Some(found))
            }
            Kind::Like {
                input,
                pattern,
                escape,
                negated,
            } => {
                let text = input.eval(row, cx)?;
                let pattern = pattern.eval(row, cx)?;
                let escape = match escape {
                    Some(e) => match e.eval(row, cx)?.as_text() {
                        Some(t) => {
                            let mut units = t.encode_utf16();
                            match (units.next(), units.next()) {
                                (Some(u), None) => Some(u),
                                _ => {
                                    return Err(duramen_base::SqlError::new(
                                        &messages::INVALID_ESCAPE,
                                        &[&t, &"LIKE"],
                                    ));
                                }
                            }
                        }
                        // NULL escapes nothing.
                        None => None,
                    },
                    None => None,
                };
                if text.is_null() || pattern.is_null() {
                    return Ok(None);
                }
                let wide = matches!(text, Value::NVarChar(_));
                let pattern = LikePattern::compile(&pattern, escape, wide, input.ty.collation);
                Ok(Some(pattern.matches(&text)? != *negated))
            }
            _ => Ok(match self.eval(row, cx)? {
                Value::Null => None,
                v => Some(v.as_i64().is_some_and(|n| n != 0)),
            }),
        }
    }
}

impl Expr {
    /// The columns of its own row that it reads.
    pub fn columns_read(&self) -> std::collections::BTreeSet<usize> {
        let mut read = std::collections::BTreeSet::new();
        self.visit_columns(&mut |depth, index| {
            if depth == 0 {
                read.insert(index);
            }
        });
        read
    }

    /// The expression over a row that starts `width` columns later in the joined row.
    pub fn shifted(&self, width: usize) -> Expr {
        fn walk(e: &mut Expr, width: usize) {
            if let Kind::Column { depth: 0, index } = &mut e.kind {
                *index -= width;
            }
            let _ = e.try_for_each_child(&mut |c| {
                walk(c, width);
                Ok(())
            });
        }
        let mut e = self.clone();
        walk(&mut e, width);
        e
    }
}

/// Calls a function whose arguments have been evaluated.
#[inline]
pub(crate) fn called(
    function: &ScalarFunction,
    args: &[Expr],
    values: &[Value],
    ty: &SqlType,
    cx: &mut Cx<'_>,
) -> SqlResult<Value> {
    if function.strict && values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let value = function
        .call(values, args, ty, cx)
        .or_else(|e| duramen_types::lenient::forgiven(e, &cx.convert))?;
    match ty.is_max() {
        true => cx.made(value),
        false => Ok(value),
    }
}

fn compare(a: &Value, b: &Value, typed: &Expr) -> Option<Ordering> {
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Int(x), Value::Int(y)) => Some(x.cmp(y)),
        (Value::BigInt(x), Value::BigInt(y)) => Some(x.cmp(y)),
        _ => Some(duramen_types::compare(a, b, typed.ty.collation)),
    }
}

/// AND (`stop` false) or OR (`stop` true) in three-valued logic, left to right, stopping when decided.
fn all(parts: &[Expr], stop: bool, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Option<bool>> {
    let mut unknown = false;
    for (i, p) in parts.iter().enumerate() {
        after_step(i)?;
        match p.test(row, cx)? {
            Some(b) if b == stop => return Ok(Some(stop)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(!stop) })
}

fn scalar_subquery(plan: &Arc<Plan>, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
    let one = |rows: &[Vec<Value>]| match rows {
        [] => Ok(Value::Null),
        [one] => Ok(one[0].clone()),
        _ => {
            let error = &messages::SUBQUERY_MORE_THAN_ONE_VALUE;
            Err(duramen_base::SqlError::new(error, &[]))
        }
    };
    if !plan.correlated {
        // A second one is an error, whatever comes behind it.
        return one(&subquery_rows(plan, row, cx, &mut |rows| rows.len() < 2)?);
    }
    let mut all = Vec::new();
    each_of(plan, row, cx, |batch, _| {
        all.extend(batch);
        Ok(all.len() < 2)
    })?;
    one(&all)
}

/// Gives the rows of a subquery that looks at the row outside to `f`, until it says that it has seen enough.
fn each_of(
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
    mut f: impl FnMut(Vec<Vec<Value>>, &mut Cx<'_>) -> SqlResult<bool>,
) -> SqlResult<()> {
    cx.push_outer(row);
    let mut read = || {
        let mut operator = plan.start(cx)?;
        while let Some(batch) = cx.asking(u64::MAX, |cx| operator.next(cx))? {
            if !f(batch, cx)? {
                break;
            }
        }
        Ok(())
    };
    let read = read();
    cx.pop_outer();
    read
}

fn in_query(
    needle: &Value,
    item: &Expr,
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Option<bool>> {
    if !plan.correlated {
        return InList::of(plan, row, item.ty.collation, cx)?.contains(needle);
    }
    let (mut found, mut unknown) = (false, false);
    each_of(plan, row, cx, |rows, _| {
        unknown |= needle.is_null();
        for r in &rows {
            match compare(needle, &r[0], item) {
                Some(Ordering::Equal) => found = true,
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(!found)
    })?;
    Ok(match (found, unknown) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    })
}

/// A comparison with any or all rows of a subquery.
fn quantified(
    needle: &Value,
    (op, all): (CompareOp, bool),
    item: &Expr,
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Option<bool>> {
    // What is not equal to all of them is in no list.
    if !plan.correlated && op == if all { CompareOp::Ne } else { CompareOp::Eq } {
        let found = InList::of(plan, row, item.ty.collation, cx)?.contains(needle)?;
        return Ok(found.map(|b| b != all));
    }
    let (mut decided, mut unknown) = (None, false);
    let mut look = |rows: &[Vec<Value>]| {
        for r in rows {
            match compare(needle, &r[0], item).map(|o| op.holds(o)) {
                // One that holds decides ANY, one that does not decides ALL.
                Some(holds) if holds != all => decided = Some(holds),
                Some(_) => {}
                None => unknown = true,
            }
        }
        decided.is_none()
    };
    if plan.correlated {
        each_of(plan, row, cx, |rows, _| Ok(look(&rows)))?;
    } else {
        let rows = subquery_rows(plan, row, cx, &mut |rows| {
            if rows.len() > FEW {
                extremes(rows, item);
            }
            true
        })?;
        look(&rows);
    }
    Ok(decided.or((!unknown).then_some(all)))
}

/// Rows of which it is not worth to find those that decide.
const FEW: usize = 64;

/// Leaves the rows that decide every comparison of less and more, of equal to all and of different from any: the least
/// value's, the greatest's, and one without a value.
fn extremes(rows: &mut Vec<Vec<Value>>, item: &Expr) {
    let (mut ends, mut null) = (None::<(usize, usize)>, None);
    for (i, row) in rows.iter().enumerate() {
        let order = |other: usize| compare(&row[0], &rows[other][0], item);
        match &mut ends {
            _ if row[0].is_null() => null = Some(i),
            None => ends = Some((i, i)),
            Some((least, _)) if order(*least) == Some(Ordering::Less) => *least = i,
            Some((_, most)) if order(*most) == Some(Ordering::Greater) => *most = i,
            Some(_) => {}
        }
    }
    let kept = [
        ends.map(|(least, _)| least),
        ends.map(|(_, most)| most),
        null,
    ];
    let mut at = 0;
    rows.retain(|_| {
        at += 1;
        kept.contains(&Some(at - 1))
    });
}

/// The rows of a subquery that does not look at the row outside, computed once for the statement. `keep` takes away what is
/// of no use among those that have come, and says whether more are wanted.
fn subquery_rows(
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
    keep: &mut dyn FnMut(&mut Vec<Vec<Value>>) -> bool,
) -> SqlResult<Arc<Vec<Vec<Value>>>> {
    debug_assert!(!plan.correlated, "its rows are those of one row outside");
    let key = Arc::as_ptr(plan) as usize;
    if let Some(rows) = cx.cached.get(&key) {
        return Ok(rows.clone());
    }
    // Of threads that run the same one reads, the others wait for what it finds.
    let common = cx.dealt.as_ref().map(|dealt| dealt.once(key));
    let mut found = common.as_ref().map(|rows| rows.lock());
    if let Some(rows) = found.as_deref().and_then(Option::as_ref) {
        cx.cached.insert(key, rows.clone());
        return Ok(rows.clone());
    }
    // An uncorrelated plan never reads outer rows, but inner correlated ones count their depth from here.
    cx.push_outer(row);
    let mut held = Held::default();
    let rows = plan.chosen_rows(&mut held, cx, keep);
    cx.pop_outer();
    let rows = Arc::new(rows?);
    // They stay until the statement ends.
    let bytes = held.bytes();
    drop(held);
    cx.keep(bytes)?;
    if let Some(found) = found.as_deref_mut() {
        *found = Some(rows.clone());
    }
    cx.cached.insert(key, rows.clone());
    Ok(rows)
}
