//! The session that is there from the first start on: severe errors, deadlocks and long waits.
//!
//! As SQL Server's, with what has a source here. It can be altered and dropped like any other.

/// The statement that the first start keeps.
pub const STATEMENT: &str = "CREATE EVENT SESSION [system_health] ON SERVER
ADD EVENT sqlserver.error_reported(
    ACTION(package0.event_sequence,sqlserver.database_id,sqlserver.session_id,sqlserver.sql_text)
    WHERE ([severity]>=(20) OR ([error_number]=(17803) OR [error_number]=(701) OR [error_number]=(802)
        OR [error_number]=(8645) OR [error_number]=(8651) OR [error_number]=(8657) OR [error_number]=(8902)))),
ADD EVENT sqlserver.xml_deadlock_report,
ADD EVENT sqlos.wait_info(
    ACTION(sqlserver.session_id,sqlserver.sql_text)
    WHERE ([duration]>(15000) AND ([wait_type]>=N'LATCH_NL' AND [wait_type]<=N'LATCH_DT'
        OR [wait_type]>=N'PAGELATCH_NL' AND [wait_type]<=N'PAGELATCH_DT'
        OR [wait_type]>=N'PAGEIOLATCH_NL' AND [wait_type]<=N'PAGEIOLATCH_DT'
        OR [wait_type]>=N'IO_COMPLETION' AND [wait_type]<=N'NETWORK_IO'
        OR [wait_type]=N'RESOURCE_SEMAPHORE'
        OR [wait_type]>=N'FCB_REPLICA_WRITE' AND [wait_type]<=N'WRITELOG')
        OR [duration]>(30000) AND [wait_type]<=N'LCK_M_RX_X')),
ADD EVENT sqlos.wait_info_external(
    ACTION(sqlserver.session_id,sqlserver.sql_text)
    WHERE ([duration]>(5000)))
ADD TARGET package0.event_file(SET filename=N'system_health.xel',max_file_size=(5),max_rollover_files=(4)),
ADD TARGET package0.ring_buffer(SET max_memory=(4096),max_events_limit=(5000))
WITH (MAX_MEMORY=4096 KB,EVENT_RETENTION_MODE=ALLOW_SINGLE_EVENT_LOSS,MAX_DISPATCH_LATENCY=120 SECONDS,
    MAX_EVENT_SIZE=0 KB,MEMORY_PARTITION_MODE=NONE,TRACK_CAUSALITY=OFF,STARTUP_STATE=ON)";

/// The id of a kept statement that is none: the first start has been.
pub const MARKER_ID: i32 = 1;

#[cfg(test)]
mod tests {
    use super::super::definition::Definition;

    #[test]
    fn it_reads_back_as_it_was_kept() {
        let made = Definition::parse(super::STATEMENT).expect("it is a session");
        let kept = made.statement();
        let again = Definition::parse(&kept).expect("it is a session still");
        assert_eq!(again.statement(), kept);
        assert_eq!((made.events.len(), made.targets.len()), (4, 2));
        assert!(made.options.startup);
    }
}
