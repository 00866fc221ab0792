//! What an error ends: the statement, the batch, the transaction, the connection. The one place that decides.

use duramen_base::SqlError;
use duramen_observe::events::{ErrorCategory, ErrorDestination, ErrorReported, emit};
use duramen_observe::{Counter, count};

use crate::sink::ResultSink;

/// How far an error reaches, outside TRY and with XACT_ABORT OFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The statement is undone, the batch goes on.
    Statement,
    /// The rest of the batch is skipped; the transaction stays.
    Batch,
    /// The batch stops and the transaction is rolled back.
    BatchAndTransaction,
    /// The session ends.
    Connection,
}

/// Errors of names found only when the statement runs.
const SCOPE: &[i32] = &[
    207, 208, 209, 306, 1752, 4104, 4121, 102, 105, 156, 137, 1087, 195, 174,
];

/// Memory that is not there: the batch stops, as the next statement would hardly fare better. *Assumed*: the documentation
/// gives their severity, 17, and no more.
const MEMORY: &[i32] = &[701, 802, 8645, 8657];

/// Conversion errors, deadlocks, failed DDL: the batch stops and the transaction is gone.
const ABORTS: &[i32] = &[
    235, 241, 242, 244, 245, 248, 293, 295, 8114, 8169, 9819, 1205, 3609, 3616, 3951, 3952, 3956,
    3957, 3958, 3960, 3961, 217, 3623, 2714, 1505, 1750, 1765, 1768, 1778, 1946, 3723, 3726, 3727,
    3728, 3729, 3732, 4708, 4712, 4901, 4920, 219, 911, 8106, 8107, 556, 1105, 9002, 3915, 3916,
    3930,
];

/// XACT_ABORT has no say over these.
const IGNORES_XACT_ABORT: &[i32] = &[50000, 3701, 2787, 266, 3902, 3903];

/// Write errors that are followed by 3621, `The statement has been terminated.`
const TERMINATED: &[i32] = &[
    515, 547, 2601, 2627, 8152, 2628, 220, 7119, 8115, 8134, 1222,
];

pub fn reach(error: &SqlError, xact_abort: bool) -> Reach {
    if error.severity >= 20 {
        return Reach::Connection;
    }
    let natural = if SCOPE.contains(&error.number) || MEMORY.contains(&error.number) {
        Reach::Batch
    } else if ABORTS.contains(&error.number) {
        Reach::BatchAndTransaction
    } else {
        Reach::Statement
    };
    if xact_abort && natural != Reach::Connection && !IGNORES_XACT_ABORT.contains(&error.number) {
        Reach::BatchAndTransaction
    } else {
        natural
    }
}

/// Whether 3621 follows when the statement was one that writes.
pub fn says_terminated(error: &SqlError, reach: Reach) -> bool {
    reach == Reach::Statement && TERMINATED.contains(&error.number)
}

/// TRY catches severities 11 to 19, but not the names of its own level: only those of a scope inside.
pub fn catchable(error: &SqlError, from_inside: bool) -> bool {
    (11..=19).contains(&error.severity) && (from_inside || !SCOPE.contains(&error.number))
}

/// Gives an error to the client, and to whoever listens to `error_reported`.
///
/// What was given up has no number, and nothing is said of it.
pub fn report(sink: &mut dyn ResultSink, error: &SqlError) {
    if error.number == 0 && error.severity > 10 {
        return;
    }
    for first in &error.earlier {
        report_to_listeners(first);
        sink.error(first);
    }
    report_to_listeners(error);
    sink.error(error);
}

/// Gives an error to whoever listens to `error_reported`, the server log among them.
pub fn report_to_listeners(error: &SqlError) {
    emit(|| ErrorReported {
        error_number: i64::from(error.number),
        severity: u64::from(error.severity),
        state: u64::from(error.state),
        user_defined: error.number >= 50000,
        category: ErrorCategory,
        destination: ErrorDestination,
        is_intercepted: false,
        message: error.public_message().to_owned(),
    });
    let counter = match error.severity {
        0..=10 => Counter::ErrorsInfo,
        11..=19 => Counter::ErrorsUser,
        _ => Counter::ErrorsKillConnection,
    };
    count(counter, 1);
    crate::exceptions::note(error);
}

#[cfg(test)]
mod tests {
    use duramen_base::{SqlError, messages};

    use super::*;

    #[test]
    fn an_error_reaches_as_far_as_its_class() {
        let null = SqlError::new(&messages::NULL_NOT_ALLOWED, &[&"c", &"t", &"INSERT"]);
        assert_eq!(reach(&null, false), Reach::Statement);
        assert_eq!(reach(&null, true), Reach::BatchAndTransaction);
        assert!(says_terminated(&null, Reach::Statement));
        let name = SqlError::new(&messages::INVALID_OBJECT_NAME, &[&"t"]);
        assert_eq!(reach(&name, false), Reach::Batch);
        assert!(!catchable(&name, false));
        assert!(catchable(&name, true));
        let conversion = SqlError::new(&messages::CONVERSION_FAILED, &[]);
        assert_eq!(reach(&conversion, false), Reach::BatchAndTransaction);
        let memory = SqlError::new(&messages::OUT_OF_MEMORY, &[&"default"]);
        assert_eq!(reach(&memory, false), Reach::Batch);
        assert!(catchable(&memory, false));
        let commit = SqlError::new(&messages::COMMIT_WITHOUT_BEGIN, &[]);
        assert_eq!(reach(&commit, true), Reach::Statement);
    }
}
