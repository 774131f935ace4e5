//! Client and server TLS against each other over loopback sockets.

#![allow(clippy::unwrap_used)] // a helper that fails fails its test

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509NameBuilder, X509};
use telemark_net::*;

/// A certificate that signs itself, for the address 127.0.0.1, with its key.
fn certificate(name: &str) -> (PathBuf, PathBuf) {
    let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder
        .set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap())
        .unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(2).unwrap()).unwrap();
    builder
        .append_extension(BasicConstraints::new().ca().build().unwrap())
        .unwrap();
    let names = SubjectAlternativeName::new()
        .ip("127.0.0.1")
        .build(&builder.x509v3_context(None, None))
        .unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    let folder = std::env::temp_dir().join(format!("telemark-net-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (certificate, private) = (folder.join("certificate.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, builder.build().to_pem().unwrap()).unwrap();
    std::fs::write(&private, key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    (certificate, private)
}

fn server_files() -> &'static (PathBuf, PathBuf) {
    static FILES: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    FILES.get_or_init(|| certificate("server"))
}

fn server_config() -> ServerTlsConfig {
    let (certificate, key) = server_files().clone();
    ServerTlsConfig {
        certificate: Some(certificate),
        key: Some(key),
        ..Default::default()
    }
}

fn client_config(ca: &Path) -> ClientTlsConfig {
    ClientTlsConfig {
        version: None,
        cipher: None,
        ca: Some(ca.to_owned()),
        verify: true,
        psk: false,
        resume: false,
    }
}

/// Connects both ends and makes both handshakes in turn; the client's error when it fails.
fn meet(client: &ClientTls, server: &ServerTls, peer: TlsPeer<'_>) -> std::io::Result<(Stream, Stream)> {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(any, &SocketOptions::default()).unwrap();
    let socket = connect(listener.local_address().unwrap(), &SocketOptions::default()).unwrap();
    let accepted = loop {
        match listener.accept() {
            Ok(socket) => break socket,
            Err(_) => std::thread::yield_now(),
        }
    };
    let mut near = client.connect(socket, peer).unwrap();
    let mut far = server.accept(accepted).unwrap();
    let (mut near_done, mut far_done) = (false, false);
    while !(near_done && far_done) {
        near_done = near_done || near.handshake()? == Handshake::Done;
        far_done = far_done || far.handshake()? == Handshake::Done;
    }
    Ok((near, far))
}

fn pass(from: &mut Stream, to: &mut Stream) {
    assert_eq!(from.write(b"hello").unwrap(), 5);
    let mut buffer = [0; 64];
    loop {
        match to.read(&mut buffer) {
            Ok(bytes) => return assert_eq!(&buffer[..bytes], b"hello"),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
        }
    }
}

fn peer<'a>() -> TlsPeer<'a> {
    TlsPeer {
        server_name: "127.0.0.1",
        ..Default::default()
    }
}

#[test]
fn the_chosen_cipher_and_version_are_used() {
    let server = ServerTls::new(&server_config()).unwrap();
    for (cipher, version) in [
        ("AES256-GCM-SHA384", "TLSv1.2"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "TLSv1.2"),
        ("TLS_AES_256_GCM_SHA384", "TLSv1.3"),
    ] {
        let mut config = client_config(&server_files().0);
        config.cipher = Some(cipher.to_owned());
        let (mut near, mut far) = meet(&ClientTls::new(&config).unwrap(), &server, peer()).unwrap();
        assert_eq!(near.cipher(), Some((version.to_owned(), cipher.to_owned())));
        pass(&mut near, &mut far);
        pass(&mut far, &mut near);
    }
}

#[test]
fn a_server_signed_by_another_authority_is_refused_in_words() {
    let (stranger, _) = certificate("stranger");
    let client = ClientTls::new(&client_config(&stranger)).unwrap();
    let error = meet(&client, &ServerTls::new(&server_config()).unwrap(), peer())
        .err()
        .unwrap();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn a_server_with_another_name_is_refused() {
    let client = ClientTls::new(&client_config(&server_files().0)).unwrap();
    let wrong = TlsPeer {
        server_name: "elsewhere.example",
        ..Default::default()
    };
    let error = meet(&client, &ServerTls::new(&server_config()).unwrap(), wrong)
        .err()
        .unwrap();
    assert!(error.to_string().contains("hostname mismatch"), "{error}");
}

#[test]
fn a_session_is_resumed_from_its_slot() {
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let mut config = client_config(&server_files().0);
        config.version = Some(version);
        config.resume = true;
        let (client, server) = (
            ClientTls::new(&config).unwrap(),
            ServerTls::new(&server_config()).unwrap(),
        );
        let slot = SessionSlot::default();
        for expected in [false, true] {
            let with_slot = TlsPeer {
                session: Some(&slot),
                ..peer()
            };
            let (mut near, mut far) = meet(&client, &server, with_slot).unwrap();
            assert_eq!(near.session_resumed(), Some(expected));
            pass(&mut far, &mut near); // TLS 1.3 tickets arrive with the first data
            near.keep_session();
            assert!(slot.is_filled());
        }
    }
}

#[test]
fn a_pre_shared_key_needs_no_certificate_and_a_wrong_key_fails() {
    let server = ServerTls::new(&ServerTlsConfig {
        psk: Some(PskTable::parse("device-7:00112233").unwrap()),
        ..Default::default()
    })
    .unwrap();
    let mut config = client_config(&server_files().0);
    config.psk = true;
    config.cipher = Some("PSK-AES256-CBC-SHA".to_owned());
    let client = ClientTls::new(&config).unwrap();
    let with_key = |key: Vec<u8>| TlsPeer {
        psk: Some(Psk {
            identity: "device-7".to_owned(),
            key,
        }),
        ..peer()
    };
    let (mut near, mut far) = meet(&client, &server, with_key(vec![0, 0x11, 0x22, 0x33])).unwrap();
    assert_eq!(far.psk_identity().as_deref(), Some("device-7"));
    pass(&mut near, &mut far);
    assert!(meet(&client, &server, with_key(vec![1, 2, 3, 4])).is_err());
}

#[test]
fn a_client_certificate_is_shown_when_the_server_asks() {
    let (certificate, key) = certificate("device");
    let mut demanding = server_config();
    demanding.client_ca = Some(certificate.clone());
    demanding.version = Some(TlsVersion::V1_2);
    let server = ServerTls::new(&demanding).unwrap();
    let client = ClientTls::new(&client_config(&server_files().0)).unwrap();
    let identity = ClientIdentity::read(&certificate, &key).unwrap();
    let with_identity = TlsPeer {
        identity: Some(&identity),
        ..peer()
    };
    assert!(meet(&client, &server, with_identity).is_ok());
    assert!(meet(&client, &server, peer()).is_err());
}

#[test]
fn a_missing_file_is_named() {
    let missing = Path::new("/nowhere/ca.pem");
    let message = ClientTls::new(&client_config(missing)).err().unwrap().to_string();
    assert!(message.contains("/nowhere/ca.pem"), "{message}");
}

#[test]
fn connections_leave_from_the_asked_source_address() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(any, &SocketOptions::default()).unwrap();
    let options = SocketOptions {
        source: Some("127.0.0.9".parse().unwrap()),
        send_buffer: Some(8192),
        receive_buffer: Some(8192),
        ports: None,
    };
    let socket = connect(listener.local_address().unwrap(), &options).unwrap();
    let poller = Poller::new().unwrap();
    poller.add(&socket, 1, Interest::WRITE).unwrap();
    let mut events = Events::with_capacity(1);
    poller.wait(&mut events, None).unwrap();
    assert!(events.get(0).unwrap().writable);
    assert!(socket.take_error().unwrap().is_none());
    assert_eq!(socket.local_address().unwrap().ip().to_string(), "127.0.0.9");
}

#[test]
fn connections_leave_from_the_offered_ports_until_all_are_taken() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(any, &SocketOptions::default()).unwrap();
    // Linux before 6.3 has no such choice.
    let Some(all) = telemark_net::choosable_ports() else {
        return;
    };
    let ports = *all.end() - 1..=*all.end();
    let options = SocketOptions {
        source: Some("127.77.0.1".parse().unwrap()),
        ports: Some(ports.clone()),
        ..SocketOptions::default()
    };
    let address = listener.local_address().unwrap();
    let sockets = [connect(address, &options).unwrap(), connect(address, &options).unwrap()];
    let mut taken = sockets.map(|socket| (socket.local_address().unwrap().port(), socket));
    taken.sort_by_key(|(port, _)| *port);
    assert_eq!(taken.each_ref().map(|(port, _)| *port), [*ports.start(), *ports.end()]);
    let error = connect(address, &options).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrNotAvailable);
}
