//! The methods of xml values as functions: the value, the query's text, then what the query asks for.

use std::cell::RefCell;
use std::rc::Rc;

use duramen_base::SqlResult;
use duramen_types::xquery::{Item, Query, Xml, parse};
use duramen_types::{SqlType, Value, to_display};

use duramen_query::functions::{Param, Run, ScalarFunction, strict};
use duramen_query::host::{Host, RowStream, TableColumn, VirtualTable};
use duramen_query::{Expr, doc};

/// Queries that a thread remembers.
const REMEMBERED: usize = 32;

thread_local! {
    static QUERIES: RefCell<Vec<(String, Rc<Query>)>> = const { RefCell::new(Vec::new()) };
}

/// A query by its text, which binding has already read once.
fn query(method: &str, text: &str) -> SqlResult<Rc<Query>> {
    let known = QUERIES.with(|q| {
        let queries = q.borrow();
        let found = queries.iter().find(|(key, _)| key == text);
        found.map(|(_, query)| query.clone())
    });
    if let Some(known) = known {
        return Ok(known);
    }
    let made = Rc::new(parse(method, text)?);
    QUERIES.with(|q| {
        let mut queries = q.borrow_mut();
        if queries.len() >= REMEMBERED {
            queries.remove(0);
        }
        queries.push((text.to_owned(), made.clone()));
    });
    Ok(made)
}

/// A value of the statement as XQuery has it.
fn item(value: &Value, ty: &SqlType) -> Option<Item> {
    match value {
        Value::Null => None,
        Value::Bit(b) => Some(Item::Boolean(*b)),
        Value::Float(f) => Some(Item::Number(*f)),
        Value::Real(f) => Some(Item::Number(f64::from(*f))),
        Value::Binary(bytes) => Some(Item::Binary(bytes.to_vec(), false)),
        Value::VarChar(_) | Value::NVarChar(_) => {
            Some(Item::Text(value.as_text().unwrap_or_default()))
        }
        other => {
            let text = to_display(other, ty);
            match ty.id.is_integer() || ty.id.is_decimal() {
                true => Some(Item::Number(text.parse().unwrap_or(f64::NAN))),
                false => Some(Item::Text(text)),
            }
        }
    }
}

/// The value, its query and what the query is given.
type Opened = (Xml, Rc<Query>, Vec<Option<Item>>);

/// The arguments of a method; `None` for NULL.
fn opened(
    method: &str,
    values: &[Value],
    types: impl Fn(usize) -> SqlType,
) -> SqlResult<Option<Opened>> {
    let [Value::NVarChar(xml), text, outside @ ..] = values else {
        return Ok(None);
    };
    let query = query(method, &text.as_text().unwrap_or_default())?;
    let given = outside
        .iter()
        .enumerate()
        .map(|(i, v)| item(v, &types(i + 2)));
    Ok(Some((Xml::open(xml)?, query, given.collect())))
}

const fn method(name: &'static str, ty: fn(&[Expr]) -> SqlType, run: Run) -> ScalarFunction {
    ScalarFunction {
        min_args: 2,
        max_args: usize::MAX,
        ..strict(doc(name, "", ""), &[Param::Any], ty, run).sees_null()
    }
}

/// `value()` as text, before it takes the type that it was told.
pub(crate) static VALUE: ScalarFunction = method(
    "value()",
    |_| SqlType::NVARCHAR_MAX,
    |values, args, _, _| {
        let found = match opened("value", values, |i| args[i].ty)? {
            Some((xml, query, given)) => xml.value(&query, &given)?,
            None => None,
        };
        Ok(found.map_or(Value::Null, |t| Value::nvarchar(&t)))
    },
);

/// `value()` of a binary type.
pub(crate) static VALUE_BINARY: ScalarFunction = method(
    "value()",
    |_| SqlType::VARBINARY_MAX,
    |values, args, _, _| {
        let found = match opened("value", values, |i| args[i].ty)? {
            Some((xml, query, given)) => xml.bytes(&query, &given)?,
            None => None,
        };
        Ok(found.map_or(Value::Null, Value::Binary))
    },
);

pub(crate) static QUERY: ScalarFunction = method(
    "query()",
    |_| SqlType::XML,
    |values, args, _, _| match opened("query", values, |i| args[i].ty)? {
        Some((xml, query, given)) => Ok(Value::nvarchar(&xml.query(&query, &given)?)),
        None => Ok(Value::Null),
    },
);

pub(crate) static EXIST: ScalarFunction = method(
    "exist()",
    |_| SqlType::BIT,
    |values, args, _, _| match opened("exist", values, |i| args[i].ty)? {
        Some((xml, query, given)) => Ok(Value::Bit(xml.exist(&query, &given)?)),
        None => Ok(Value::Null),
    },
);

/// The rows of `nodes()`.
#[derive(Debug)]
pub(crate) struct Nodes {
    columns: Vec<TableColumn>,
}

impl Nodes {
    pub fn new(column: &str, ty: SqlType) -> Nodes {
        Nodes {
            columns: vec![TableColumn {
                name: column.to_owned(),
                ty,
                nullable: true,
                identity: false,
                default: None,
                generated: Default::default(),
            }],
        }
    }
}

impl VirtualTable for Nodes {
    fn name(&self) -> &str {
        "nodes()"
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn rows(&self, _host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
        // Values of tables have no types of their own here: those of integers and texts tell themselves.
        let rows = match opened("nodes", args, |i| plain_type(&args[i]))? {
            Some((xml, query, given)) => xml.nodes(&query, &given)?,
            None => Vec::new(),
        };
        Ok(Box::new(
            rows.into_iter().map(|r| Ok(vec![Value::NVarChar(r)])),
        ))
    }
}

/// The type that a value shows by itself.
fn plain_type(value: &Value) -> SqlType {
    match value {
        Value::TinyInt(_) => SqlType::TINYINT,
        Value::SmallInt(_) => SqlType::SMALLINT,
        Value::Int(_) => SqlType::INT,
        Value::BigInt(_) => SqlType::BIGINT,
        Value::Decimal(_) => SqlType::numeric(38, 0),
        Value::Money(_) => SqlType::MONEY,
        Value::Date(_) => SqlType::DATE,
        Value::DateTime(_) => SqlType::DATETIME,
        Value::DateTime2(_) => SqlType::datetime2(7),
        Value::Guid(_) => SqlType::GUID,
        _ => SqlType::NVARCHAR_MAX,
    }
}
