//! Listening sockets and the TLS each of them speaks.

use std::path::PathBuf;

use telemark_net::{Listener, PskTable, ServerTls, ServerTlsConfig, Socket, SocketOptions, Stream};

use crate::config::{ListenerConfig, Security};
use crate::server::StartError;

/// One listener, ready to accept.
pub struct Entrance {
    /// Its name in the configuration.
    pub name: String,
    /// The listening socket.
    pub listener: Listener,
    tls: Option<ServerTls>,
}

impl Entrance {
    /// Binds the address and loads the certificate or keys.
    pub fn open(config: &ListenerConfig) -> Result<Self, StartError> {
        let failed = |reason: String| StartError {
            listener: config.name.clone(),
            reason,
        };
        let address = config
            .address()
            .ok_or_else(|| failed(format!("host {:?} is no IP address", config.host)))?;
        let options = SocketOptions {
            send_buffer: config.socket_buffer,
            receive_buffer: config.socket_buffer,
            ..SocketOptions::default()
        };
        let tls = tls_of(config).map_err(failed)?;
        let failed = |error: std::io::Error| StartError {
            listener: config.name.clone(),
            reason: format!("cannot listen at {address}: {error}"),
        };
        let listener = Listener::bind(address, &options).map_err(failed)?;
        Ok(Self {
            name: config.name.clone(),
            listener,
            tls,
        })
    }

    /// The port it listens at.
    pub fn port(&self) -> std::io::Result<u16> {
        Ok(self.listener.local_address()?.port())
    }

    /// Puts the listener's security on an accepted socket; None when OpenSSL cannot.
    #[must_use]
    pub fn secure(&self, socket: Socket) -> Option<Stream> {
        match &self.tls {
            None => Some(Stream::Plain(socket)),
            Some(tls) => tls.accept(socket).ok(),
        }
    }
}

fn tls_of(config: &ListenerConfig) -> Result<Option<ServerTls>, String> {
    if config.security == Security::None {
        return Ok(None);
    }
    let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
    let psk = match (&config.psk_file, config.security) {
        (Some(file), Security::Psk) => Some(PskTable::read(file.as_ref()).map_err(|error| error.to_string())?),
        _ => None,
    };
    let certified = config.security == Security::Tls;
    let settings = ServerTlsConfig {
        certificate: path(&config.certificate).filter(|_| certified),
        key: path(&config.key).filter(|_| certified),
        client_ca: path(&config.client_ca),
        psk,
        cipher: config.cipher.clone(),
        ..ServerTlsConfig::default()
    };
    ServerTls::new(&settings).map(Some).map_err(|error| error.to_string())
}
