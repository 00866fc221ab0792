//! A blocking client connection for the command line and tests: TCP, PRELOGIN, TLS, LOGIN7.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use duramen_tds::client::{Client, ClientError, HandshakeStream, prelogin};
use duramen_tds::login::{FEATURE_UTF8, Login, TDS_7_4, TDS_8_0};
use duramen_tds::prelogin::Encryption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

/// How the server's certificate is judged.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Any certificate (`TrustServerCertificate=yes`, `-C`).
    #[default]
    Any,
    /// One of the certificates of this PEM text, or one they have signed.
    Pem(Vec<u8>),
    /// No encryption at all.
    NoEncryption,
}

#[derive(Clone, Debug, Default)]
pub struct ConnectOptions {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// Empty: the login's default.
    pub database: String,
    /// Shown as `program_name`.
    pub app: String,
    /// `host_name`.
    pub workstation: String,
    /// 0: the server's default.
    pub packet_bytes: u32,
    pub trust: Trust,
    /// TDS 8.0: TLS from the first byte.
    pub strict: bool,
    /// The version that LOGIN7 asks for; 0 for the newest.
    pub tds_version: u32,
    pub connect_timeout: Option<Duration>,
    /// Of every read: a query that says nothing for so long fails with a time-out.
    pub read_timeout: Option<Duration>,
}

/// The stream under a client.
pub enum Stream {
    Clear(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, HandshakeStream<TcpStream>>>),
}

impl Stream {
    /// The socket, for time-outs.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Stream::Clear(socket) => socket,
            Stream::Tls(tls) => tls.sock.get_ref(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Clear(socket) => socket.read(buf),
            Stream::Tls(tls) => tls.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Clear(socket) => socket.write(buf),
            Stream::Tls(tls) => tls.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Clear(socket) => socket.flush(),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}

/// Connects and logs in.
pub fn connect(options: &ConnectOptions) -> Result<Client<Stream>, ClientError> {
    let mut socket = open(options)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(options.read_timeout)?;
    if options.strict {
        if matches!(options.trust, Trust::NoEncryption) {
            return Err(ClientError::Encryption("strict encryption without any"));
        }
        let mut stream = secure(socket, options)?;
        prelogin(&mut stream, Encryption::Required)?;
        return Client::login(stream, &login(options, TDS_8_0));
    }
    let asked = match options.trust {
        Trust::NoEncryption => Encryption::NotSupported,
        Trust::Any | Trust::Pem(_) => Encryption::On,
    };
    let answer = prelogin(&mut socket, asked)?;
    let stream = match (asked, answer) {
        (Encryption::NotSupported, Encryption::NotSupported | Encryption::Off) => {
            Stream::Clear(socket)
        }
        (Encryption::NotSupported, _) => {
            return Err(ClientError::Encryption("the server requires encryption"));
        }
        (_, Encryption::On | Encryption::Required) => secure(socket, options)?,
        _ => {
            return Err(ClientError::Encryption(
                "the server does not support encryption",
            ));
        }
    };
    let version = match options.tds_version {
        0 => TDS_7_4,
        version => version,
    };
    Client::login(stream, &login(options, version))
}

fn login(options: &ConnectOptions, tds_version: u32) -> Login {
    Login {
        tds_version,
        packet_bytes: options.packet_bytes,
        client_pid: std::process::id(),
        // ODBC semantics: the ANSI options are on.
        flags1: 0xE0,
        flags2: 0x03,
        user: options.user.clone(),
        password: options.password.clone(),
        app: options.app.clone(),
        host: options.workstation.clone(),
        server: options.host.clone(),
        library: "Duramen".to_owned(),
        database: options.database.clone(),
        features: vec![(FEATURE_UTF8, Vec::new())],
        ..Login::default()
    }
}

fn open(options: &ConnectOptions) -> io::Result<TcpStream> {
    let addresses = (options.host.as_str(), options.port).to_socket_addrs()?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        let attempt = match options.connect_timeout {
            Some(limit) => TcpStream::connect_timeout(&address, limit),
            None => TcpStream::connect(address),
        };
        match attempt {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn secure(socket: TcpStream, options: &ConnectOptions) -> Result<Stream, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions: &[_] = match options.strict {
        true => &[&rustls::version::TLS13, &rustls::version::TLS12],
        false => &[&rustls::version::TLS12],
    };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?;
    let mut config = match &options.trust {
        Trust::Pem(pem) => {
            let mut roots = rustls::RootCertStore::empty();
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(io::Error::other)?;
                roots.add(certificate).map_err(io::Error::other)?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::Any | Trust::NoEncryption => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
    };
    if options.strict {
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
    }
    let name = ServerName::try_from(options.host.clone())
        .map_err(|_| ClientError::Encryption("the host name is not valid"))?;
    let tls = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(tls, HandshakeStream::new(socket));
    if options.strict {
        // No PRELOGIN packets around the handshake.
        stream.sock.finish()?;
    }
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    stream.sock.finish()?;
    Ok(Stream::Tls(Box::new(stream)))
}

/// Accepts every certificate: the user has said so.
#[derive(Debug)]
struct AnyCertificate(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
