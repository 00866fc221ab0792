//! Requests: ALL_HEADERS, SQL batches and transaction manager requests. RPC calls are in [`crate::rpc`].

use crate::bytes::{Reader, TdsError, TdsResult, put_u16, put_u32, put_u64, to_units};
use crate::dialect::Dialect;

/// The headers in front of batches, RPCs and transaction manager requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AllHeaders {
    /// The descriptor that ENVCHANGE 8 gave out; 0 outside a transaction.
    pub transaction: u64,
    pub outstanding_requests: u32,
}

impl AllHeaders {
    pub fn parse(r: &mut Reader<'_>) -> TdsResult<AllHeaders> {
        let total = r.u32()? as usize;
        let body = total
            .checked_sub(4)
            .ok_or(TdsError::Malformed("ALL_HEADERS length"))?;
        let mut headers = Reader::new(r.take(body)?);
        let mut out = AllHeaders::default();
        while !headers.is_empty() {
            let len = headers.u32()? as usize;
            let body = len
                .checked_sub(4)
                .ok_or(TdsError::Malformed("header length"))?;
            let mut header = Reader::new(headers.take(body)?);
            if header.u16()? == 2 {
                out.transaction = header.u64()?;
                out.outstanding_requests = header.u32()?;
            }
        }
        Ok(out)
    }

    /// None, where the client does not send any.
    pub fn parse_as(dialect: Dialect, r: &mut Reader<'_>) -> TdsResult<AllHeaders> {
        match dialect.has_headers() {
            true => AllHeaders::parse(r),
            false => Ok(AllHeaders::default()),
        }
    }

    pub fn put(self, out: &mut Vec<u8>) {
        put_u32(out, 22);
        put_u32(out, 18);
        put_u16(out, 2);
        put_u64(out, self.transaction);
        put_u32(out, self.outstanding_requests.max(1));
    }
}

/// A SQL batch: text as code units, since unpaired surrogates occur.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    pub headers: AllHeaders,
    pub text: Vec<u16>,
}

impl Batch {
    pub fn parse(body: &[u8]) -> TdsResult<Batch> {
        Batch::parse_as(Dialect::V74, body)
    }

    pub fn parse_as(dialect: Dialect, body: &[u8]) -> TdsResult<Batch> {
        let mut r = Reader::new(body);
        let headers = AllHeaders::parse_as(dialect, &mut r)?;
        let text = r.rest();
        if !text.len().is_multiple_of(2) {
            return Err(TdsError::Malformed("batch text of odd length"));
        }
        Ok(Batch {
            headers,
            text: to_units(text),
        })
    }

    /// The text alone, with nothing of it there twice on the way.
    pub fn text_as(dialect: Dialect, body: &[u8]) -> TdsResult<String> {
        let mut r = Reader::new(body);
        AllHeaders::parse_as(dialect, &mut r)?;
        let text = r.rest();
        match text.len().is_multiple_of(2) {
            true => Ok(duramen_base::utf16::text_of_bytes(text)),
            false => Err(TdsError::Malformed("batch text of odd length")),
        }
    }

    pub fn build(text: &str, headers: AllHeaders) -> Vec<u8> {
        let mut out = Vec::with_capacity(22 + text.len() * 2);
        headers.put(&mut out);
        crate::bytes::put_utf16(&mut out, text);
        out
    }
}

/// A transaction manager request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransactionRequest {
    GetDtcAddress,
    Propagate,
    Begin {
        isolation: u8,
        name: String,
    },
    Promote,
    Commit {
        name: String,
        /// Begin a new one at once: isolation and name.
        begin: Option<(u8, String)>,
    },
    Rollback {
        name: String,
        begin: Option<(u8, String)>,
    },
    Save {
        name: String,
    },
}

impl TransactionRequest {
    pub fn parse(body: &[u8]) -> TdsResult<(AllHeaders, TransactionRequest)> {
        let mut r = Reader::new(body);
        let headers = AllHeaders::parse(&mut r)?;
        let request = match r.u16()? {
            0 => TransactionRequest::GetDtcAddress,
            1 => TransactionRequest::Propagate,
            5 => TransactionRequest::Begin {
                isolation: isolation(r.u8()?)?,
                name: name(&mut r)?,
            },
            6 => TransactionRequest::Promote,
            7 => TransactionRequest::Commit {
                name: name(&mut r)?,
                begin: begin_again(&mut r)?,
            },
            8 => TransactionRequest::Rollback {
                name: name(&mut r)?,
                begin: begin_again(&mut r)?,
            },
            9 => TransactionRequest::Save {
                name: name(&mut r)?,
            },
            _ => return Err(TdsError::Malformed("transaction manager request type")),
        };
        Ok((headers, request))
    }
}

/// The length counts bytes here, not characters.
fn name(r: &mut Reader<'_>) -> TdsResult<String> {
    Ok(String::from_utf16_lossy(&to_units(r.b_varbyte()?)))
}

fn isolation(byte: u8) -> TdsResult<u8> {
    if byte > 5 {
        return Err(TdsError::Malformed("isolation level"));
    }
    Ok(byte)
}

fn begin_again(r: &mut Reader<'_>) -> TdsResult<Option<(u8, String)>> {
    if r.u8()? & 1 == 0 {
        return Ok(None);
    }
    let level = isolation(r.u8()?)?;
    Ok(Some((level, name(r)?)))
}

#[cfg(test)]
mod tests;
