//! One connection, plain or TLS, with the same non-blocking calls.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use openssl::ssl::{Error, ErrorCode, ShutdownState, SslStream};
use openssl::x509::X509VerifyResult;

use crate::socket::Socket;
use crate::tls_cipher::describe;

/// A connected stream. Dropping it closes it.
pub enum Stream {
    /// TCP alone.
    Plain(Socket),
    /// TLS over TCP; made by `ClientTls::connect` or `ServerTls::accept`.
    Tls(SslStream<Socket>),
}

/// Whether a TLS handshake is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// Application data may flow.
    Done,
    /// Call again when the poller reports the socket readable or writable.
    InProgress,
}

impl Stream {
    /// Goes on with the TLS handshake as far as possible; a plain stream is always done.
    ///
    /// Call it until it is done, before the first read or write. The error of a failed handshake says why in words.
    pub fn handshake(&mut self) -> io::Result<Handshake> {
        let Stream::Tls(tls) = self else {
            return Ok(Handshake::Done);
        };
        match tls.do_handshake() {
            Ok(()) => Ok(Handshake::Done),
            Err(error) if would_block(&error) => Ok(Handshake::InProgress),
            Err(error) => Err(handshake_error(error, tls.ssl().verify_result())),
        }
    }

    /// Reads what is there: Ok(0) is the end of the stream, WouldBlock means nothing now.
    ///
    /// A TLS read returns at most one record (16 KiB): with edge-triggered polling read until WouldBlock.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(tls) => match tls.ssl_read(buffer) {
                Ok(bytes) => Ok(bytes),
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(0),
                Err(error) if is_bare_end(&error) => Ok(0),
                Err(error) => Err(data_error(error)),
            },
        }
    }

    /// Writes what fits and says how much: WouldBlock means the socket is full.
    ///
    /// After a WouldBlock of a TLS stream the next write must begin with the same bytes: OpenSSL has already
    /// encrypted them.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(tls) => tls.ssl_write(bytes).map_err(data_error),
        }
    }

    /// Whether this is a TLS stream.
    pub fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// Whether the handshake resumed an earlier session; None without TLS.
    pub fn session_resumed(&self) -> Option<bool> {
        match self {
            Stream::Plain(_) => None,
            Stream::Tls(tls) => Some(tls.ssl().session_reused()),
        }
    }

    /// Protocol version and cipher in use, for example ("TLSv1.3", "TLS_AES_256_GCM_SHA384"); None without TLS.
    pub fn cipher(&self) -> Option<(String, String)> {
        let Stream::Tls(tls) = self else {
            return None;
        };
        let cipher = tls.ssl().current_cipher()?;
        Some((tls.ssl().version_str().to_owned(), cipher.name().to_owned()))
    }

    /// The identity a client's pre-shared key belongs to; None without one.
    pub fn psk_identity(&self) -> Option<String> {
        let Stream::Tls(tls) = self else {
            return None;
        };
        Some(String::from_utf8_lossy(tls.ssl().psk_identity()?).into_owned())
    }

    /// Says farewell (TLS close_notify, TCP FIN) without waiting for an answer.
    pub fn shutdown(&mut self) {
        if let Stream::Tls(tls) = self {
            // A peer that is gone, or a full socket, makes the farewell impossible: closing follows anyway.
            let _ = tls.shutdown();
        }
        self.socket().shutdown_write();
    }

    /// Marks the TLS session as properly closed, so that it stays resumable although no farewell was sent.
    pub fn keep_session(&mut self) {
        if let Stream::Tls(tls) = self {
            tls.set_shutdown(ShutdownState::SENT | ShutdownState::RECEIVED);
        }
    }

    /// The TCP socket below.
    pub fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(tls) => tls.get_ref(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

fn would_block(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE)
}

/// The peer closed TCP without a TLS farewell.
fn is_bare_end(error: &Error) -> bool {
    error.code() == ErrorCode::SYSCALL && error.io_error().is_none()
}

fn data_error(error: Error) -> io::Error {
    if would_block(&error) {
        return io::ErrorKind::WouldBlock.into();
    }
    let reason = reason(&error);
    error
        .into_io_error()
        .unwrap_or_else(|_| io::Error::new(io::ErrorKind::ConnectionAborted, reason))
}

fn handshake_error(error: Error, verified: X509VerifyResult) -> io::Error {
    let mut reason = reason(&error);
    if verified != X509VerifyResult::OK {
        reason = format!("{reason}: {}", verified.error_string());
    }
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn reason(error: &Error) -> String {
    match (error.ssl_error(), error.io_error()) {
        (Some(stack), _) => describe(stack),
        (None, Some(io)) => io.to_string(),
        (None, None) => "the peer closed the connection".to_owned(),
    }
}
