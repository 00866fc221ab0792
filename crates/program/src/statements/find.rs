//! Which row a statement has: one match, without a default.

use duramen_tsql::ast::{
    self, DropKind, ModuleKind, ModuleMode, PartitionStmt, RestoreKind, StatementKind,
};

use super::Kind;
use crate::rights::Right;

impl Kind {
    pub fn of(statement: &StatementKind) -> Kind {
        of(statement)
    }
}

fn of(kind: &StatementKind) -> Kind {
    match kind {
        StatementKind::Select(s) => match into_table(s) {
            Some(_) => Kind::SelectInto,
            None => Kind::Select,
        },
        StatementKind::Insert(_) => Kind::Insert,
        StatementKind::InsertBulk(_) => Kind::InsertBulk,
        StatementKind::Update(_) => Kind::Update,
        StatementKind::Delete(_) => Kind::Delete,
        StatementKind::Merge(_) => Kind::Merge,
        StatementKind::TruncateTable { .. } => Kind::TruncateTable,
        StatementKind::CreateTable(_) => Kind::CreateTable,
        StatementKind::AlterTable(_) => Kind::AlterTable,
        StatementKind::CreateIndex(_) => Kind::CreateIndex,
        StatementKind::AlterIndex(_) => Kind::AlterIndex,
        StatementKind::DropIndex { .. } => Kind::DropIndex,
        StatementKind::CreateStatistics(_) => Kind::CreateStatistics,
        StatementKind::UpdateStatistics { .. } => Kind::UpdateStatistics,
        StatementKind::Drop { kind, .. } => drop_row(*kind),
        StatementKind::CreateModule(s) => module_row(&s.kind, s.mode),
        StatementKind::CreateSchema { .. } => Kind::CreateSchema,
        StatementKind::AlterSchema { .. } => Kind::AlterSchema,
        StatementKind::AlterAuthorization { .. } => Kind::AlterAuthorization,
        StatementKind::Partition(s) => partition_row(s),
        StatementKind::CreateSequence(_) => Kind::CreateSequence,
        StatementKind::CreateType(_) => Kind::CreateType,
        StatementKind::CreateSynonym { .. } => Kind::CreateSynonym,
        StatementKind::Principal(s) => match (s.kind.as_str(), s.alter) {
            ("LOGIN", false) => Kind::CreateLogin,
            ("LOGIN", true) => Kind::AlterLogin,
            ("SERVER ROLE", false) => Kind::CreateServerRole,
            ("SERVER ROLE", true) => Kind::AlterServerRole,
            ("USER", false) => Kind::CreateUser,
            ("USER", true) => Kind::AlterUser,
            (_, false) => Kind::CreateRole,
            (_, true) => Kind::AlterRole,
        },
        StatementKind::Permission(s) => {
            let of_server = |p: &String| Right::named(p).is_some_and(Right::is_of_server);
            match s.on.is_none() && s.permissions.iter().any(of_server) {
                true => Kind::ServerPermission,
                false => Kind::Permission,
            }
        }
        StatementKind::CreateEventSession(_) => Kind::CreateEventSession,
        StatementKind::AlterEventSession(_) => Kind::AlterEventSession,
        StatementKind::DropEventSession { .. } => Kind::DropEventSession,
        StatementKind::CreateDatabase(_) => Kind::CreateDatabase,
        StatementKind::AlterDatabase(_) => Kind::AlterDatabase,
        StatementKind::DropDatabase { .. } => Kind::DropDatabase,
        StatementKind::AlterDatabaseScopedConfiguration(_) => Kind::ScopedConfiguration,
        StatementKind::Backup(s) => match s.log {
            true => Kind::BackupLog,
            false => Kind::BackupDatabase,
        },
        StatementKind::Restore(s) => match s.kind {
            RestoreKind::Database => Kind::RestoreDatabase,
            RestoreKind::Log => Kind::RestoreLog,
            RestoreKind::RewindOnly => Kind::RestoreRewindOnly,
            RestoreKind::VerifyOnly => Kind::RestoreVerifyOnly,
            RestoreKind::HeaderOnly => Kind::RestoreHeaderOnly,
            RestoreKind::FileListOnly => Kind::RestoreFileListOnly,
            RestoreKind::LabelOnly => Kind::RestoreLabelOnly,
        },
        StatementKind::Declare(_) | StatementKind::DeclareTable { .. } => Kind::Declare,
        StatementKind::DeclareCursor(_) => Kind::DeclareCursor,
        StatementKind::Cursor(_) => Kind::Cursor,
        StatementKind::SetVariable { .. } => Kind::SetVariable,
        StatementKind::SetOption(_) => Kind::SetOption,
        StatementKind::If { .. }
        | StatementKind::While { .. }
        | StatementKind::Block(_)
        | StatementKind::TryCatch { .. }
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(_)
        | StatementKind::Goto(_)
        | StatementKind::Label(_) => Kind::Flow,
        StatementKind::Print(_) => Kind::Print,
        StatementKind::RaiseError(_) | StatementKind::Throw(_) => Kind::RaiseError,
        StatementKind::WaitFor { .. } => Kind::WaitFor,
        StatementKind::BeginTran { .. } => Kind::BeginTransaction,
        StatementKind::Commit { .. } => Kind::Commit,
        StatementKind::Rollback { .. } => Kind::Rollback,
        StatementKind::SaveTran { .. } => Kind::Save,
        StatementKind::Use(_) => Kind::Use,
        StatementKind::Exec(_) => Kind::Execute,
        StatementKind::ExecuteAs { .. } => Kind::ExecuteAs,
        StatementKind::Revert => Kind::Revert,
        StatementKind::Dbcc(_) => Kind::Dbcc,
        StatementKind::Checkpoint(_) => Kind::Checkpoint,
        StatementKind::Shutdown { .. } => Kind::Shutdown,
        StatementKind::Kill { .. } => Kind::Kill,
        StatementKind::Reconfigure { .. } => Kind::Reconfigure,
    }
}

fn drop_row(kind: DropKind) -> Kind {
    match kind {
        DropKind::Table => Kind::DropTable,
        DropKind::View => Kind::DropView,
        DropKind::Procedure => Kind::DropProcedure,
        DropKind::Function => Kind::DropFunction,
        DropKind::Trigger => Kind::DropTrigger,
        DropKind::Statistics => Kind::DropStatistics,
        DropKind::Schema => Kind::DropSchema,
        DropKind::Type => Kind::DropType,
        DropKind::Synonym => Kind::DropSynonym,
        DropKind::Login => Kind::DropLogin,
        DropKind::User => Kind::DropUser,
        DropKind::Role => Kind::DropRole,
        DropKind::Sequence => Kind::DropSequence,
        DropKind::Default => Kind::DropDefault,
        DropKind::Rule => Kind::DropRule,
    }
}

fn module_row(kind: &ModuleKind, mode: ModuleMode) -> Kind {
    let alter = mode == ModuleMode::Alter;
    match (kind, alter) {
        (ModuleKind::View { .. }, false) => Kind::CreateView,
        (ModuleKind::View { .. }, true) => Kind::AlterView,
        (ModuleKind::Procedure { .. }, false) => Kind::CreateProcedure,
        (ModuleKind::Procedure { .. }, true) => Kind::AlterProcedure,
        (ModuleKind::Trigger { .. }, false) => Kind::CreateTrigger,
        (ModuleKind::Trigger { .. }, true) => Kind::AlterTrigger,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            false,
        ) => Kind::CreateFunction,
        (
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. },
            true,
        ) => Kind::AlterFunction,
    }
}

fn partition_row(stmt: &PartitionStmt) -> Kind {
    match stmt {
        PartitionStmt::CreateFunction { .. } => Kind::CreatePartitionFunction,
        PartitionStmt::AlterFunction { .. } => Kind::AlterPartitionFunction,
        PartitionStmt::DropFunction(_) => Kind::DropPartitionFunction,
        PartitionStmt::CreateScheme { .. } => Kind::CreatePartitionScheme,
        PartitionStmt::AlterScheme { .. } => Kind::AlterPartitionScheme,
        PartitionStmt::DropScheme(_) => Kind::DropPartitionScheme,
    }
}

/// The table that SELECT ... INTO makes.
pub fn into_table(stmt: &ast::SelectStmt) -> Option<&ast::ObjectName> {
    match &stmt.body {
        ast::QueryExpr::Select(spec) => spec.into.as_ref(),
        // SELECT ... INTO ... UNION ...: the first SELECT names the table.
        ast::QueryExpr::SetOp { left, .. } => {
            let mut at = left;
            loop {
                match &**at {
                    ast::QueryExpr::SetOp { left, .. } => at = left,
                    ast::QueryExpr::Select(spec) => return spec.into.as_ref(),
                    ast::QueryExpr::Values(_) => return None,
                }
            }
        }
        ast::QueryExpr::Values(_) => None,
    }
}
