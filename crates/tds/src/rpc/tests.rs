//! Calls as drivers send them, and noise.

use super::*;
use crate::bytes::{put_b_varchar, put_u16, put_u32, put_utf16};
use crate::typeinfo::put_type_info;
use crate::value::put_value;

fn headers() -> Vec<u8> {
    let mut out = Vec::new();
    AllHeaders::default().put(&mut out);
    out
}

fn put_parameter(out: &mut Vec<u8>, name: &str, status: u8, ty: SqlType, value: &Value) {
    put_b_varchar(out, name);
    out.push(status);
    put_type_info(out, &ty);
    put_value(out, &ty, value, Place::Parameter).unwrap();
}

#[test]
fn executesql_by_number_and_a_second_call_by_name() {
    let mut body = headers();
    put_u16(&mut body, 0xFFFF);
    put_u16(&mut body, 10);
    put_u16(&mut body, 0);
    let text = Value::nvarchar("SELECT @p1");
    put_parameter(&mut body, "", 0, SqlType::nvarchar(4000), &text);
    put_parameter(&mut body, "@p1", 1, SqlType::BIGINT, &Value::BigInt(7));
    body.push(0xFF);
    let name = "[sys].sp_datatype_info_100";
    put_u16(&mut body, name.len() as u16);
    put_utf16(&mut body, name);
    put_u16(&mut body, 0);
    put_parameter(&mut body, "@v", 2, SqlType::TINYINT, &Value::Null);
    body.push(0xFF);

    let (_, calls) = parse(&body).unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].procedure, Procedure::Id(ProcId::ExecuteSql));
    assert_eq!(calls[0].parameters[1].name, "@p1");
    assert!(calls[0].parameters[1].output);
    assert_eq!(
        calls[0].parameters[1].data,
        ParameterData::Value(SqlType::BIGINT, Value::BigInt(7))
    );
    assert_eq!(calls[1].procedure, Procedure::Name(name.into()));
    assert!(calls[1].parameters[0].default);
    for len in 0..body.len() {
        let _ = parse(&body[..len]);
    }
}

#[test]
fn table_value_as_drivers_send_it() {
    let mut body = headers();
    put_u16(&mut body, 1);
    put_utf16(&mut body, "p");
    put_u16(&mut body, 0);
    body.extend_from_slice(&[0, 0]);
    body.extend_from_slice(&[0xF3, 0, 0, 3, 0x74, 0, 0x74, 0, 0x74, 0]);
    put_u16(&mut body, 2);
    put_u32(&mut body, 0);
    body.extend_from_slice(&[0, 0, 0x26, 4, 0]);
    put_u32(&mut body, 0);
    body.extend_from_slice(&[0, 0, 0xE7, 40, 0, 9, 4, 0xD0, 0, 0x34, 0]);
    body.push(0);
    body.extend_from_slice(&[1, 4, 1, 0, 0, 0, 2, 0, 0x78, 0]);
    body.extend_from_slice(&[1, 4, 2, 0, 0, 0, 0xFF, 0xFF, 0]);
    let (_, calls) = parse(&body).unwrap();
    let ParameterData::Table(table) = &calls[0].parameters[0].data else {
        panic!("a table value");
    };
    assert_eq!(table.type_name, "ttt");
    assert_eq!(
        table.rows,
        [
            vec![Value::Int(1), Value::nvarchar("x")],
            vec![Value::Int(2), Value::Null]
        ]
    );
}

#[test]
fn procedures_by_any_name() {
    assert_eq!(ProcId::from_number(0), None);
    assert_eq!(ProcId::from_number(16), None);
    assert_eq!(ProcId::from_number(15), Some(ProcId::Unprepare));
    assert_eq!(
        ProcId::from_name("[sys].[SP_ExecuteSQL]"),
        Some(ProcId::ExecuteSql)
    );
    assert_eq!(ProcId::PrepExec.name(), "sp_prepexec");
}
