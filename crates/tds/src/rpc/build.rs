//! The client's side of calls: an RPC message, parameter by parameter.

use duramen_types::{SqlType, Value};

use super::{ProcId, TABLE_TYPE};
use crate::bytes::{TdsResult, put_b_varchar, put_u16, put_u32, put_us_varchar};
use crate::request::AllHeaders;
use crate::typeinfo::{Place, put_type_info};
use crate::value::put_value;

/// Between two calls of one message.
const SEPARATOR: u8 = 0xFF;

/// Builds the body of an RPC message.
#[derive(Clone, Debug)]
pub struct CallBuilder {
    body: Vec<u8>,
    calls: usize,
}

impl CallBuilder {
    pub fn new(headers: AllHeaders) -> CallBuilder {
        let mut body = Vec::new();
        headers.put(&mut body);
        CallBuilder { body, calls: 0 }
    }

    fn next_call(&mut self) {
        if self.calls > 0 {
            self.body.push(SEPARATOR);
        }
        self.calls += 1;
    }

    /// Begins a call by number.
    pub fn procedure(mut self, id: ProcId) -> CallBuilder {
        self.next_call();
        put_u16(&mut self.body, 0xFFFF);
        put_u16(&mut self.body, id as u16);
        put_u16(&mut self.body, 0);
        self
    }

    /// Begins a call by name, as written in EXECUTE.
    pub fn named(mut self, name: &str) -> CallBuilder {
        self.next_call();
        put_us_varchar(&mut self.body, name, 1046);
        put_u16(&mut self.body, 0);
        self
    }

    /// Adds a parameter; an empty name goes by position.
    pub fn parameter(
        mut self,
        name: &str,
        output: bool,
        ty: &SqlType,
        value: &Value,
    ) -> TdsResult<CallBuilder> {
        put_b_varchar(&mut self.body, name);
        self.body.push(output as u8);
        put_type_info(&mut self.body, ty);
        put_value(&mut self.body, ty, value, Place::Parameter)?;
        Ok(self)
    }

    /// Adds a table-valued parameter of the type `schema.type_name`; `None` rows for the NULL table.
    pub fn table(
        mut self,
        name: &str,
        (schema, type_name): (&str, &str),
        columns: &[SqlType],
        rows: Option<&[Vec<Value>]>,
    ) -> TdsResult<CallBuilder> {
        let out = &mut self.body;
        put_b_varchar(out, name);
        out.push(0);
        out.push(TABLE_TYPE);
        put_b_varchar(out, "");
        put_b_varchar(out, schema);
        put_b_varchar(out, type_name);
        match rows {
            None => put_u16(out, 0xFFFF),
            Some(_) => {
                put_u16(out, columns.len() as u16);
                for ty in columns {
                    put_u32(out, 0);
                    put_u16(out, 1);
                    put_type_info(out, ty);
                    put_b_varchar(out, "");
                }
            }
        }
        out.push(0);
        for row in rows.unwrap_or_default() {
            out.push(1);
            for (ty, value) in columns.iter().zip(row) {
                put_value(out, ty, value, Place::Column)?;
            }
        }
        out.push(0);
        Ok(self)
    }

    pub fn finish(self) -> Vec<u8> {
        self.body
    }
}
