//! TLS of a device: verification on by default, client certificates, pre-shared keys, session resumption.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{
    Ssl, SslContext, SslContextBuilder, SslMethod, SslOptions, SslRef, SslSession, SslSessionCacheMode, SslStream,
    SslVerifyMode,
};
use openssl::x509::X509;

use crate::socket::Socket;
use crate::stream::Stream;
use crate::tls_cipher::{common_context, describe, TlsError, TlsVersion};

/// What all connections of one profile have in common.
#[derive(Clone, Debug)]
pub struct ClientTlsConfig {
    /// None: the best both sides know (with `psk`: 1.2).
    pub version: Option<TlsVersion>,
    /// OpenSSL's name of a cipher; its version follows from it unless given.
    pub cipher: Option<String>,
    /// File of CA certificates; None: the system's.
    pub ca: Option<PathBuf>,
    /// Whether the server's certificate chain and name are verified.
    pub verify: bool,
    /// Whether connections identify themselves by pre-shared key.
    pub psk: bool,
    /// Whether sessions are kept for resumption.
    pub resume: bool,
}

/// One identity and its pre-shared key.
#[derive(Clone)]
pub struct Psk {
    /// As the server knows it.
    pub identity: String,
    /// The key's bytes.
    pub key: Vec<u8>,
}

/// A client certificate with its chain and private key.
pub struct ClientIdentity {
    chain: Vec<X509>,
    key: PKey<Private>,
}

impl ClientIdentity {
    /// Reads PEM files: the device's certificate first, then its chain; and the private key.
    pub fn read(certificate: &Path, key: &Path) -> Result<ClientIdentity, TlsError> {
        let pem = |path: &Path| std::fs::read(path).map_err(|error| TlsError::file(path, &error));
        let wrong = |path: &Path| {
            let name = path.display().to_string();
            move |error: ErrorStack| TlsError::new(format!("{name}: {}", describe(&error)))
        };
        let chain = X509::stack_from_pem(&pem(certificate)?).map_err(wrong(certificate))?;
        if chain.is_empty() {
            return Err(TlsError::new(format!(
                "{}: no certificate in it",
                certificate.display()
            )));
        }
        let key = PKey::private_key_from_pem(&pem(key)?).map_err(wrong(key))?;
        Ok(ClientIdentity { chain, key })
    }

    fn install(&self, ssl: &mut SslRef) -> Result<(), ErrorStack> {
        ssl.set_certificate(&self.chain[0])?;
        for link in &self.chain[1..] {
            ssl.add_chain_cert(link.clone())?;
        }
        ssl.set_private_key(&self.key)
    }
}

/// Where a device's latest session is kept between its connections.
#[derive(Clone, Default)]
pub struct SessionSlot(Arc<Mutex<Option<SslSession>>>);

impl SessionSlot {
    fn store(&self, session: SslSession) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    fn latest(&self) -> Option<SslSession> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a session is there to be resumed.
    pub fn is_filled(&self) -> bool {
        self.latest().is_some()
    }
}

/// What is particular to one connection.
#[derive(Default)]
pub struct TlsPeer<'a> {
    /// Name or address that the server's certificate must carry; a name is also sent as SNI.
    pub server_name: &'a str,
    /// The device's pre-shared key.
    pub psk: Option<Psk>,
    /// The device's certificate.
    pub identity: Option<&'a ClientIdentity>,
    /// Takes the session of this connection, and offers the one it holds.
    pub session: Option<&'a SessionSlot>,
}

/// A TLS profile ready for use by any number of connections and threads.
#[derive(Clone)]
pub struct ClientTls {
    context: SslContext,
    verify: bool,
    resume: bool,
}

impl ClientTls {
    /// Checks the configuration and loads its files.
    pub fn new(config: &ClientTlsConfig) -> Result<ClientTls, TlsError> {
        let mut context = common_context(
            SslMethod::tls_client(),
            config.version,
            config.cipher.as_deref(),
            config.psk,
        )?;
        if config.verify && !config.psk {
            load_authorities(&mut context, config.ca.as_deref())?;
            context.set_verify(SslVerifyMode::PEER);
        } else {
            context.set_verify(SslVerifyMode::NONE);
        }
        if config.psk {
            context.set_psk_client_callback(give_psk);
        }
        if config.resume {
            context.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
            context.set_new_session_callback(|ssl, session| {
                if let Some(slot) = session_index().ok().and_then(|index| ssl.ex_data(index)) {
                    slot.store(session);
                }
            });
        } else {
            context.set_session_cache_mode(SslSessionCacheMode::OFF);
            context.set_options(SslOptions::NO_TICKET);
        }
        let verify = config.verify && !config.psk;
        Ok(ClientTls {
            context: context.build(),
            verify,
            resume: config.resume,
        })
    }

    /// Whether sessions are kept for resumption.
    pub fn resumes(&self) -> bool {
        self.resume
    }

    /// Puts TLS on a connected socket. The handshake is made by [`Stream::handshake`].
    pub fn connect(&self, socket: Socket, peer: TlsPeer<'_>) -> Result<Stream, TlsError> {
        let failed = |error: ErrorStack| TlsError::with("new TLS connection", &error);
        let mut ssl = Ssl::new(&self.context).map_err(failed)?;
        self.set_name(&mut ssl, peer.server_name).map_err(failed)?;
        if let Some(psk) = peer.psk {
            ssl.set_ex_data(psk_index().map_err(failed)?, psk);
        }
        if let Some(identity) = peer.identity {
            identity.install(&mut ssl).map_err(failed)?;
        }
        if let Some(slot) = peer.session {
            if let Some(session) = slot.latest() {
                // SAFETY: the session was made by this very context, as OpenSSL demands.
                unsafe { ssl.set_session(&session) }.map_err(failed)?;
            }
            ssl.set_ex_data(session_index().map_err(failed)?, slot.clone());
        }
        ssl.set_connect_state();
        Ok(Stream::Tls(SslStream::new(ssl, socket).map_err(failed)?))
    }

    fn set_name(&self, ssl: &mut SslRef, name: &str) -> Result<(), ErrorStack> {
        let address = name.parse::<IpAddr>().ok();
        if address.is_none() && !name.is_empty() {
            ssl.set_hostname(name)?;
        }
        match address {
            _ if !self.verify => Ok(()),
            Some(address) => ssl.param_mut().set_ip(address),
            None => ssl.param_mut().set_host(name),
        }
    }
}

fn load_authorities(context: &mut SslContextBuilder, ca: Option<&Path>) -> Result<(), TlsError> {
    match ca {
        None => context
            .set_default_verify_paths()
            .map_err(|error| TlsError::with("system CA certificates", &error)),
        Some(path) => context
            .set_ca_file(path)
            .map_err(|error| TlsError::with(&path.display().to_string(), &error)),
    }
}

/// OpenSSL asks for identity and key; both buffers are its own, the identity ends with a zero byte.
fn give_psk(ssl: &mut SslRef, _hint: Option<&[u8]>, identity: &mut [u8], key: &mut [u8]) -> Result<usize, ErrorStack> {
    let Some(psk) = ssl.ex_data(psk_index()?) else {
        return Ok(0);
    };
    if psk.identity.len() >= identity.len() || psk.key.len() > key.len() {
        return Ok(0);
    }
    identity[..psk.identity.len()].copy_from_slice(psk.identity.as_bytes());
    identity[psk.identity.len()] = 0;
    key[..psk.key.len()].copy_from_slice(&psk.key);
    Ok(psk.key.len())
}

fn psk_index() -> Result<Index<Ssl, Psk>, ErrorStack> {
    static INDEX: OnceLock<Index<Ssl, Psk>> = OnceLock::new();
    shared_index(&INDEX)
}

fn session_index() -> Result<Index<Ssl, SessionSlot>, ErrorStack> {
    static INDEX: OnceLock<Index<Ssl, SessionSlot>> = OnceLock::new();
    shared_index(&INDEX)
}

/// One slot number for the whole process. A race of two threads wastes a number and nothing else.
fn shared_index<T: 'static + Sync + Send>(cell: &OnceLock<Index<Ssl, T>>) -> Result<Index<Ssl, T>, ErrorStack> {
    match cell.get() {
        Some(index) => Ok(*index),
        None => {
            let index = Ssl::new_ex_index()?;
            Ok(*cell.get_or_init(|| index))
        }
    }
}
