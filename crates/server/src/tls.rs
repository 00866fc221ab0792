//! The server's certificate and the two TLS configurations.
//!
//! Inside PRELOGIN packets only TLS 1.2 is offered: drivers hang or lose the thread when 1.3 sends tickets after its
//! handshake. A strict client (TDS 8.0) starts with TLS and may have 1.3.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_os::{Env, IoError, OpenOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const CERTIFICATE_FILE: &str = "server-certificate.pem";
const KEY_FILE: &str = "server-key.pem";
/// More is no certificate of ours.
const MAX_PEM_BYTES: u64 = 256 * 1024;

#[derive(Clone)]
pub struct TlsSetup {
    /// For the handshake inside PRELOGIN packets.
    pub wrapped: Arc<rustls::ServerConfig>,
    /// For TDS 8.0.
    pub strict: Arc<rustls::ServerConfig>,
    /// Where a client finds the certificate to trust.
    pub certificate_path: PathBuf,
}

#[derive(Debug)]
pub enum TlsError {
    Io(IoError),
    Certificate(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::Io(error) => write!(f, "the server certificate: {error}"),
            TlsError::Certificate(what) => write!(f, "the server certificate: {what}"),
        }
    }
}

impl std::error::Error for TlsError {}

impl From<IoError> for TlsError {
    fn from(error: IoError) -> TlsError {
        TlsError::Io(error)
    }
}

impl TlsSetup {
    /// Uses the certificate of the data directory, and makes a self-signed one there if there is none.
    pub fn load_or_create(env: &Env, dir: &Path) -> Result<TlsSetup, TlsError> {
        let certificate_path = dir.join(CERTIFICATE_FILE);
        let key_path = dir.join(KEY_FILE);
        let disk = &env.disk;
        if !disk.exists(&certificate_path) || !disk.exists(&key_path) {
            let (certificate, key) = generate()?;
            write(env, &key_path, key.as_bytes())?;
            write(env, &certificate_path, certificate.as_bytes())?;
            disk.sync_dir(dir)?;
        }
        TlsSetup::load(env, &certificate_path, &key_path)
    }

    /// Uses a certificate that somebody else has made: PEM, the server's own first, then its chain.
    pub fn load(env: &Env, certificate: &Path, key: &Path) -> Result<TlsSetup, TlsError> {
        let certificate_path = certificate.to_owned();
        let certificate = read(env, certificate)?;
        let key = read(env, key)?;
        let bad = |what: &str| TlsError::Certificate(what.to_owned());
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&certificate)
            .collect::<Result<_, _>>()
            .map_err(|_| bad("not PEM"))?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| bad("the key is not PEM"))?;

        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let build = |versions: &[&'static rustls::SupportedProtocolVersion]| {
            rustls::ServerConfig::builder_with_provider(provider.clone())
                .with_protocol_versions(versions)
                .and_then(|builder| {
                    builder
                        .with_no_client_auth()
                        .with_single_cert(chain.clone(), key.clone_key())
                })
                .map_err(|error| TlsError::Certificate(error.to_string()))
        };
        let mut wrapped = build(&[&rustls::version::TLS12])?;
        wrapped.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        let mut strict = build(&[&rustls::version::TLS13, &rustls::version::TLS12])?;
        strict.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        strict.send_tls13_tickets = 0;
        strict.alpn_protocols = vec![b"tds/8.0".to_vec()];
        Ok(TlsSetup {
            wrapped: Arc::new(wrapped),
            strict: Arc::new(strict),
            certificate_path,
        })
    }
}

fn generate() -> Result<(String, String), TlsError> {
    let failed = |error: rcgen::Error| TlsError::Certificate(error.to_string());
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = rcgen::CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "localhost");
    let key = rcgen::KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn write(env: &Env, path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options)?;
    file.set_len(bytes.len() as u64)?;
    file.write_at(bytes, 0)?;
    file.sync()
}

fn read(env: &Env, path: &Path) -> Result<Vec<u8>, TlsError> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let file = env.disk.open(path, &options)?;
    let len = file.len()?;
    if len > MAX_PEM_BYTES {
        return Err(TlsError::Certificate("file too large".to_owned()));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}
