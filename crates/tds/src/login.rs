//! LOGIN7: who the client is and what it wants.
//!
//! A fixed part of 94 bytes with `{offset, length}` pairs, then the data in whatever order the client likes.

use duramen_base::SqlError;

use crate::bytes::{Reader, TdsError, TdsResult, put_u16, put_u32, to_units};

/// LOGIN7 messages are shorter than this.
pub const MAX_LOGIN_BYTES: usize = 128 * 1024 - 1;
pub const TDS_7_2: u32 = 0x7209_0002;
pub const TDS_7_4: u32 = 0x7400_0004;
pub const TDS_8_0: u32 = 0x0800_0000;

const FIXED_BYTES: usize = 94;
/// The same before TDS 7.2, which had no field behind the attached file's name.
const OLD_FIXED_BYTES: usize = 86;
const FEATURE_END: u8 = 0xFF;
/// The one feature this server may acknowledge.
pub const FEATURE_UTF8: u8 = 0x0A;
pub const FEATURE_FED_AUTH: u8 = 0x02;

/// A parsed LOGIN7. The password is kept as text until the login is decided; whoever holds it drops it then.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Login {
    pub tds_version: u32,
    /// 0 means the server's default.
    pub packet_bytes: u32,
    pub client_version: u32,
    pub client_pid: u32,
    pub flags1: u8,
    pub flags2: u8,
    pub type_flags: u8,
    pub flags3: u8,
    pub time_zone_minutes: i32,
    pub lcid: u32,
    pub host: String,
    pub user: String,
    pub password: String,
    pub app: String,
    pub server: String,
    pub library: String,
    pub language: String,
    pub database: String,
    pub client_id: [u8; 6],
    pub attach_file: String,
    pub new_password: Option<String>,
    /// `{feature id, data}` in the order asked.
    pub features: Vec<(u8, Vec<u8>)>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the passwords.
        f.debug_struct("Login")
            .field("tds_version", &format_args!("{:#x}", self.tds_version))
            .field("user", &self.user)
            .field("app", &self.app)
            .field("library", &self.library)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

impl Login {
    /// The client library speaks ODBC or OLE DB: the session starts with the ANSI options on.
    pub fn ansi_defaults(&self) -> bool {
        self.flags2 & 0x02 != 0 || self.type_flags & 0x10 != 0
    }

    /// The client wants Windows authentication.
    pub fn integrated_security(&self) -> bool {
        self.flags2 & 0x80 != 0
    }

    pub fn read_only_intent(&self) -> bool {
        self.type_flags & 0x20 != 0
    }

    pub fn asks_feature(&self, id: u8) -> bool {
        self.features.iter().any(|(feature, _)| *feature == id)
    }

    pub fn parse(body: &[u8]) -> TdsResult<Login> {
        if body.len() > MAX_LOGIN_BYTES {
            return Err(TdsError::TooLarge("LOGIN7"));
        }
        let mut r = Reader::new(body);
        let length = r.u32()? as usize;
        if length < OLD_FIXED_BYTES || length > body.len() {
            return Err(TdsError::Malformed("LOGIN7 length"));
        }
        let body = &body[..length];
        let mut out = Login {
            tds_version: r.u32()?,
            packet_bytes: r.u32()?,
            client_version: r.u32()?,
            client_pid: r.u32()?,
            ..Login::default()
        };
        let _connection_id = r.u32()?;
        out.flags1 = r.u8()?;
        out.flags2 = r.u8()?;
        out.type_flags = r.u8()?;
        out.flags3 = r.u8()?;
        out.time_zone_minutes = r.i32()?;
        out.lcid = r.u32()?;
        out.host = text(body, &mut r)?;
        out.user = text(body, &mut r)?;
        out.password = password(body, &mut r)?;
        out.app = text(body, &mut r)?;
        out.server = text(body, &mut r)?;
        let (ext_offset, ext_length) = (r.u16()? as usize, r.u16()? as usize);
        out.library = text(body, &mut r)?;
        out.language = text(body, &mut r)?;
        out.database = text(body, &mut r)?;
        out.client_id = r.array()?;
        let _sspi = (r.u16()?, r.u16()?);
        out.attach_file = text(body, &mut r)?;
        // Before 7.2 the texts begin here (FreeTDS with TDS 7.1): only a client that changes its password has one.
        if out.flags3 & 0x01 != 0 {
            out.new_password = Some(password(body, &mut r)?);
        }
        if out.flags3 & 0x10 != 0 && ext_length >= 4 {
            let mut at = Reader::new(body);
            at.take(ext_offset).map_err(|_| OUTSIDE)?;
            let block = at.u32().map_err(|_| OUTSIDE)? as usize;
            out.features = features(body.get(block..).ok_or(OUTSIDE)?)?;
        }
        Ok(out)
    }

    /// The bytes of this login, for the client side.
    pub fn build(&self) -> Vec<u8> {
        let mut data: Vec<u8> = Vec::new();
        let mut pairs: Vec<u8> = Vec::new();
        let mut put = |text: &str, scrambled: bool, pairs: &mut Vec<u8>| {
            let units: Vec<u16> = text.encode_utf16().take(128).collect();
            put_u16(pairs, (FIXED_BYTES + data.len()) as u16);
            put_u16(pairs, units.len() as u16);
            for byte in units.iter().flat_map(|unit| unit.to_le_bytes()) {
                data.push(if scrambled { scramble(byte) } else { byte });
            }
        };
        put(&self.host, false, &mut pairs);
        put(&self.user, false, &mut pairs);
        put(&self.password, true, &mut pairs);
        put(&self.app, false, &mut pairs);
        put(&self.server, false, &mut pairs);
        let mut tail: Vec<u8> = Vec::new();
        put(&self.library, false, &mut tail);
        put(&self.language, false, &mut tail);
        put(&self.database, false, &mut tail);
        tail.extend_from_slice(&self.client_id);
        put("", false, &mut tail);
        put(&self.attach_file, false, &mut tail);
        put("", false, &mut tail);
        put_u32(&mut tail, 0);

        let mut flags3 = self.flags3 & !0x10;
        if self.features.is_empty() {
            put_u16(&mut pairs, FIXED_BYTES as u16);
            put_u16(&mut pairs, 0);
        } else {
            flags3 |= 0x10;
            let at = FIXED_BYTES + data.len();
            put_u16(&mut pairs, at as u16);
            put_u16(&mut pairs, 4);
            put_u32(&mut data, at as u32 + 4);
            for (id, bytes) in &self.features {
                data.push(*id);
                put_u32(&mut data, bytes.len() as u32);
                data.extend_from_slice(bytes);
            }
            data.push(FEATURE_END);
        }

        let mut out = Vec::with_capacity(FIXED_BYTES + data.len());
        put_u32(&mut out, (FIXED_BYTES + data.len()) as u32);
        put_u32(&mut out, self.tds_version);
        put_u32(&mut out, self.packet_bytes);
        put_u32(&mut out, self.client_version);
        put_u32(&mut out, self.client_pid);
        put_u32(&mut out, 0);
        out.extend_from_slice(&[self.flags1, self.flags2, self.type_flags, flags3]);
        put_u32(&mut out, self.time_zone_minutes as u32);
        put_u32(&mut out, self.lcid);
        out.extend_from_slice(&pairs);
        out.extend_from_slice(&tail);
        debug_assert_eq!(out.len(), FIXED_BYTES);
        out.extend_from_slice(&data);
        out
    }
}

const OUTSIDE: TdsError = TdsError::Malformed("LOGIN7 field outside the message");

fn field<'a>(body: &'a [u8], r: &mut Reader<'_>) -> TdsResult<&'a [u8]> {
    let offset = r.u16()? as usize;
    let units = r.u16()? as usize;
    if units == 0 {
        // The offset of an empty field may be anything.
        return Ok(&[]);
    }
    if units > 4096 {
        return Err(TdsError::Malformed("LOGIN7 field too long"));
    }
    body.get(offset..)
        .and_then(|rest| rest.get(..units * 2))
        .ok_or(OUTSIDE)
}

fn text(body: &[u8], r: &mut Reader<'_>) -> TdsResult<String> {
    Ok(String::from_utf16_lossy(&to_units(field(body, r)?)))
}

fn password(body: &[u8], r: &mut Reader<'_>) -> TdsResult<String> {
    let clear: Vec<u8> = field(body, r)?.iter().map(|b| unscramble(*b)).collect();
    Ok(String::from_utf16_lossy(&to_units(&clear)))
}

fn scramble(byte: u8) -> u8 {
    byte.rotate_left(4) ^ 0xA5
}

fn unscramble(byte: u8) -> u8 {
    (byte ^ 0xA5).rotate_left(4)
}

fn features(bytes: &[u8]) -> TdsResult<Vec<(u8, Vec<u8>)>> {
    let mut r = Reader::new(bytes);
    let mut out = Vec::new();
    loop {
        let id = r.u8()?;
        if id == FEATURE_END {
            return Ok(out);
        }
        if out.len() >= 64 {
            return Err(TdsError::Malformed("too many login features"));
        }
        let len = r.u32()? as usize;
        out.push((id, r.take(len)?.to_vec()));
    }
}

/// What a client of before TDS 7.0 hears: an ERROR and a DONE as it reads them, one byte a character.
pub fn refusal_of_old(error: &SqlError, server: &str) -> Vec<u8> {
    const ERROR: u8 = 0xAA;
    const DONE: u8 = 0xFD;
    let plain = |text: &str, most: usize| -> Vec<u8> {
        let byte = |c: char| u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(b'?');
        text.chars().take(most).map(byte).collect()
    };
    let (text, server) = (plain(&error.message, 2000), plain(server, 255));
    let mut token = error.number.to_le_bytes().to_vec();
    token.extend([error.state, error.severity]);
    put_u16(&mut token, text.len() as u16);
    token.extend(text);
    token.push(server.len() as u8);
    token.extend(server);
    // No procedure, line 1.
    token.push(0);
    put_u16(&mut token, 1);
    let mut out = vec![ERROR];
    put_u16(&mut out, token.len() as u16);
    out.extend(token);
    out.push(DONE);
    put_u16(&mut out, crate::token::status::ERROR);
    put_u16(&mut out, 0);
    out.extend(0u32.to_le_bytes());
    out
}

#[cfg(test)]
mod tests;
