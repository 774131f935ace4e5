//! TLS versions, cipher choice and the error type of TLS set-up.

use std::fmt;
use std::io;
use std::path::Path;

use openssl::error::ErrorStack;
use openssl::ssl::{SslContextBuilder, SslMethod, SslMode, SslOptions, SslVersion};

/// A protocol version that can be demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2
    V1_2,
    /// TLS 1.3
    V1_3,
}

/// TLS could not be set up: a file cannot be read, or OpenSSL does not accept a choice.
#[derive(Debug, Clone)]
pub struct TlsError {
    message: String,
}

impl TlsError {
    pub(crate) fn new(message: String) -> TlsError {
        TlsError { message }
    }

    pub(crate) fn file(path: &Path, error: &io::Error) -> TlsError {
        TlsError::new(format!("{}: {error}", path.display()))
    }

    pub(crate) fn with(what: &str, error: &ErrorStack) -> TlsError {
        TlsError::new(format!("{what}: {}", describe(error)))
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for TlsError {}

/// OpenSSL's reasons in words, without its internal file names.
pub(crate) fn describe(stack: &ErrorStack) -> String {
    let reasons: Vec<&str> = stack.errors().iter().filter_map(|error| error.reason()).collect();
    if reasons.is_empty() {
        return "OpenSSL gave no reason".to_owned();
    }
    reasons.join(", ")
}

/// A context with what client and server have in common: versions, ciphers, small memory.
pub(crate) fn common_context(
    method: SslMethod,
    version: Option<TlsVersion>,
    cipher: Option<&str>,
    psk: bool,
) -> Result<SslContextBuilder, TlsError> {
    let mut context = SslContextBuilder::new(method).map_err(|error| TlsError::with("new TLS context", &error))?;
    context.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER | SslMode::RELEASE_BUFFERS);
    // A peer that closes without farewell is an end of stream here: the MQTT layer knows whether it was expected.
    context.set_options(SslOptions::IGNORE_UNEXPECTED_EOF);
    set_versions(&mut context, version, cipher, psk)?;
    set_ciphers(&mut context, cipher, psk)?;
    Ok(context)
}

fn set_versions(
    context: &mut SslContextBuilder,
    version: Option<TlsVersion>,
    cipher: Option<&str>,
    psk: bool,
) -> Result<(), TlsError> {
    let (lowest, highest) = match (version, cipher) {
        (Some(TlsVersion::V1_2), _) => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        (Some(TlsVersion::V1_3), _) => (SslVersion::TLS1_3, SslVersion::TLS1_3),
        (None, Some(name)) if is_tls13_suite(name) => (SslVersion::TLS1_3, SslVersion::TLS1_3),
        (None, Some(_)) => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        // Pre-shared keys in TLS 1.3 work with one suite only; what people mean by PSK is TLS 1.2.
        (None, None) if psk => (SslVersion::TLS1_2, SslVersion::TLS1_2),
        (None, None) => (SslVersion::TLS1_2, SslVersion::TLS1_3),
    };
    let failed = |error| TlsError::with("TLS version", &error);
    context.set_min_proto_version(Some(lowest)).map_err(failed)?;
    context.set_max_proto_version(Some(highest)).map_err(failed)
}

/// Parts of cipher names that OpenSSL's security level 2 (Debian's default) refuses.
const WEAK: [&str; 8] = ["NULL", "RC4", "MD5", "DES", "EXP", "ADH", "AECDH", "IDEA"];

fn set_ciphers(context: &mut SslContextBuilder, cipher: Option<&str>, psk: bool) -> Result<(), TlsError> {
    let list = match cipher {
        // Whoever asks for a weak cipher by name gets it; nobody else has the level lowered.
        Some(name) if WEAK.iter().any(|part| name.contains(part)) => format!("{name}:@SECLEVEL=0"),
        Some(name) => name.to_owned(),
        None if psk => "PSK".to_owned(),
        None => return Ok(()),
    };
    let accepted = if is_tls13_suite(&list) {
        context.set_ciphersuites(&list)
    } else {
        context.set_cipher_list(&list)
    };
    accepted.map_err(|error| {
        let reason = describe(&error);
        TlsError::new(format!(
            "cipher {list:?}: {reason} (`openssl ciphers -v ALL` lists the names)"
        ))
    })
}

fn is_tls13_suite(name: &str) -> bool {
    name.starts_with("TLS_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(cipher: &str) -> Result<SslContextBuilder, TlsError> {
        common_context(SslMethod::tls(), None, Some(cipher), false)
    }

    #[test]
    fn the_security_level_is_lowered_only_for_a_weak_cipher() {
        let usual = context("AES256-GCM-SHA384").unwrap().build().security_level();
        assert!(usual >= 1);
        assert_eq!(context("PSK-AES256-CBC-SHA").unwrap().build().security_level(), usual);
        assert_eq!(context("NULL-SHA256").unwrap().build().security_level(), 0);
    }

    #[test]
    fn an_unknown_cipher_is_named_with_the_way_to_find_the_right_one() {
        let message = context("AES-9000").err().unwrap().to_string();
        assert!(
            message.contains("AES-9000") && message.contains("openssl ciphers"),
            "{message}"
        );
        assert!(context("TLS_NOTHING").is_err());
    }
}
