//! PRELOGIN: versions and the encryption bargain.
//!
//! The body is a table of `{token, offset, length}` ended by 0xFF, then the data.

use crate::bytes::{Reader, TdsError, TdsResult};

const VERSION: u8 = 0x00;
const ENCRYPTION: u8 = 0x01;
const INSTANCE: u8 = 0x02;
const THREAD: u8 = 0x03;
const MARS: u8 = 0x04;
const TRACE: u8 = 0x05;
const FED_AUTH: u8 = 0x06;
const END: u8 = 0xFF;

/// The encryption byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encryption {
    /// Only the login is encrypted.
    Off,
    On,
    NotSupported,
    Required,
    /// TLS from the first byte, as it already is (go-mssqldb says so); other strict clients send one of the others.
    Strict,
}

impl Encryption {
    pub fn from_byte(byte: u8) -> Option<Encryption> {
        // 0x80 (client certificate) and 0x20 (extension) are masked.
        Some(match byte & 0x1F {
            0 => Encryption::Off,
            1 => Encryption::On,
            2 => Encryption::NotSupported,
            3 => Encryption::Required,
            4 => Encryption::Strict,
            _ => return None,
        })
    }

    pub fn to_byte(self) -> u8 {
        match self {
            Encryption::Off => 0,
            Encryption::On => 1,
            Encryption::NotSupported => 2,
            Encryption::Required => 3,
            Encryption::Strict => 4,
        }
    }
}

/// What the server is willing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsPolicy {
    None,
    Available,
    Forced,
}

/// What the two agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreed {
    Clear,
    LoginOnly,
    Full,
    /// The client cannot encrypt and the server insists: answer, then close.
    Refused,
}

/// The server's answer to the client's byte, and what follows from it.
pub fn negotiate(client: Encryption, policy: TlsPolicy) -> (Encryption, Agreed) {
    use Encryption as E;
    match (policy, client) {
        (TlsPolicy::None, E::On | E::Required | E::Strict) => (E::NotSupported, Agreed::Refused),
        (TlsPolicy::None, _) => (E::NotSupported, Agreed::Clear),
        (TlsPolicy::Available, E::Off) => (E::Off, Agreed::LoginOnly),
        (TlsPolicy::Available, E::NotSupported) => (E::NotSupported, Agreed::Clear),
        (TlsPolicy::Available, E::On | E::Required | E::Strict) => (E::On, Agreed::Full),
        (TlsPolicy::Forced, E::NotSupported) => (E::Required, Agreed::Refused),
        (TlsPolicy::Forced, E::On) => (E::On, Agreed::Full),
        (TlsPolicy::Forced, _) => (E::Required, Agreed::Full),
    }
}

/// What a client (or a server) said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prelogin {
    pub version: [u8; 6],
    pub encryption: Encryption,
    pub instance: Option<String>,
    pub mars: bool,
    /// Present only if the other side asked about federated authentication.
    pub fed_auth: Option<u8>,
    /// The tokens in the order in which they came; the reply echoes them.
    pub tokens: Vec<u8>,
}

impl Prelogin {
    pub fn parse(body: &[u8]) -> TdsResult<Prelogin> {
        let mut reader = Reader::new(body);
        let mut out = Prelogin {
            version: [0; 6],
            encryption: Encryption::NotSupported,
            instance: None,
            mars: false,
            fed_auth: None,
            tokens: Vec::new(),
        };
        loop {
            let token = reader.u8()?;
            if token == END {
                break;
            }
            let offset = reader.u16_be()? as usize;
            let length = reader.u16_be()? as usize;
            if out.tokens.len() >= 32 {
                return Err(TdsError::Malformed("too many PRELOGIN options"));
            }
            let data = body
                .get(offset..)
                .and_then(|rest| rest.get(..length))
                .ok_or(TdsError::Malformed("PRELOGIN option outside the message"))?;
            if out.tokens.contains(&token) {
                return Err(TdsError::Malformed("PRELOGIN option given twice"));
            }
            out.tokens.push(token);
            match token {
                VERSION => {
                    out.version = data
                        .try_into()
                        .map_err(|_| TdsError::Malformed("PRELOGIN version"))?;
                }
                ENCRYPTION => {
                    out.encryption = data
                        .first()
                        .and_then(|byte| Encryption::from_byte(*byte))
                        .ok_or(TdsError::Malformed("PRELOGIN encryption"))?;
                }
                INSTANCE => {
                    let name = data.split(|b| *b == 0).next().unwrap_or(&[]);
                    out.instance = Some(String::from_utf8_lossy(name).into_owned());
                }
                MARS => out.mars = data.first() == Some(&1),
                FED_AUTH => out.fed_auth = data.first().copied(),
                _ => {}
            }
        }
        if out.tokens.first() != Some(&VERSION) {
            return Err(TdsError::Malformed("PRELOGIN without a version"));
        }
        Ok(out)
    }

    /// The server's reply: the client's options with the server's data. No MARS, ever.
    pub fn reply(&self, version: [u8; 6], encryption: Encryption) -> Vec<u8> {
        let mut options: Vec<(u8, Vec<u8>)> = vec![
            (VERSION, version.to_vec()),
            (ENCRYPTION, vec![encryption.to_byte()]),
        ];
        for token in &self.tokens {
            match *token {
                INSTANCE | MARS | FED_AUTH => options.push((*token, vec![0])),
                THREAD | TRACE => options.push((*token, Vec::new())),
                _ => {}
            }
        }
        build(&options)
    }

    /// A client's request.
    pub fn request(version: [u8; 6], encryption: Encryption) -> Vec<u8> {
        build(&[
            (VERSION, version.to_vec()),
            (ENCRYPTION, vec![encryption.to_byte()]),
            (INSTANCE, vec![0]),
            (THREAD, vec![0; 4]),
            (MARS, vec![0]),
        ])
    }
}

fn build(options: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut offset = options.len() * 5 + 1;
    for (token, data) in options {
        out.push(*token);
        out.extend_from_slice(&(offset as u16).to_be_bytes());
        out.extend_from_slice(&(data.len() as u16).to_be_bytes());
        offset += data.len();
    }
    out.push(END);
    for (_, data) in options {
        out.extend_from_slice(data);
    }
    out
}

#[cfg(test)]
mod tests;
