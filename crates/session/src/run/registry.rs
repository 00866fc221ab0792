//! `xp_regread` and `xp_instance_regread`: `root key, key, value name, value OUTPUT, 'no_output'`.
//!
//! Neither is documented. With an OUTPUT argument the value goes there, otherwise it is a row of its name and itself. What is
//! not there is told with 22001, a message of level 1, unless `no_output` is said; the return code is 1 then (*assumed*).

use duramen_base::{SqlError, messages};
use duramen_core::registry::{self, Datum, Missing};
use duramen_types::{SqlType, Value};

use super::Run;
use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;

fn invalid() -> SqlError {
    let text = "Error executing extended stored procedure: Invalid Parameter";
    SqlError::new(&messages::EXTENDED_PROCEDURE_FAILED, &[&text])
}

impl Run<'_> {
    pub(super) fn registry_read(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let name = args.row.name;
        let asked = (
            args.text("@rootkey"),
            args.text("@key"),
            args.text("@value_name"),
        );
        let (Some(root), Some(key), Some(value)) = asked else {
            return Err(invalid().into());
        };
        let local = ["HKEY_LOCAL_MACHINE", "HKLM"];
        let own = name == "xp_instance_regread";
        let found = match local.iter().any(|r| root.eq_ignore_ascii_case(r)) {
            true => registry::read(&self.session.instance, &key, &value, own),
            false => Err(Missing::Key),
        };
        let quiet = args.all.iter().any(|g| {
            let said = g.value.as_ref().and_then(Value::as_text);
            !g.output && said.is_some_and(|t| t.eq_ignore_ascii_case("no_output"))
        });
        let output = args.all.iter().position(|g| g.output);
        match found {
            Err(missing) => {
                if !quiet {
                    self.report_missing(name, missing);
                }
                Ok(Called::with_status(1))
            }
            Ok(datum) => {
                let (ty, data) = match datum {
                    Datum::Text(text) => (SqlType::nvarchar(4000), Value::nvarchar(&text)),
                    Datum::Number(n) => (SqlType::INT, Value::Int(n as i32)),
                };
                let mut called = Called::with_status(0);
                match output {
                    Some(at) => called.outputs.push((at, ty, data)),
                    None => {
                        let columns = [("Value", SqlType::nvarchar(260)), ("Data", ty)];
                        let row = vec![Value::nvarchar(&value), data];
                        self.send_found(&columns, std::iter::once(row));
                    }
                }
                Ok(called)
            }
        }
    }

    /// 22001, with the error that Windows has for it.
    fn report_missing(&mut self, name: &str, missing: Missing) {
        let call = match missing {
            Missing::Key => "RegOpenKeyEx()",
            Missing::Value => "RegQueryValueEx()",
        };
        let text = "The system cannot find the file specified.";
        let args: [&dyn std::fmt::Display; 3] = [&call, &2, &text];
        let message = SqlError {
            procedure: Some(name.to_owned()),
            // Extended procedures give their messages a level of their own.
            severity: 1,
            ..SqlError::new(&messages::REGISTRY_CALL_FAILED, &args).at_line(self.line)
        };
        self.sink.info(&message);
    }
}
