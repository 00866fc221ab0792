//! A bulk load on its worker: rows decoded from the feed as they come, given to the session one by one.

use duramen_base::{SqlError, SqlResult};
use duramen_session::BulkSource;
use duramen_tds::TdsError;
use duramen_tds::bulk::{BulkItem, BulkReader};
use duramen_types::{SqlType, Value};

use crate::backend::BackendSession;
use crate::connection::Connection;
use crate::feed::Piece;
use crate::reply::Reply;
use crate::request;

/// Runs a bulk load to its end: the whole message has been taken from the feed, whatever became of its rows.
pub fn run(
    connection: &Connection,
    session: &mut dyn BackendSession,
    reply: &mut Reply<'_>,
) -> Result<(), TdsError> {
    let mut rows = WireRows {
        connection,
        reader: BulkReader::speaking(connection.dialect(), connection.shared.max_message_bytes),
        ended: false,
        broken: None,
    };
    let expected = session.bulk_load(&mut rows, reply, &connection.cancel);
    if let Some(error) = rows.broken.filter(|e| {
        !matches!(
            e,
            TdsError::TooLarge(_) | TdsError::TooLong | TdsError::Unsupported(_)
        )
    }) {
        // The session has told it; the stream cannot be read further.
        return Err(error);
    }
    if !rows.ended {
        let read_on = || connection.look_again();
        connection.feed.discard(&connection.cancel, read_on);
    }
    if !expected {
        return Err(TdsError::Malformed("a bulk load without INSERT BULK"));
    }
    Ok(())
}

struct WireRows<'a> {
    connection: &'a Connection,
    reader: BulkReader,
    /// Nothing more comes from the feed.
    ended: bool,
    broken: Option<TdsError>,
}

impl WireRows<'_> {
    fn item(&mut self) -> SqlResult<Option<BulkItem>> {
        loop {
            match self.reader.next_item() {
                Ok(Some(item)) => return Ok(Some(item)),
                Ok(None) if self.ended => return Ok(None),
                Ok(None) => {}
                Err(error) => return Err(self.broken(error)),
            }
            match self.connection.feed.take(&self.connection.cancel) {
                (Piece::Bytes(bytes), read_on) => {
                    self.reader.push(&bytes);
                    if read_on {
                        self.connection.look_again();
                    }
                }
                (Piece::End, _) => {
                    self.ended = true;
                    return self.reader.finish().map_err(|e| self.broken(e));
                }
                (Piece::GivenUp, _) => {
                    self.ended = true;
                    self.connection.cancel.set();
                    return Err(duramen_session::cancelled());
                }
            }
        }
    }

    fn broken(&mut self, error: TdsError) -> SqlError {
        let reported = request::protocol_error(&error);
        self.broken = Some(error);
        reported
    }
}

impl BulkSource for WireRows<'_> {
    fn columns(&mut self) -> SqlResult<Vec<SqlType>> {
        match self.item()? {
            Some(BulkItem::Columns(types)) => Ok(types),
            _ => Err(self.broken(TdsError::Malformed("bulk load without columns"))),
        }
    }

    fn row(&mut self) -> SqlResult<Option<Vec<Value>>> {
        loop {
            match self.item()? {
                Some(BulkItem::Row(row)) => return Ok(Some(row)),
                // The message may end a little later than its rows.
                Some(BulkItem::Done) => {}
                Some(BulkItem::Columns(_)) => {
                    return Err(self.broken(TdsError::Malformed("columns of a bulk load")));
                }
                None => return Ok(None),
            }
        }
    }
}
