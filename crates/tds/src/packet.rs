//! Packets and messages: the 8-byte header, whole messages in, packets out.
//!
//! A message is a run of packets of one type, the last of which has the end-of-message bit. Everything above
//! works on whole messages (requests) or on a byte stream cut into packets at any byte (replies).

use crate::bytes::{TdsError, TdsResult};

pub const HEADER_BYTES: usize = 8;
/// What both sides use until ENVCHANGE 4 says otherwise.
pub const DEFAULT_PACKET_BYTES: usize = 4096;
pub const MIN_PACKET_BYTES: usize = 512;
pub const MAX_PACKET_BYTES: usize = 32_767;

/// The longest message of which only a part is in memory: a value of 2 GB, and what is beside it.
pub const MAX_LONG_BYTES: u64 = 3 << 30;

pub const STATUS_EOM: u8 = 0x01;
pub const STATUS_IGNORE: u8 = 0x02;
pub const STATUS_RESET: u8 = 0x08;
pub const STATUS_RESET_KEEP_TRAN: u8 = 0x10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketType {
    SqlBatch,
    OldLogin,
    Rpc,
    Reply,
    Attention,
    BulkLoad,
    FederatedAuth,
    TransactionManager,
    Login7,
    Sspi,
    Prelogin,
}

impl PacketType {
    pub fn from_byte(byte: u8) -> Option<PacketType> {
        Some(match byte {
            0x01 => PacketType::SqlBatch,
            0x02 => PacketType::OldLogin,
            0x03 => PacketType::Rpc,
            0x04 => PacketType::Reply,
            0x06 => PacketType::Attention,
            0x07 => PacketType::BulkLoad,
            0x08 => PacketType::FederatedAuth,
            0x0E => PacketType::TransactionManager,
            0x10 => PacketType::Login7,
            0x11 => PacketType::Sspi,
            0x12 => PacketType::Prelogin,
            _ => return None,
        })
    }

    pub fn to_byte(self) -> u8 {
        match self {
            PacketType::SqlBatch => 0x01,
            PacketType::OldLogin => 0x02,
            PacketType::Rpc => 0x03,
            PacketType::Reply => 0x04,
            PacketType::Attention => 0x06,
            PacketType::BulkLoad => 0x07,
            PacketType::FederatedAuth => 0x08,
            PacketType::TransactionManager => 0x0E,
            PacketType::Login7 => 0x10,
            PacketType::Sspi => 0x11,
            PacketType::Prelogin => 0x12,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: PacketType,
    pub status: u8,
    /// Of the whole packet, header included.
    pub length: u16,
    pub spid: u16,
    pub id: u8,
}

impl Header {
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> TdsResult<Header> {
        let kind = PacketType::from_byte(bytes[0]).ok_or(TdsError::Malformed("packet type"))?;
        let length = u16::from_be_bytes([bytes[2], bytes[3]]);
        if (length as usize) < HEADER_BYTES || length as usize > MAX_PACKET_BYTES {
            return Err(TdsError::Malformed("packet length"));
        }
        Ok(Header {
            kind,
            status: bytes[1],
            length,
            spid: u16::from_be_bytes([bytes[4], bytes[5]]),
            id: bytes[6],
        })
    }

    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let length = self.length.to_be_bytes();
        let spid = self.spid.to_be_bytes();
        [
            self.kind.to_byte(),
            self.status,
            length[0],
            length[1],
            spid[0],
            spid[1],
            self.id,
            0,
        ]
    }
}

/// A whole message: the type and the joined bodies of its packets. Of a bulk load, which may be of any length, one packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub kind: PacketType,
    /// Its beginning is here.
    pub first: bool,
    /// Its end is here.
    pub last: bool,
    /// The client asked for a session reset before this request.
    pub reset: bool,
    /// ... but wants to keep its transaction.
    pub reset_keep_transaction: bool,
    /// The client gave up while sending: answer, but run nothing.
    pub ignore: bool,
    /// It was longer than a message may be: its body is not here.
    pub too_large: bool,
    /// So many bytes at its beginning are elsewhere: see [`Assembler::take_long`].
    pub taken: u64,
    pub body: Vec<u8>,
}

/// Joins packets into messages. Bytes go in as they arrive; at most one partial packet and one partial message
/// are kept.
#[derive(Debug)]
pub struct Assembler {
    raw: Vec<u8>,
    /// The first bytes of `raw` already handed out.
    used: usize,
    partial: Option<Message>,
    /// A bulk load has begun and not ended.
    bulk: bool,
    packets: u64,
    max_packet: usize,
    max_message: usize,
    /// Longer messages are read to their end and not kept.
    discards: bool,
}

/// Bytes from which on a message grows by a part of what it has, not to twice as much: nobody asks for room that is not used.
const LARGE: usize = 2 << 20;

fn make_room(body: &mut Vec<u8>, more: usize) {
    if body.len() >= LARGE && body.capacity() - body.len() < more {
        body.reserve_exact(more.max(body.len() / 8));
    }
}

fn message_of(kind: PacketType) -> Message {
    Message {
        kind,
        first: true,
        last: true,
        reset: false,
        reset_keep_transaction: false,
        ignore: false,
        too_large: false,
        taken: 0,
        body: Vec::new(),
    }
}

impl Assembler {
    /// `max_packet`: a longer packet is refused; `max_message`: a longer message is refused.
    pub fn new(max_packet: usize, max_message: usize) -> Assembler {
        Assembler {
            raw: Vec::new(),
            used: 0,
            partial: None,
            bulk: false,
            packets: 0,
            max_packet,
            max_message,
            discards: false,
        }
    }

    /// Packets taken since this was asked last.
    pub fn take_packet_count(&mut self) -> u64 {
        std::mem::take(&mut self.packets)
    }

    /// New limits. From now on a message that is too large is read to its end without being kept, and said to be so: whoever
    /// sends it is still sending when it could first be answered.
    pub fn set_limits(&mut self, max_packet: usize, max_message: usize) {
        self.max_packet = max_packet;
        self.max_message = max_message;
        self.discards = true;
    }

    /// There is no memory for the message that is coming in: it is read to its end and said to be too large.
    pub fn discard(&mut self) {
        if let Some(message) = &mut self.partial
            && self.discards
        {
            message.too_large = true;
            message.body = Vec::new();
        }
    }

    /// An RPC message is coming in of which more than `most` bytes are here.
    pub fn is_long(&self, most: usize) -> bool {
        let long = |m: &Message| m.kind == PacketType::Rpc && m.body.len() > most;
        self.discards && self.partial.as_ref().is_some_and(long)
    }

    /// What is here of the message that is coming in: it is the caller's from now on, and the message may be as long as
    /// [`MAX_LONG_BYTES`].
    pub fn take_long(&mut self) -> Vec<u8> {
        let Some(message) = &mut self.partial else {
            return Vec::new();
        };
        message.taken += message.body.len() as u64;
        std::mem::take(&mut message.body)
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
    }

    /// Nothing is buffered: the peer stands between two messages.
    pub fn is_idle(&self) -> bool {
        self.used == self.raw.len() && self.partial.is_none() && !self.bulk
    }

    /// Memory held for incomplete input.
    pub fn buffered_bytes(&self) -> usize {
        self.raw.capacity() + self.partial.as_ref().map_or(0, |m| m.body.capacity())
    }

    /// Bytes of input that is not whole yet.
    pub fn incoming_bytes(&self) -> usize {
        self.raw.len() + self.partial.as_ref().map_or(0, |m| m.body.len())
    }

    /// The next whole message, if it has arrived. After an error the stream cannot be read further.
    pub fn next_message(&mut self) -> TdsResult<Option<Message>> {
        loop {
            let Some((header, body)) = self.next_packet()? else {
                self.compact();
                return Ok(None);
            };
            let ends = header.status & STATUS_EOM != 0;
            if self.partial.is_none() && header.kind == PacketType::BulkLoad {
                let first = !std::mem::replace(&mut self.bulk, !ends);
                return Ok(Some(Message {
                    first,
                    last: ends,
                    ignore: ends && header.status & STATUS_IGNORE != 0,
                    body,
                    ..message_of(header.kind)
                }));
            }
            let given_up = std::mem::take(&mut self.bulk);
            let first = self.partial.is_none();
            let message = self.partial.get_or_insert(message_of(header.kind));
            if message.kind != header.kind || given_up {
                // An attention may cut into a message that the client has given up; nothing else may.
                if header.kind != PacketType::Attention {
                    return Err(TdsError::Malformed(
                        "packet of another type inside a message",
                    ));
                }
                self.partial = None;
                return Ok(Some(message_of(PacketType::Attention)));
            }
            if first {
                message.reset = header.status & STATUS_RESET != 0;
                message.reset_keep_transaction = header.status & STATUS_RESET_KEEP_TRAN != 0;
            }
            let too_long = match message.taken {
                0 => message.body.len() + body.len() > self.max_message,
                taken => taken + body.len() as u64 > MAX_LONG_BYTES,
            };
            if too_long {
                if !self.discards {
                    return Err(TdsError::TooLarge("message"));
                }
                message.too_large = true;
                message.body = Vec::new();
            }
            if message.too_large {
                // To its end, after which the stream goes on.
            } else if first {
                message.body = body;
            } else {
                make_room(&mut message.body, body.len());
                message.body.extend_from_slice(&body);
            }
            if ends {
                message.ignore = header.status & STATUS_IGNORE != 0;
                let message = self.partial.take();
                self.compact();
                return Ok(message);
            }
        }
    }

    /// The next whole packet, for the phase in which packets carry TLS bytes.
    pub fn next_packet(&mut self) -> TdsResult<Option<(Header, Vec<u8>)>> {
        let raw = &self.raw[self.used..];
        let Some(head) = raw.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let header = Header::parse(head)?;
        let length = header.length as usize;
        if length > self.max_packet {
            return Err(TdsError::TooLarge("packet"));
        }
        if raw.len() < length {
            return Ok(None);
        }
        let body = raw[HEADER_BYTES..length].to_vec();
        self.used += length;
        self.packets += 1;
        Ok(Some((header, body)))
    }

    /// Takes what was pushed but not yet consumed (after a switch from packets to raw TLS records).
    pub fn take_unread(&mut self) -> Vec<u8> {
        let rest = self.raw[self.used..].to_vec();
        self.raw = Vec::new();
        self.used = 0;
        rest
    }

    fn compact(&mut self) {
        if self.used == self.raw.len() {
            // An idle connection keeps no buffer.
            self.raw = Vec::new();
        } else if self.used > 0 {
            self.raw.drain(..self.used);
        }
        self.used = 0;
    }
}

/// Bytes that a message has room for from its first token on: those of a small result with its columns.
const SHORT: usize = 512;

/// Cuts one message's bytes into packets of the negotiated size.
///
/// A full packet is handed out only when bytes beyond it exist, so the last one is never empty unless the whole
/// message is.
#[derive(Debug)]
pub struct PacketWriter {
    kind: PacketType,
    spid: u16,
    packet_bytes: usize,
    id: u8,
    /// Bytes before `used` have left in packets.
    body: Vec<u8>,
    used: usize,
    first_status: u8,
}

impl PacketWriter {
    pub fn new(kind: PacketType, packet_bytes: usize, spid: u16) -> PacketWriter {
        PacketWriter {
            kind,
            spid,
            packet_bytes: packet_bytes.clamp(MIN_PACKET_BYTES, MAX_PACKET_BYTES),
            id: 1,
            body: Vec::new(),
            used: 0,
            first_status: 0,
        }
    }

    /// Status bits for the first packet (session reset).
    pub fn with_first_status(mut self, status: u8) -> PacketWriter {
        self.first_status = status;
        self
    }

    /// The buffer to append tokens to. Only append.
    pub fn body(&mut self) -> &mut Vec<u8> {
        // Most messages are short. Growing from nothing would ask the allocator six times, and it moves what it has given out
        // under a lock that threads share.
        if self.body.capacity() == 0 {
            self.body.reserve(SHORT);
        }
        &mut self.body
    }

    /// Nothing has been written to this message yet.
    pub fn is_untouched(&self) -> bool {
        self.id == 1 && self.body.is_empty()
    }

    /// Bytes waiting to leave.
    pub fn pending_bytes(&self) -> usize {
        self.body.len() - self.used
    }

    /// A full packet is ready.
    pub fn has_full(&self) -> bool {
        self.pending_bytes() > self.packet_bytes - HEADER_BYTES
    }

    /// Appends the next full packet that is not the last to `out`; false when there is none yet.
    pub fn take_full(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.has_full() {
            return false;
        }
        let len = self.packet_bytes - HEADER_BYTES;
        self.emit(len, 0, out);
        if self.used >= 64 * 1024 || self.used == self.body.len() {
            self.body.drain(..self.used);
            self.used = 0;
        }
        true
    }

    /// Appends a packet with whatever is pending, without ending the message; for replies that are to be seen early.
    pub fn take_partial(&mut self, out: &mut Vec<u8>) -> bool {
        if self.take_full(out) {
            return true;
        }
        // The last byte stays, so that the packet that ends the message has a body.
        let len = self.pending_bytes().saturating_sub(1);
        if len == 0 {
            return false;
        }
        self.emit(len, 0, out);
        true
    }

    /// Appends every packet still to be sent, the last with the end-of-message bit.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        while self.take_full(out) {}
        let len = self.pending_bytes();
        self.emit(len, STATUS_EOM, out);
    }

    fn emit(&mut self, len: usize, status: u8, out: &mut Vec<u8>) {
        let header = Header {
            kind: self.kind,
            status: status | std::mem::take(&mut self.first_status),
            length: (len + HEADER_BYTES) as u16,
            spid: self.spid,
            id: self.id,
        };
        out.reserve(HEADER_BYTES + len);
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(&self.body[self.used..self.used + len]);
        self.used += len;
        self.id = self.id.wrapping_add(1).max(1);
    }
}

/// A whole message as packets.
pub fn to_packets(
    kind: PacketType,
    body: &[u8],
    packet_bytes: usize,
    spid: u16,
    status: u8,
) -> Vec<u8> {
    let mut writer = PacketWriter::new(kind, packet_bytes, spid).with_first_status(status);
    writer.body().extend_from_slice(body);
    let mut out = Vec::with_capacity(body.len() + 64);
    writer.finish(&mut out);
    out
}

#[cfg(test)]
mod tests;
