//! `$PARTITION.f(value)`: the number of the partition that a value belongs to.

use std::any::Any;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::PartitionFunctionDef;
use duramen_query::host::{FunctionParameter, UserFunction};
use duramen_tsql::ast::ObjectName;
use duramen_types::{SqlType, Value};

use crate::session::Session;

/// What stands where a schema's name would.
const QUALIFIER: &str = "$partition";

/// A partition function that is called.
#[derive(Debug)]
pub struct PartitionNumber {
    function: Arc<PartitionFunctionDef>,
    parameters: [FunctionParameter; 1],
}

impl PartitionNumber {
    pub fn of(&self, args: &[Value]) -> Value {
        let value = args.first().unwrap_or(&Value::Null);
        Value::Int(self.function.partition_of(value) as i32 + 1)
    }
}

impl UserFunction for PartitionNumber {
    fn name(&self) -> &str {
        &self.function.name
    }

    fn parameters(&self) -> &[FunctionParameter] {
        &self.parameters
    }

    fn returns(&self) -> SqlType {
        SqlType::INT
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Whether the name is that of a call of a partition function.
pub fn is_call(name: &ObjectName) -> bool {
    name.schema()
        .is_some_and(|s| s.eq_ignore_ascii_case(QUALIFIER))
}

/// The function of that name, in the database named or the current one.
pub fn find(session: &Session, name: &ObjectName) -> SqlResult<Option<Arc<PartitionNumber>>> {
    let database = name.database().unwrap_or(&session.database);
    let Some(db) = session.instance.databases.find(database) else {
        return Ok(None);
    };
    let snapshot = db.catalog.snapshot()?;
    let found = snapshot.find_partition_function(name.name());
    Ok(found.map(|f| {
        Arc::new(PartitionNumber {
            function: f.clone(),
            parameters: [FunctionParameter {
                name: "@value".to_owned(),
                ty: f.ty,
                default: None,
            }],
        })
    }))
}
