//! TLS of a listener: certificate, pre-shared keys by identity, session tickets.

use std::path::PathBuf;

use openssl::error::ErrorStack;
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslFiletype, SslMethod, SslOptions, SslRef, SslStream, SslVerifyMode,
};

use crate::psk::PskTable;
use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls_cipher::{common_context, TlsError, TlsVersion};

/// How a listener speaks TLS. It needs a certificate with its key, or pre-shared keys, or both.
#[derive(Clone, Default)]
pub struct ServerTlsConfig {
    /// PEM file: the server's certificate, then its chain.
    pub certificate: Option<PathBuf>,
    /// PEM file of the private key.
    pub key: Option<PathBuf>,
    /// CA file: set, clients must show a certificate signed by one of these.
    pub client_ca: Option<PathBuf>,
    /// Keys by identity.
    pub psk: Option<PskTable>,
    /// None: the best both sides know (with keys only: 1.2).
    pub version: Option<TlsVersion>,
    /// OpenSSL's name of a cipher.
    pub cipher: Option<String>,
    /// Switches session resumption off.
    pub no_tickets: bool,
}

/// A listener's TLS, ready for any number of connections and threads.
#[derive(Clone)]
pub struct ServerTls {
    context: SslContext,
}

impl ServerTls {
    /// Checks the configuration and loads its files.
    pub fn new(config: &ServerTlsConfig) -> Result<ServerTls, TlsError> {
        let psk_only = config.psk.is_some() && config.certificate.is_none();
        let mut context = common_context(
            SslMethod::tls_server(),
            config.version,
            config.cipher.as_deref(),
            psk_only,
        )?;
        load_certificate(&mut context, config)?;
        verify_clients(&mut context, config)?;
        if let Some(table) = config.psk.clone() {
            context.set_psk_server_callback(move |_: &mut SslRef, identity, key| Ok(find_key(&table, identity, key)));
        }
        context
            .set_session_id_context(b"telemark")
            .map_err(|error| TlsError::with("session context", &error))?;
        if config.no_tickets {
            context.set_options(SslOptions::NO_TICKET);
            context
                .set_num_tickets(0)
                .map_err(|error| TlsError::with("tickets", &error))?;
        }
        Ok(ServerTls {
            context: context.build(),
        })
    }

    /// Puts TLS on an accepted socket. The handshake is made by [`Stream::handshake`].
    pub fn accept(&self, socket: Socket) -> Result<Stream, TlsError> {
        let failed = |error: ErrorStack| TlsError::with("new TLS connection", &error);
        let mut ssl = Ssl::new(&self.context).map_err(failed)?;
        ssl.set_accept_state();
        Ok(Stream::Tls(SslStream::new(ssl, socket).map_err(failed)?))
    }
}

fn load_certificate(context: &mut SslContextBuilder, config: &ServerTlsConfig) -> Result<(), TlsError> {
    match (&config.certificate, &config.key, &config.psk) {
        (Some(certificate), Some(key), _) => {
            context
                .set_certificate_chain_file(certificate)
                .map_err(|error| TlsError::with(&certificate.display().to_string(), &error))?;
            context
                .set_private_key_file(key, SslFiletype::PEM)
                .map_err(|error| TlsError::with(&key.display().to_string(), &error))
        }
        (None, None, Some(_)) => Ok(()),
        _ => Err(TlsError::new(
            "a TLS listener needs a certificate and its key, or pre-shared keys".to_owned(),
        )),
    }
}

fn verify_clients(context: &mut SslContextBuilder, config: &ServerTlsConfig) -> Result<(), TlsError> {
    let Some(path) = &config.client_ca else {
        return Ok(());
    };
    context
        .set_ca_file(path)
        .map_err(|error| TlsError::with(&path.display().to_string(), &error))?;
    context.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    Ok(())
}

/// Copies the identity's key into OpenSSL's buffer; 0 bytes refuse the connection.
fn find_key(table: &PskTable, identity: Option<&[u8]>, buffer: &mut [u8]) -> usize {
    let name = identity.and_then(|bytes| std::str::from_utf8(bytes).ok());
    match name.and_then(|name| table.key(name)) {
        Some(key) if key.len() <= buffer.len() => {
            buffer[..key.len()].copy_from_slice(key);
            key.len()
        }
        _ => 0,
    }
}
