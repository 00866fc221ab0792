//! Bound expressions and the one evaluator of them: for rows, variables, defaults and predicates alike.
//!
//! Binding has already chosen every type: both sides of a comparison have one type (a `Convert` stands where a
//! conversion is implicit), names are slots, functions are entries of a table. Evaluation only computes.
//! Predicates follow three-valued logic: `test` answers `None` for UNKNOWN.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::{SqlResult, messages};
use duramen_types::{LikePattern, SqlType, Value};

use crate::cx::Cx;
use crate::functions::ScalarFunction;
use crate::plan::Plan;

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: Kind,
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    pub fn holds(self, o: Ordering) -> bool {
        match self {
            CompareOp::Eq => o == Ordering::Equal,
            CompareOp::Ne => o != Ordering::Equal,
            CompareOp::Lt => o == Ordering::Less,
            CompareOp::Le => o != Ordering::Greater,
            CompareOp::Gt => o == Ordering::Greater,
            CompareOp::Ge => o != Ordering::Less,
        }
    }

    /// The operator with its sides exchanged.
    pub fn mirrored(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        }
    }
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
            Kind::Column { depth: 0, index } => Ok(row[*index].clone()),
            Kind::Column { depth, index } => Ok(cx.outer_row(*depth)[*index].clone()),
            Kind::Variable(slot) => Ok(cx.vars[*slot].clone()),
            Kind::Global(name) => cx.host.global(name),
            Kind::Arithmetic(op, l, r) => {
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
                for (when, then) in branches {
                    if when.test(row, cx)? == Some(true) {
                        return then.eval(row, cx);
                    }
                }
                otherwise
                    .as_ref()
                    .map_or(Ok(Value::Null), |e| e.eval(row, cx))
            }
            Kind::Function { function, args } => {
                let mut values = Vec::with_capacity(args.len());
                for a in args {
                    values.push(a.eval(row, cx)?);
                }
                if function.strict && values.iter().any(Value::is_null) {
                    return Ok(Value::Null);
                }
                (function.run)(&values, args, &self.ty, cx)
                    .or_else(|e| duramen_types::lenient::forgiven(e, &cx.convert))
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
        match duramen_types::convert(&value, &input.ty, &self.ty, style, &cx.convert) {
            Err(_) if or_null => Ok(Value::Null),
            other => other,
        }
    }

    /// The truth of a predicate over `row`; `None` is UNKNOWN.
    pub fn test(&self, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Option<bool>> {
        match &self.kind {
            Kind::Compare(op, l, r) => {
                let a = l.eval(row, cx)?;
                let b = r.eval(row, cx)?;
                Ok(compare(&a, &b, l).map(|o| op.holds(o)))
            }
            Kind::And(parts) => all(parts, false, row, cx),
            Kind::Or(parts) => all(parts, true, row, cx),
            Kind::Not(e) => Ok(e.test(row, cx)?.map(|b| !b)),
            Kind::IsNull { input, negated } => Ok(Some(input.eval(row, cx)?.is_null() != *negated)),
            Kind::In {
                item,
                list,
                negated,
            } => {
                let needle = item.eval(row, cx)?;
                let mut unknown = needle.is_null();
                for e in list {
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
                let rows = subquery_rows(plan, row, cx)?;
                let mut unknown = false;
                for r in rows.iter() {
                    match compare(&needle, &r[0], item).map(|o| op.holds(o)) {
                        // One that holds decides ANY, one that does not decides ALL.
                        Some(holds) if holds != *all => return Ok(Some(holds)),
                        Some(_) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(*all) })
            }
            Kind::Exists(plan) => {
                let key = Arc::as_ptr(plan) as usize;
                if let Some(rows) = cx.cached.get(&key) {
                    return Ok(Some(!rows.is_empty()));
                }
                cx.push_outer(row);
                let first = crate::exec::open_for(plan, true, cx).and_then(|mut op| op.next(cx));
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
                        None => return Ok(None),
                    },
                    None => None,
                };
                if text.is_null() || pattern.is_null() {
                    return Ok(None);
                }
                let wide = matches!(text, Value::NVarChar(_));
                let pattern = LikePattern::compile(&pattern, escape, wide, input.ty.collation);
                Ok(Some(pattern.matches(&text) != *negated))
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
    pub(crate) fn shifted(&self, width: usize) -> Expr {
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
    for p in parts {
        match p.test(row, cx)? {
            Some(b) if b == stop => return Ok(Some(stop)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(!stop) })
}

fn scalar_subquery(plan: &Arc<Plan>, row: &[Value], cx: &mut Cx<'_>) -> SqlResult<Value> {
    let rows = subquery_rows(plan, row, cx)?;
    match rows.len() {
        0 => Ok(Value::Null),
        1 => Ok(rows[0][0].clone()),
        _ => Err(duramen_base::SqlError::new(
            &messages::SUBQUERY_MORE_THAN_ONE_VALUE,
            &[],
        )),
    }
}

fn in_query(
    needle: &Value,
    item: &Expr,
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Option<bool>> {
    if !plan.correlated {
        return in_set(needle, item, plan, row, cx);
    }
    let rows = subquery_rows(plan, row, cx)?;
    let mut unknown = needle.is_null() && !rows.is_empty();
    for r in rows.iter() {
        match compare(needle, &r[0], item) {
            Some(Ordering::Equal) => return Ok(Some(true)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(false) })
}

/// IN (subquery) that is the same for every row: its values are put in order once.
fn in_set(
    needle: &Value,
    item: &Expr,
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Option<bool>> {
    let address = Arc::as_ptr(plan) as usize;
    let collation = item.ty.collation;
    let values = match cx.sets.get(&address) {
        Some(v) => v.clone(),
        None => {
            let rows = subquery_rows(plan, row, cx)?;
            let known = rows.iter().map(|r| r[0].clone()).filter(|v| !v.is_null());
            let mut values: Vec<Value> = known.collect();
            values.sort_by(|a, b| duramen_types::compare(a, b, collation));
            let set = Arc::new((values, rows.iter().any(|r| r[0].is_null())));
            cx.sets.insert(address, set.clone());
            set
        }
    };
    let (values, has_null) = &*values;
    if needle.is_null() {
        return Ok(match values.is_empty() && !has_null {
            true => Some(false),
            false => None,
        });
    }
    let found = values.binary_search_by(|v| duramen_types::compare(v, needle, collation));
    Ok(match (found, has_null) {
        (Ok(_), _) => Some(true),
        (Err(_), true) => None,
        (Err(_), false) => Some(false),
    })
}

/// The rows of a subquery: computed once for the statement when it does not look at the row outside.
fn subquery_rows(
    plan: &Arc<Plan>,
    row: &[Value],
    cx: &mut Cx<'_>,
) -> SqlResult<Arc<Vec<Vec<Value>>>> {
    if plan.correlated {
        cx.push_outer(row);
        let rows = plan.rows(cx);
        cx.pop_outer();
        return rows.map(Arc::new);
    }
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
    let rows = plan.rows(cx);
    cx.pop_outer();
    let rows = Arc::new(rows?);
    if let Some(found) = found.as_deref_mut() {
        *found = Some(rows.clone());
    }
    cx.cached.insert(key, rows.clone());
    Ok(rows)
}
