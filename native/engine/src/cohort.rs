//! Groups and endpoints of a plan, compiled once: patterns read, names resolved, certificates loaded.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use telemark_mqtt::pattern::Pattern;
use telemark_mqtt::{QoS, Version};
use telemark_net::{
    ClientIdentity, ClientTls, ClientTlsConfig, Psk, PskTable, SessionSlot, Socket, SocketOptions, Stream, TlsPeer,
    TlsVersion,
};

use crate::plan::{self, Endpoint, EnginePlan, Group, PlanProblem, Problems, Tls};

/// A subscription every device of a cohort has.
pub struct CohortFilter {
    /// Pattern of the filter.
    pub filter: Pattern,
    /// QoS asked for.
    pub qos: QoS,
    /// MQTT 5: not the device's own messages.
    pub no_local: bool,
    /// Number of the first device's subscription.
    pub first_subscription: i32,
}

/// A group ready for use.
pub struct Cohort {
    /// As planned.
    pub plan: Group,
    /// Protocol version.
    pub version: Version,
    /// Pattern of the client id.
    pub client_id: Pattern,
    /// Pattern of the user name.
    pub username: Option<Pattern>,
    /// The password's bytes.
    pub password: Option<Vec<u8>>,
    /// Pattern of the will's topic.
    pub will_topic: Option<Pattern>,
    /// What its devices subscribe to.
    pub filters: Vec<CohortFilter>,
    /// Pattern of the topics its devices publish to.
    pub topic: Option<Pattern>,
    /// QoS its devices publish with.
    pub publish_qos: QoS,
    sources: Vec<IpAddr>,
    targets: Vec<usize>,
}

impl Cohort {
    fn new(
        group: &Group,
        endpoints: &[Endpoint],
        password: Option<&String>,
        problems: &mut Problems,
    ) -> Option<Cohort> {
        let field = format!("group {:?}", group.name);
        if group.password.is_some() && password.is_none() {
            problems.add(
                format_args!("{field}: password"),
                "no secret",
                "give it in the engine's secrets",
            );
        }
        let mut read = |text: &str| match Pattern::compile(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                problems.add(&field, text, error);
                None
            }
        };
        let filters = group.subscriptions.iter().map(|subscription| {
            Some(CohortFilter {
                filter: read(&subscription.filter)?,
                qos: quality(subscription.qos),
                no_local: subscription.no_local,
                first_subscription: subscription.first_subscription,
            })
        });
        let filters = filters.collect::<Option<Vec<_>>>()?;
        let position = |name: &String| endpoints.iter().position(|endpoint| endpoint.name == *name);
        Some(Cohort {
            version: match group.version {
                plan::Version::V311 => Version::V311,
                plan::Version::V5 => Version::V5,
            },
            client_id: read(&group.client_id)?,
            username: group.username.as_deref().and_then(&mut read),
            password: password.map(|secret| secret.clone().into_bytes()),
            will_topic: group.will.as_ref().and_then(|will| read(&will.topic)),
            topic: group.publish.as_ref().and_then(|publish| read(&publish.topic)),
            publish_qos: quality(group.publish.as_ref().map_or(0, |publish| publish.qos)),
            sources: group
                .source_addresses
                .iter()
                .filter_map(|address| address.parse().ok())
                .collect(),
            targets: group.endpoints.iter().filter_map(position).collect(),
            filters,
            plan: group.clone(),
        })
    }

    /// Which of the crew's targets the device with this index connects to.
    pub fn target(&self, index: u64) -> usize {
        self.targets[(index % self.targets.len() as u64) as usize]
    }

    /// Options of the socket of the device with this index.
    pub fn socket_options(&self, index: u64) -> SocketOptions {
        let source = match self.sources.len() as u64 {
            0 => None,
            // Endpoints are taken in turn by index too: divide by them, so that each meets every source address.
            count => Some(self.sources[(index / self.targets.len() as u64 % count) as usize]),
        };
        SocketOptions {
            source,
            send_buffer: self.plan.send_buffer,
            receive_buffer: self.plan.receive_buffer,
            ports: None,
        }
    }

    /// Whether the server keeps sessions of these devices over a disconnect.
    pub fn is_durable(&self) -> bool {
        match self.version {
            Version::V311 => !self.plan.clean_start,
            Version::V5 => self.plan.session_expiry_s > 0,
        }
    }
}

/// The QoS of a checked plan.
fn quality(qos: u8) -> QoS {
    QoS::from_bits(qos).unwrap_or_default()
}

/// An address with the way to secure connections to it.
pub struct Target {
    /// Where to connect.
    pub address: SocketAddr,
    tls: Option<TlsProfile>,
}

struct TlsProfile {
    client: ClientTls,
    server_name: String,
    psk: Option<(Pattern, PskTable)>,
    /// Certificate and key, as patterns and, when they are the same for all devices, loaded.
    certificate: Option<(Pattern, Pattern)>,
    shared_identity: Option<ClientIdentity>,
}

impl Target {
    fn new(endpoint: &Endpoint) -> Result<Target, String> {
        let addresses = (endpoint.host.as_str(), endpoint.port as u16).to_socket_addrs();
        let address = addresses
            .map_err(|error| {
                format!(
                    "host: found {:?}, which cannot be resolved: {error}; check the name",
                    endpoint.host
                )
            })?
            .next()
            .ok_or_else(|| format!("host: found {:?}, which has no address; check the name", endpoint.host))?;
        let tls = endpoint
            .tls
            .as_ref()
            .map(|tls| TlsProfile::new(tls, &endpoint.host))
            .transpose()?;
        Ok(Target { address, tls })
    }

    /// Whether connections are secured.
    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether devices keep their TLS sessions.
    pub fn resumes(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client.resumes())
    }

    /// The stream over a connected socket for the device with this index.
    pub fn secure(&self, socket: Socket, index: u64, session: Option<&SessionSlot>) -> Result<Stream, String> {
        match &self.tls {
            None => Ok(Stream::Plain(socket)),
            Some(tls) => tls.secure(socket, index, session),
        }
    }
}

impl TlsProfile {
    fn new(tls: &Tls, host: &str) -> Result<TlsProfile, String> {
        let config = ClientTlsConfig {
            version: match tls.version.as_deref() {
                Some("1.2") => Some(TlsVersion::V1_2),
                Some(_) => Some(TlsVersion::V1_3),
                None => None,
            },
            cipher: tls.cipher.clone(),
            ca: tls.ca.as_ref().map(Into::into),
            verify: tls.verify,
            psk: tls.psk_identity.is_some(),
            resume: tls.resume,
        };
        let pattern = |text: &String| Pattern::compile(text).map_err(|error| error.to_string());
        let psk = match (&tls.psk_identity, &tls.psk_file) {
            (Some(identity), Some(file)) => Some((
                pattern(identity)?,
                PskTable::read(Path::new(file)).map_err(|error| format!("tls.psk_file: {error}"))?,
            )),
            _ => None,
        };
        let certificate = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => Some((pattern(certificate)?, pattern(key)?)),
            _ => None,
        };
        let mut profile = TlsProfile {
            client: ClientTls::new(&config).map_err(|error| format!("tls: {error}"))?,
            server_name: tls.server_name.clone().unwrap_or_else(|| host.to_owned()),
            psk,
            certificate,
            shared_identity: None,
        };
        profile.shared_identity = match &profile.certificate {
            Some((certificate, key)) if !certificate.uses_index() && !key.uses_index() => Some(
                profile
                    .identity(0)
                    .map_err(|error| format!("tls.certificate: {error}"))?,
            ),
            _ => None,
        };
        Ok(profile)
    }

    fn identity(&self, index: u64) -> Result<ClientIdentity, String> {
        let Some((certificate, key)) = &self.certificate else {
            return Err("no certificate is planned".to_owned());
        };
        ClientIdentity::read(Path::new(&expand(certificate, index)), Path::new(&expand(key, index)))
            .map_err(|error| error.to_string())
    }

    fn secure(&self, socket: Socket, index: u64, session: Option<&SessionSlot>) -> Result<Stream, String> {
        let own = match (&self.certificate, &self.shared_identity) {
            (Some(_), None) => Some(self.identity(index)?),
            _ => None,
        };
        let psk = self.psk.as_ref().map(|(pattern, table)| {
            let identity = expand(pattern, index);
            match table.key(&identity) {
                Some(key) => Ok(Psk {
                    key: key.to_vec(),
                    identity,
                }),
                None => Err(format!("PSK identity {identity:?} is not in the key file")),
            }
        });
        let peer = TlsPeer {
            server_name: &self.server_name,
            psk: psk.transpose()?,
            identity: own.as_ref().or(self.shared_identity.as_ref()),
            session,
        };
        self.client.connect(socket, peer).map_err(|error| error.to_string())
    }
}

/// A pattern's text for a device.
pub fn expand(pattern: &Pattern, index: u64) -> String {
    let mut text = String::new();
    pattern.expand(index, 0, &mut text);
    text
}

/// A plan ready for use by all threads.
pub struct Crew {
    /// The plan itself.
    pub plan: EnginePlan,
    /// Its groups.
    pub cohorts: Vec<Cohort>,
    /// Its endpoints.
    pub targets: Vec<Target>,
}

impl Crew {
    /// Compiles a checked plan; names that cannot be resolved and files that cannot be read are problems.
    pub fn new(plan: EnginePlan, secrets: &HashMap<String, String>) -> Result<Crew, PlanProblem> {
        let mut problems = Problems::default();
        let mut targets = Vec::new();
        for endpoint in &plan.endpoints {
            match Target::new(endpoint) {
                Ok(target) => targets.push(target),
                Err(problem) => problems.add_line(format!("endpoint {:?}: {problem}", endpoint.name)),
            }
        }
        let cohorts = plan
            .groups
            .iter()
            .filter_map(|group| Cohort::new(group, &plan.endpoints, secrets.get(&group.name), &mut problems));
        let cohorts = cohorts.collect();
        problems.into_result()?;
        Ok(Crew { plan, cohorts, targets })
    }
}
