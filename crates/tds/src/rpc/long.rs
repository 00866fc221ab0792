//! RPC messages too long for memory: read from where they were put as they came in, a window at a time.
//!
//! A large value of a (max) type is not read at all: what is handed up says where in the message its bytes are. Everything
//! else is read as [`super::parse_as`] reads it.
//!
//! Invariants
//! 1. A window grows only while what begins in it does not end in it, and only as far as its source allows.
//!    [test: a_message_outside_memory_reads_as_one_in_it]
//! 2. Chunks are believed only as far as the message goes: a value that is handed up lies within it. [assert: rpc.long/2]

use duramen_types::{SqlType, TypeId, Value};

use super::{
    MAX_CALLS, MAX_PARAMETERS, ParameterData, Procedure, RpcCall, RpcParameter, TABLE_TYPE,
};
use crate::bytes::{Reader, TdsError, TdsResult};
use crate::dialect::Dialect;
use crate::request::AllHeaders;
use crate::typeinfo::{Layout, Place, TypeInfo};
use crate::value::{MAX_VALUE_BYTES, PLP_NULL, PLP_UNKNOWN, parse_value, string_value};

/// What is read at once.
const WINDOW: usize = 256 << 10;
/// What begins in so much of a window mostly ends in it.
const FIRST: usize = 8 << 10;
/// Longer values of a (max) type stay where they are.
const LONG: u64 = 64 << 10;
/// Chunks of a value that is not read, at most: each has to be remembered.
const MAX_CHUNKS: usize = 1 << 20;

/// A message outside memory.
pub trait Source {
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `out` with what stands from `at` on. The caller stays within the message.
    fn read(&self, at: u64, out: &mut [u8]) -> TdsResult<()>;

    /// Whether there is memory for a window of so many bytes.
    fn may_hold(&self, bytes: usize) -> bool;
}

/// The bytes of a large value: pieces of the message, one behind the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pieces {
    /// Where each begins in the message, and where it ends in the value.
    pieces: Vec<(u64, u64)>,
}

impl Pieces {
    /// Bytes of the value.
    pub fn len(&self) -> u64 {
        self.pieces.last().map_or(0, |(_, end)| *end)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where in the message the byte `at` of the value stands, and how many follow it there.
    pub fn find(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.pieces.partition_point(|(_, end)| *end <= at);
        let (from, end) = *self.pieces.get(i)?;
        let start = i.checked_sub(1).map_or(0, |before| self.pieces[before].1);
        Some((from + (at - start), end - at))
    }

    fn push(&mut self, from: u64, bytes: u64) -> TdsResult<()> {
        if self.pieces.len() >= MAX_CHUNKS {
            return Err(TdsError::TooLarge("chunks of a value"));
        }
        self.pieces.push((from, self.len() + bytes));
        Ok(())
    }
}

/// A place in a message, and what is in memory around it.
struct Cursor<'s> {
    source: &'s dyn Source,
    at: u64,
    window: Vec<u8>,
    /// Where the window begins.
    from: u64,
}

/// Reads the whole message of a client that speaks `dialect`.
pub fn parse_long(dialect: Dialect, source: &dyn Source) -> TdsResult<(AllHeaders, Vec<RpcCall>)> {
    let mut c = Cursor {
        source,
        at: 0,
        window: Vec::new(),
        from: 0,
    };
    let headers = c.parse(|r| AllHeaders::parse_as(dialect, r))?;
    let mut calls = Vec::new();
    while c.left() > 0 {
        if calls.len() >= MAX_CALLS {
            return Err(TdsError::TooLarge("RPC batch"));
        }
        calls.push(c.call()?);
    }
    match calls.is_empty() {
        true => Err(TdsError::Malformed("RPC request without a call")),
        false => Ok((headers, calls)),
    }
}

/// What stands before the bytes of a parameter.
struct Head {
    name: String,
    status: u8,
    /// `None`: a table follows.
    info: Option<TypeInfo>,
}

fn head(r: &mut Reader<'_>) -> TdsResult<Head> {
    let name = r.b_varchar()?;
    let status = r.u8()?;
    if status & 8 != 0 {
        return Err(TdsError::Unsupported("encrypted parameters"));
    }
    let info = match r.peek().ok_or(TdsError::Truncated)? {
        TABLE_TYPE => None,
        _ => Some(TypeInfo::parse(r, Place::Parameter)?),
    };
    Ok(Head { name, status, info })
}

/// Whether a value of the type may stay where it is.
fn stays(info: &TypeInfo) -> bool {
    let of_max = [TypeId::VarChar, TypeId::NVarChar, TypeId::VarBinary];
    info.layout == Layout::Plp && of_max.contains(&info.ty.id)
}

impl Cursor<'_> {
    fn left(&self) -> u64 {
        self.source.len() - self.at
    }

    /// At least `n` bytes from here on, or all that are left.
    fn peek(&mut self, n: usize) -> TdsResult<&[u8]> {
        let n = usize::try_from(self.left()).unwrap_or(usize::MAX).min(n);
        let skip = self.at.checked_sub(self.from);
        let skip = skip.and_then(|s| usize::try_from(s).ok());
        let there = skip.filter(|s| *s <= self.window.len() && self.window.len() - s >= n);
        if let Some(skip) = there {
            return Ok(&self.window[skip..]);
        }
        let bytes = n.max(WINDOW);
        let bytes = usize::try_from(self.left())
            .unwrap_or(usize::MAX)
            .min(bytes);
        if bytes > WINDOW && !self.source.may_hold(bytes) {
            return Err(TdsError::TooLarge("request"));
        }
        self.window.clear();
        self.window.shrink_to(WINDOW);
        self.window.resize(bytes, 0);
        self.from = self.at;
        self.source.read(self.at, &mut self.window)?;
        Ok(&self.window)
    }

    /// Reads something that is whole in memory.
    fn parse<T>(&mut self, read: impl Fn(&mut Reader<'_>) -> TdsResult<T>) -> TdsResult<T> {
        let (mut most, left) = (FIRST, self.left());
        loop {
            let bytes = self.peek(most)?;
            let all = bytes.len() as u64 >= left;
            let mut r = Reader::new(bytes);
            match read(&mut r) {
                Err(TdsError::Truncated) if !all => most = bytes.len().max(most) * 4,
                Err(e) => return Err(e),
                Ok(found) => {
                    self.at += r.position() as u64;
                    return Ok(found);
                }
            }
        }
    }

    fn call(&mut self) -> TdsResult<RpcCall> {
        let (procedure, options) = self.parse(|r| Ok((Procedure::parse(r)?, r.u16()?)))?;
        let mut out = RpcCall {
            procedure,
            options,
            parameters: Vec::new(),
            no_execute: false,
        };
        while self.left() > 0 {
            match self.peek(1)?[0] {
                0xFF | 0x80 => {
                    self.at += 1;
                    break;
                }
                0xFE => {
                    self.at += 1;
                    out.no_execute = true;
                }
                _ if out.parameters.len() >= MAX_PARAMETERS => {
                    return Err(TdsError::TooManyParameters);
                }
                _ => out.parameters.push(self.parameter()?),
            }
        }
        Ok(out)
    }

    fn parameter(&mut self) -> TdsResult<RpcParameter> {
        let before = self.at;
        let Head { name, status, info } = self.parse(head)?;
        let data = match info {
            Some(info) if stays(&info) => self.large(info.ty)?,
            Some(info) => match self.parse(|r| parse_value(r, &info)) {
                Ok(value) => ParameterData::Value(info.ty, value),
                Err(TdsError::Invalid(_)) => {
                    self.at = before;
                    return self.parse(super::parameter);
                }
                Err(error) => return Err(error),
            },
            None => {
                self.at = before;
                return self.parse(super::parameter);
            }
        };
        Ok(RpcParameter {
            name,
            output: status & 1 != 0,
            default: status & 2 != 0,
            data,
        })
    }

    /// A value in chunks, read only when it is not long.
    fn large(&mut self, ty: SqlType) -> TdsResult<ParameterData> {
        let total = self.parse(|r| r.u64())?;
        if total == PLP_NULL {
            return Ok(ParameterData::Value(ty, Value::Null));
        }
        if total != PLP_UNKNOWN && total > MAX_VALUE_BYTES {
            return Err(TdsError::TooLong);
        }
        let mut pieces = Pieces::default();
        loop {
            let bytes = u64::from(self.parse(|r| r.u32())?);
            if bytes == 0 {
                break;
            }
            if bytes > self.left() {
                return Err(TdsError::Truncated);
            }
            pieces.push(self.at, bytes)?;
            self.at += bytes;
            if pieces.len() > MAX_VALUE_BYTES {
                return Err(TdsError::TooLong);
            }
        }
        if total != PLP_UNKNOWN && total != pieces.len() {
            return Err(TdsError::Malformed("length of a large value"));
        }
        if ty.id.is_nchar() && !pieces.len().is_multiple_of(2) {
            return Err(TdsError::Malformed("UTF-16 text of odd length"));
        }
        debug_assert!(
            pieces.len() <= self.source.len(),
            "rpc.long/2: a value is longer than its message"
        );
        if pieces.len() > LONG {
            return Ok(ParameterData::Long(ty, pieces));
        }
        let mut bytes = vec![0; pieces.len() as usize];
        let mut done = 0;
        while done < bytes.len() {
            let (from, n) = pieces.find(done as u64).ok_or(TdsError::Truncated)?;
            let end = done + n as usize;
            self.source.read(from, &mut bytes[done..end])?;
            done = end;
        }
        Ok(ParameterData::Value(ty, string_value(&ty, bytes)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{put_b_varchar, put_u16, put_u32, put_u64};
    use crate::rpc::{ProcId, parse};
    use crate::typeinfo::put_type_info;
    use crate::value::put_value;

    struct Kept(Vec<u8>);

    impl Source for Kept {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, at: u64, out: &mut [u8]) -> TdsResult<()> {
            let at = at as usize;
            out.copy_from_slice(&self.0[at..at + out.len()]);
            Ok(())
        }

        fn may_hold(&self, _: usize) -> bool {
            true
        }
    }

    /// The same calls with their long values in memory.
    fn read(calls: Vec<RpcCall>, message: &[u8]) -> Vec<RpcCall> {
        let mut calls = calls;
        for parameter in calls.iter_mut().flat_map(|c| &mut c.parameters) {
            if let ParameterData::Long(ty, pieces) = &parameter.data {
                let mut bytes = Vec::new();
                while (bytes.len() as u64) < pieces.len() {
                    let (from, n) = pieces.find(bytes.len() as u64).unwrap();
                    bytes.extend_from_slice(&message[from as usize..(from + n) as usize]);
                }
                assert!(bytes.len() as u64 > LONG);
                parameter.data = ParameterData::Value(*ty, string_value(ty, bytes).unwrap());
            }
        }
        calls
    }

    fn put_chunks(out: &mut Vec<u8>, bytes: &[u8], chunk: usize, known: bool) {
        put_u64(
            out,
            if known {
                bytes.len() as u64
            } else {
                PLP_UNKNOWN
            },
        );
        for part in bytes.chunks(chunk) {
            put_u32(out, part.len() as u32);
            out.extend_from_slice(part);
        }
        put_u32(out, 0);
    }

    fn message(sizes: &[(usize, usize)]) -> Vec<u8> {
        let mut body = Vec::new();
        AllHeaders::default().put(&mut body);
        for (at, of_call) in sizes.chunks(3).enumerate() {
            if at > 0 {
                body.push(0xFF);
            }
            put_u16(&mut body, 0xFFFF);
            put_u16(&mut body, ProcId::ExecuteSql as u16);
            put_u16(&mut body, 0);
            let text = Value::nvarchar(&"SELECT 1 ".repeat(900));
            let types = [
                SqlType::VARBINARY_MAX,
                SqlType::NVARCHAR_MAX,
                SqlType::VARCHAR_MAX,
            ];
            for (i, (bytes, chunk)) in of_call.iter().enumerate() {
                put_b_varchar(&mut body, "");
                body.push(0);
                put_type_info(&mut body, &SqlType::NTEXT);
                put_value(&mut body, &SqlType::NTEXT, &text, Place::Parameter).unwrap();
                put_b_varchar(&mut body, "@p");
                body.push(1);
                put_type_info(&mut body, &types[i]);
                let bytes: Vec<u8> = (0..bytes & !1).map(|n| (n * 31 % 251) as u8).collect();
                put_chunks(&mut body, &bytes, *chunk, i == 0);
            }
        }
        body
    }

    #[test]
    fn a_message_outside_memory_reads_as_one_in_it() {
        for sizes in [
            &[(10, 3), (0, 1), (200_000, 7)][..],
            &[(65_536, 65_536), (65_538, 1), (600_000, 300_000)],
            &[(700_000, 8000), (70_000, 64), (1, 1), (300_000, 1 << 20)],
        ] {
            let body = message(sizes);
            let (headers, whole) = parse(&body).unwrap();
            let (again, long) = parse_long(Dialect::V74, &Kept(body.clone())).unwrap();
            assert_eq!(again, headers);
            assert_eq!(read(long, &body), whole);
        }
    }

    /// One byte more than any value may have, told at the beginning or found in the chunks, whatever there is of them.
    #[test]
    fn a_value_of_more_than_2_gb_is_refused() {
        struct Zeros(Vec<u8>);
        impl Source for Zeros {
            fn len(&self) -> u64 {
                5 << 30
            }

            fn read(&self, at: u64, out: &mut [u8]) -> TdsResult<()> {
                out.fill(0);
                let from = usize::try_from(at).unwrap().min(self.0.len());
                let n = out.len().min(self.0.len() - from);
                out[..n].copy_from_slice(&self.0[from..from + n]);
                Ok(())
            }

            fn may_hold(&self, _: usize) -> bool {
                false
            }
        }
        for stated in [0x8000_0000, PLP_UNKNOWN] {
            let mut body = Vec::new();
            AllHeaders::default().put(&mut body);
            put_u16(&mut body, 0xFFFF);
            put_u16(&mut body, ProcId::ExecuteSql as u16);
            put_u16(&mut body, 0);
            put_b_varchar(&mut body, "@p");
            body.push(0);
            put_type_info(&mut body, &SqlType::VARBINARY_MAX);
            put_u64(&mut body, stated);
            put_u32(&mut body, 0x8000_0000);
            let read = parse_long(Dialect::V74, &Zeros(body));
            assert_eq!(read.unwrap_err(), TdsError::TooLong);
        }
    }

    /// Whatever is cut off, both say the same, and neither believes a length.
    #[test]
    fn a_message_that_ends_early_is_refused() {
        let body = message(&[(66_000, 1000), (300, 100)]);
        let cuts = (0..200).chain(body.len() - 400..body.len());
        for end in cuts.chain((0..body.len()).step_by(997)) {
            let whole = parse(&body[..end]);
            let kept = Kept(body[..end].to_vec());
            let long = parse_long(Dialect::V74, &kept);
            match (whole, long) {
                (Ok((_, whole)), Ok((_, long))) => assert_eq!(read(long, &body), whole),
                (Err(_), Err(_)) => {}
                other => panic!("{end}: {other:?}"),
            }
        }
    }
}
