//! The server's configuration: JSON in, every problem reported at once.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::faults::FaultSettings;

/// The largest packet MQTT can express: five bytes of header and the longest remaining length.
pub const LARGEST_PACKET: u32 = 268_435_460;

/// Everything the server can be told before it starts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where devices connect.
    pub listeners: Vec<ListenerConfig>,
    /// Port of the HTTP control interface, on the loopback address only; 0 for any free one, None for no interface.
    pub control_port: Option<u16>,
    /// Reactor threads.
    pub threads: usize,
    /// Messages a subscription may have waiting; 0 for no limit.
    pub max_queued_messages: u64,
    /// Unacknowledged QoS 1/2 messages the server takes from a device and sends to one.
    pub receive_maximum: u16,
    /// Topic aliases a device may use.
    pub topic_alias_maximum: u16,
    /// Largest packet the server reads.
    pub max_packet_size: u32,
    /// Seconds a session of a 3.1.1 device lasts after it left; None for ever.
    pub session_expiry_s: Option<u32>,
    /// Chooses which messages the faults hit.
    pub seed: u64,
    /// How many affected messages `GET /faults` lists.
    pub account_limit: usize,
    /// What to do wrong.
    pub faults: FaultSettings,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listeners: vec![ListenerConfig::default()],
            control_port: Some(0),
            threads: 1,
            max_queued_messages: 1_000_000,
            receive_maximum: u16::MAX,
            topic_alias_maximum: u16::MAX,
            max_packet_size: LARGEST_PACKET,
            session_expiry_s: None,
            seed: 0,
            account_limit: 10_000,
            faults: FaultSettings::default(),
        }
    }
}

/// How a listener secures its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// Plain TCP.
    #[default]
    None,
    /// TLS with a server certificate.
    Tls,
    /// TLS with pre-shared keys.
    Psk,
}

/// One place devices connect to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListenerConfig {
    /// Name under which the port is reported; unique.
    pub name: String,
    /// Address to listen at.
    pub host: String,
    /// 0 takes any free one.
    pub port: u16,
    /// Plain, TLS or PSK.
    pub security: Security,
    /// SO_SNDBUF and SO_RCVBUF of accepted connections.
    pub socket_buffer: Option<u32>,
    /// Path of the server certificate chain (TLS).
    pub certificate: Option<String>,
    /// Path of its private key (TLS).
    pub key: Option<String>,
    /// Path of the CA whose client certificates are demanded (TLS); None demands none.
    pub client_ca: Option<String>,
    /// OpenSSL cipher name; None takes OpenSSL's choice.
    pub cipher: Option<String>,
    /// Path of the key file, lines `identity:key in hex` (PSK).
    pub psk_file: Option<String>,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            name: "plain".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: 0,
            security: Security::None,
            socket_buffer: None,
            certificate: None,
            key: None,
            client_ca: None,
            cipher: None,
            psk_file: None,
        }
    }
}

impl ListenerConfig {
    /// The address to bind, once the configuration has been checked.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let host: IpAddr = self.host.parse().ok()?;
        Some(SocketAddr::new(host, self.port))
    }

    fn check(&self, index: usize, problems: &mut Vec<String>) {
        let mut problem = |field: &str, text: String| problems.push(format!("listeners[{index}].{field}: {text}"));
        if self.name.is_empty() || self.name == "control" {
            problem(
                "name",
                format!("{:?}, expected a name other than \"control\"", self.name),
            );
        }
        if self.address().is_none() {
            problem("host", format!("{:?}, expected an IP address", self.host));
        }
        if self.socket_buffer == Some(0) {
            problem("socket_buffer", "0, expected at least 1 byte".to_owned());
        }
        let needed = match self.security {
            Security::None => vec![],
            Security::Tls => vec![("certificate", &self.certificate), ("key", &self.key)],
            Security::Psk => vec![("psk_file", &self.psk_file)],
        };
        for (field, path) in needed {
            match path {
                None => problem(field, format!("missing, a {:?} listener needs it", self.security)),
                Some(path) if !std::path::Path::new(path).is_file() => {
                    problem(field, format!("{path:?}, expected a readable file"));
                }
                Some(_) => {}
            }
        }
    }
}

/// A configuration that cannot be used; every problem with field, value found and expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblems(pub Vec<String>);

impl std::fmt::Display for ConfigProblems {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0.join("; "))
    }
}

impl std::error::Error for ConfigProblems {}

impl Config {
    /// Reads and checks a configuration.
    pub fn from_json(text: &str) -> Result<Self, ConfigProblems> {
        let config: Self = serde_json::from_str(text).map_err(|error| ConfigProblems(vec![error.to_string()]))?;
        let problems = config.problems();
        if problems.is_empty() {
            Ok(config)
        } else {
            Err(ConfigProblems(problems))
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = self.faults.problems();
        if self.listeners.is_empty() {
            problems.push("listeners: empty, expected at least one".to_owned());
        }
        for (index, listener) in self.listeners.iter().enumerate() {
            listener.check(index, &mut problems);
            if self.listeners[..index]
                .iter()
                .any(|earlier| earlier.name == listener.name)
            {
                problems.push(format!("listeners[{index}].name: {:?} is used twice", listener.name));
            }
        }
        if !(1..=64).contains(&self.threads) {
            problems.push(format!("threads: {}, expected 1 to 64", self.threads));
        }
        if self.receive_maximum == 0 {
            problems.push("receive_maximum: 0, expected 1 to 65535".to_owned());
        }
        if self.max_packet_size < 64 {
            problems.push(format!(
                "max_packet_size: {}, expected at least 64",
                self.max_packet_size
            ));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_configuration_is_one_plain_listener() {
        let config = Config::from_json("{}").unwrap();
        assert_eq!(
            (1, 1, 1_000_000),
            (config.listeners.len(), config.threads, config.max_queued_messages)
        );
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let text = r#"{"threads": 0, "receive_maximum": 0, "max_packet_size": 1, "faults": {"drop": 0},
            "listeners": [{"name": "a", "host": "nowhere"}, {"name": "a", "security": "tls"},
                          {"name": "control", "security": "psk", "psk_file": "/missing", "socket_buffer": 0}]}"#;
        let problems = Config::from_json(text).unwrap_err().0;
        assert_eq!(11, problems.len(), "{problems:#?}");
        assert!(problems
            .iter()
            .any(|problem| problem.contains("listeners[1].certificate")));
    }

    #[test]
    fn an_unknown_field_is_named() {
        let problems = Config::from_json(r#"{"thread": 2}"#).unwrap_err();
        assert!(problems.to_string().contains("thread"), "{problems}");
    }
}
