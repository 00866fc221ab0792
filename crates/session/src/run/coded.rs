//! Calls of procedures that are code: from the row of one to what runs.

use duramen_program::coded::{Procedure, Row};

use super::exec::{Called, Given};
use super::failure::RunResult;
use super::{Run, not_supported};

impl Run<'_> {
    pub(super) fn call_coded(&mut self, row: &'static Row, given: Vec<Given>) -> RunResult<Called> {
        // What a text inside says is told as that text's, not as the procedure's.
        match row.procedure {
            Procedure::Wire => return Err(not_supported(row.name).into()),
            Procedure::ExecuteSql => return self.execute_sql(given),
            _ => {}
        }
        let args = self.arguments_for(row, &given);
        let args = &args.map_err(|f| f.map(|e| row.error(e)))?;
        let done = match row.procedure {
            Procedure::DescribeFirstResultSet => return self.describe_first_result_set(args),
            Procedure::DescribeUndeclaredParameters => return self.describe_undeclared(args),
            Procedure::GetAppLock | Procedure::ReleaseAppLock => self.app_lock(args),
            Procedure::AddProperty | Procedure::UpdateProperty | Procedure::DropProperty => {
                self.settled(|run| run.change_property(args))
            }
            Procedure::RefreshModule => self.settled(|run| run.refresh_module(args)),
            Procedure::Rename => self.settled(|run| run.rename(args)),
            Procedure::CycleErrorLog => self.cycle_error_log(),
            Procedure::ListErrorLogs => self.list_error_logs(args),
            Procedure::LogEvent => self.log_event(args),
            Procedure::ReadErrorLog => self.read_error_log(args),
            Procedure::RegistryRead => self.registry_read(args),
            Procedure::DetachDb => self.detach_db(args),
            Procedure::FlushLog => self.flush_log(),
            Procedure::SetSessionContext => self.set_session_context(args),
            Procedure::ExecuteSql | Procedure::Wire => return Err(not_supported(row.name).into()),
        };
        done.map_err(|f| f.map(|e| row.error(e)))
    }
}
