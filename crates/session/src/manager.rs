//! Transaction manager requests: what drivers send instead of the texts BEGIN, COMMIT, ROLLBACK and SAVE TRANSACTION.
//!
//! They do what the statements do, without a text to parse, and answer with the same errors and environment changes.

use duramen_access::cancel::CancelToken;
use duramen_base::SqlResult;
use duramen_program::sink::{Done, ResultSink};
use duramen_txn::IsolationLevel;

use crate::session::Session;

/// What a transaction begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begin {
    /// Becomes the session's level, and stays; `None` keeps the one it has.
    pub isolation: Option<IsolationLevel>,
    /// Empty for a transaction without a name.
    pub name: String,
}

/// One request of the transaction manager (MS-TDS, section "Transaction Manager Request").
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    Begin(Begin),
    /// COMMIT; with the transaction that begins at once.
    Commit(Option<Begin>),
    /// ROLLBACK of everything (an empty name, or the transaction's) or to a savepoint; with the transaction that begins
    /// at once.
    Rollback(String, Option<Begin>),
    Save(String),
}

impl Session {
    /// Runs one request; errors go to the sink, with a DONE that says so.
    pub fn manage_transaction(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) {
        self.request(sink, cancel, |session, sink| {
            session.state.error = 0;
            session.state.rowcount = 0;
            let Err(error) = session.managed(request, sink) else {
                return;
            };
            session.state.error = error.number;
            duramen_program::outcome::report(sink, &error.at_line(1));
            sink.done(&Done {
                error: true,
                in_transaction: session.in_transaction(),
                ..Done::default()
            });
        });
    }

    fn managed(
        &mut self,
        request: &TransactionRequest,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<()> {
        let again = match request {
            TransactionRequest::Begin(begin) => Some(begin),
            TransactionRequest::Commit(again) => {
                self.commit_transaction(None, sink)?;
                again.as_ref()
            }
            TransactionRequest::Rollback(name, again) => {
                self.rollback_transaction(Some(&**name).filter(|n| !n.is_empty()), sink)?;
                again.as_ref()
            }
            TransactionRequest::Save(name) => {
                self.save_transaction(name)?;
                None
            }
        };
        let Some(begin) = again else { return Ok(()) };
        if let Some(level) = begin.isolation {
            self.options.isolation = level;
            if let Some(open) = &self.transaction {
                open.set_isolation(level);
            }
            self.activity.note_options(&self.options);
        }
        self.begin_transaction(&begin.name, sink)
    }
}
