//! The plan of one engine process, as `telemark.model.plan.EnginePlan` writes it to JSON.
//!
//! The structures mirror the Python dataclasses field by field; a field that is unknown here is an error, so that the
//! two sides cannot drift apart silently. [`EnginePlan::read`] checks everything and reports all problems together.

mod check;
mod load;
mod problem;
pub mod shapes;

use serde::Deserialize;

pub use load::Load;
pub use problem::{PlanProblem, Problems};

/// Bytes of the stamp: the smallest payload.
pub const MINIMUM_PAYLOAD: u32 = 32;

/// MQTT protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Version {
    /// MQTT 3.1.1
    #[serde(rename = "3.1.1")]
    V311,
    /// MQTT 5.0
    #[serde(rename = "5")]
    V5,
}

/// Where a secret is found; only the Python side looks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Secret {
    pub env: Option<String>,
    pub file: Option<String>,
}

/// How a device secures its connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Tls {
    pub version: Option<String>,
    pub cipher: Option<String>,
    pub ca: Option<String>,
    #[serde(default = "yes")]
    pub verify: bool,
    pub server_name: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
    pub psk_identity: Option<String>,
    pub psk_file: Option<String>,
    #[serde(default)]
    pub resume: bool,
}

/// One address devices connect to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Endpoint {
    pub name: String,
    pub host: String,
    pub port: u32,
    pub tls: Option<Tls>,
}

/// The message the server sends for a device that vanishes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Will {
    pub topic: String,
    #[serde(default = "minimum_payload")]
    pub size: u32,
    #[serde(default)]
    pub qos: u8,
    #[serde(default)]
    pub retain: bool,
    #[serde(default)]
    pub delay_s: u32,
}

/// One filter every device of the group subscribes to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Subscription {
    pub filter: String,
    #[serde(default)]
    pub qos: u8,
    #[serde(default)]
    pub first_subscription: i32,
    #[serde(default)]
    pub no_local: bool,
}

/// What every device of the group publishes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Publish {
    pub topic: String,
    #[serde(default)]
    pub qos: u8,
    #[serde(default = "minimum_payload")]
    pub size: u32,
    pub size_max: Option<u32>,
    #[serde(default)]
    pub retain: bool,
    #[serde(default = "full_window")]
    pub in_flight: u32,
    #[serde(default)]
    pub topic_alias: bool,
    #[serde(default)]
    pub first_stream: u32,
}

/// What a device does after an unexpected disconnect.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Reconnect {
    pub policy: ReconnectPolicy,
    #[serde(default = "one")]
    pub delay_s: f64,
    #[serde(default = "ten")]
    pub attempts: u32,
}

/// Whether a device connects again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum ReconnectPolicy {
    Never,
    After,
}

impl Default for Reconnect {
    fn default() -> Reconnect {
        Reconnect {
            policy: ReconnectPolicy::Never,
            delay_s: 1.0,
            attempts: 10,
        }
    }
}

/// Devices that differ only in their number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Group {
    pub name: String,
    pub count: u32,
    #[serde(default)]
    pub first_index: u64,
    #[serde(default)]
    pub first_device: i32,
    #[serde(default = "plain")]
    pub endpoints: Vec<String>,
    #[serde(default = "client_id")]
    pub client_id: String,
    #[serde(default = "version_311")]
    pub version: Version,
    #[serde(default = "yes")]
    pub clean_start: bool,
    #[serde(default)]
    pub session_expiry_s: u32,
    #[serde(default = "five_minutes")]
    pub keep_alive_s: u32,
    pub receive_maximum: Option<u32>,
    pub username: Option<String>,
    pub password: Option<Secret>,
    pub will: Option<Will>,
    #[serde(default)]
    pub source_addresses: Vec<String>,
    pub send_buffer: Option<u32>,
    pub receive_buffer: Option<u32>,
    #[serde(default)]
    pub subscriptions: Vec<Subscription>,
    pub publish: Option<Publish>,
    #[serde(default)]
    pub reconnect: Reconnect,
}

/// One engine process's whole knowledge of the run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct EnginePlan {
    pub run: String,
    pub process: i16,
    pub seed: u64,
    pub endpoints: Vec<Endpoint>,
    pub groups: Vec<Group>,
    #[serde(default)]
    pub load: Load,
    #[serde(default)]
    pub slot: u32,
    #[serde(default = "one_slot")]
    pub slots: u32,
    #[serde(default = "one_thread")]
    pub threads: u32,
    #[serde(default = "thousand")]
    pub connect_rate: f64,
    #[serde(default = "parallel")]
    pub connect_parallel: u32,
    #[serde(default = "thirty")]
    pub connect_timeout_s: f64,
    #[serde(default)]
    pub send_for_s: f64,
    #[serde(default)]
    pub relay_credits: bool,
    #[serde(default = "largest_packet")]
    pub max_packet_size: u32,
    #[serde(default = "yes")]
    pub record_deliveries: bool,
    #[serde(default = "yes")]
    pub record_acks: bool,
}

impl EnginePlan {
    /// Reads a plan and checks it; every problem found is in the error.
    pub fn read(json: &str) -> Result<EnginePlan, PlanProblem> {
        let plan: EnginePlan = serde_json::from_str(json)
            .map_err(|error| PlanProblem::one(format!("the plan is not an EnginePlan: {error}")))?;
        let mut problems = Problems::default();
        check::check(&plan, &mut problems);
        problems.into_result()?;
        Ok(plan)
    }

    /// All devices of the plan.
    pub fn devices(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// All devices that publish.
    pub fn publishers(&self) -> u64 {
        let publishing = self.groups.iter().filter(|group| group.publish.is_some());
        publishing.map(|group| u64::from(group.count)).sum()
    }
}

fn yes() -> bool {
    true
}
fn one() -> f64 {
    1.0
}
fn ten() -> u32 {
    10
}
fn thirty() -> f64 {
    30.0
}
fn thousand() -> f64 {
    1000.0
}
fn parallel() -> u32 {
    256
}
fn largest_packet() -> u32 {
    16 << 20
}
fn one_slot() -> u32 {
    1
}
fn one_thread() -> u32 {
    1
}
fn minimum_payload() -> u32 {
    MINIMUM_PAYLOAD
}
fn full_window() -> u32 {
    65_535
}
fn five_minutes() -> u32 {
    300
}
fn plain() -> Vec<String> {
    vec!["plain".to_owned()]
}
fn client_id() -> String {
    "telemark-{index}".to_owned()
}
fn version_311() -> Version {
    Version::V311
}
