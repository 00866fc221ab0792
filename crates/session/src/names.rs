//! Names of statements, for messages, and small texts of statements.

use std::time::Duration;

use duramen_tsql::ast::{PartitionStmt, StatementKind};

/// What a statement about partition functions and schemes is called.
pub fn partition_name(stmt: &PartitionStmt) -> &'static str {
    match stmt {
        PartitionStmt::CreateFunction { .. } => "CREATE PARTITION FUNCTION",
        PartitionStmt::CreateScheme { .. } => "CREATE PARTITION SCHEME",
        PartitionStmt::AlterFunction { .. } => "ALTER PARTITION FUNCTION",
        PartitionStmt::AlterScheme { .. } => "ALTER PARTITION SCHEME",
        PartitionStmt::DropFunction(_) => "DROP PARTITION FUNCTION",
        PartitionStmt::DropScheme(_) => "DROP PARTITION SCHEME",
    }
}

/// What a statement is called when it is refused.
pub fn statement_name(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Select(_) => "SELECT",
        StatementKind::Insert(_) => "INSERT",
        StatementKind::InsertBulk(_) => "INSERT BULK",
        StatementKind::Update(_) => "UPDATE",
        StatementKind::Delete(_) => "DELETE",
        StatementKind::Merge(_) => "MERGE",
        StatementKind::TruncateTable { .. } => "TRUNCATE TABLE",
        StatementKind::CreateTable(_) => "CREATE TABLE",
        StatementKind::AlterTable(_) => "ALTER TABLE",
        StatementKind::CreateIndex(_) => "CREATE INDEX",
        StatementKind::AlterIndex(_) => "ALTER INDEX",
        StatementKind::CreateStatistics(_) => "CREATE STATISTICS",
        StatementKind::UpdateStatistics { .. } => "UPDATE STATISTICS",
        StatementKind::Drop { .. } => "DROP",
        StatementKind::DropIndex { .. } => "DROP INDEX",
        StatementKind::CreateModule(_) => "CREATE PROCEDURE, FUNCTION, VIEW or TRIGGER",
        StatementKind::CreateSchema { .. } => "CREATE SCHEMA",
        StatementKind::AlterAuthorization { .. } => "ALTER AUTHORIZATION",
        StatementKind::AlterSchema { .. } => "ALTER SCHEMA",
        StatementKind::Partition(s) => partition_name(s),
        StatementKind::CreateSequence(_) => "CREATE SEQUENCE",
        StatementKind::CreateType(_) => "CREATE TYPE",
        StatementKind::CreateSynonym { .. } => "CREATE SYNONYM",
        StatementKind::Principal(_) => "CREATE LOGIN, USER or ROLE",
        StatementKind::Permission(_) => "GRANT, DENY or REVOKE",
        StatementKind::CreateEventSession(_) => "CREATE EVENT SESSION",
        StatementKind::AlterEventSession(_) => "ALTER EVENT SESSION",
        StatementKind::DropEventSession { .. } => "DROP EVENT SESSION",
        StatementKind::CreateDatabase(_) => "CREATE DATABASE",
        StatementKind::AlterDatabase(_) => "ALTER DATABASE",
        StatementKind::DropDatabase { .. } => "DROP DATABASE",
        StatementKind::AlterDatabaseScopedConfiguration(_) => "ALTER DATABASE SCOPED CONFIGURATION",
        StatementKind::Backup(_) => "BACKUP",
        StatementKind::Restore(_) => "RESTORE",
        StatementKind::DeclareTable { .. } => "DECLARE TABLE",
        StatementKind::DeclareCursor(_) => "DECLARE CURSOR",
        StatementKind::Cursor(_) => "OPEN, FETCH, CLOSE or DEALLOCATE",
        StatementKind::Exec(_) => "EXECUTE",
        StatementKind::ExecuteAs { .. } => "EXECUTE AS",
        StatementKind::Revert => "REVERT",
        StatementKind::Dbcc(_) => "DBCC",
        StatementKind::Checkpoint(_) => "CHECKPOINT",
        StatementKind::Shutdown { .. } => "SHUTDOWN",
        StatementKind::Kill { .. } => "KILL",
        StatementKind::Reconfigure { .. } => "RECONFIGURE",
        StatementKind::SetOption(_) => "SET OPTION",
        StatementKind::Print(_) => "PRINT",
        StatementKind::RaiseError(_) => "RAISERROR",
        StatementKind::Throw(_) => "THROW",
        StatementKind::WaitFor { .. } => "WAITFOR",
        StatementKind::BeginTran { .. } => "BEGIN TRANSACTION",
        StatementKind::Commit { .. } => "COMMIT TRANSACTION",
        StatementKind::Rollback { .. } => "ROLLBACK TRANSACTION",
        StatementKind::SaveTran { .. } => "SAVE TRANSACTION",
        StatementKind::Use(_) => "USE",
        _ => "this statement",
    }
}

/// `hh:mm[:ss[.mmm]]` of WAITFOR DELAY, less than 24 hours.
pub fn parse_delay(text: &str) -> Option<Duration> {
    let mut parts = text.trim().split(':');
    let hours: u64 = parts.next()?.trim().parse().ok().filter(|h| *h < 24)?;
    let minutes: u64 = parts.next()?.trim().parse().ok().filter(|m| *m < 60)?;
    let seconds: f64 = match parts.next() {
        Some(s) => s.trim().parse().ok().filter(|s| (0.0..60.0).contains(s))?,
        None => 0.0,
    };
    parts.next().is_none().then(|| {
        Duration::from_secs(hours * 3600 + minutes * 60) + Duration::from_secs_f64(seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_hours_minutes_seconds() {
        assert_eq!(parse_delay("00:00:01"), Some(Duration::from_secs(1)));
        assert_eq!(parse_delay("0:1"), Some(Duration::from_secs(60)));
        assert_eq!(
            parse_delay("00:00:00.250"),
            Some(Duration::from_millis(250))
        );
        assert_eq!(parse_delay("24:00:00"), None);
        assert_eq!(parse_delay("soon"), None);
    }
}
