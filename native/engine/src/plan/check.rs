//! The rules of a plan, all of them, so that the user sees every problem at once.

use std::collections::HashMap;
use std::net::IpAddr;

use telemark_mqtt::pattern::Pattern;
use telemark_mqtt::topic::{check_filter, check_name};

use super::load::check_load;
use super::{Endpoint, EnginePlan, Group, Problems, Publish, Subscription, Tls, Version, MINIMUM_PAYLOAD};

/// Files a process needs besides its connections: libraries, Parquet files, pollers.
const OTHER_FILES: u64 = 64;

pub(super) fn check(plan: &EnginePlan, problems: &mut Problems) {
    problems.check((1..=64).contains(&plan.threads), "threads", plan.threads, "use 1 to 64");
    problems.not_negative("connect_rate", plan.connect_rate);
    problems.check(
        plan.connect_parallel > 0,
        "connect_parallel",
        plan.connect_parallel,
        "at least 1 is needed",
    );
    problems.positive("connect_timeout_s", plan.connect_timeout_s);
    problems.not_negative("send_for_s", plan.send_for_s);
    problems.check(
        !plan.groups.is_empty(),
        "groups",
        "none",
        "give at least one group of devices",
    );
    plan.endpoints
        .iter()
        .for_each(|endpoint| check_endpoint(endpoint, problems));
    for (number, group) in plan.groups.iter().enumerate() {
        check_group(plan, group, &format!("groups[{number}] {:?}", group.name), problems);
    }
    check_load(plan, problems);
    check_file_limit(plan, problems);
    check_ports(plan, problems);
}

fn check_endpoint(endpoint: &Endpoint, problems: &mut Problems) {
    let field = format!("endpoints {:?}", endpoint.name);
    problems.check(
        !endpoint.host.is_empty(),
        format_args!("{field}: host"),
        "nothing",
        "name the server's host or address",
    );
    let port = endpoint.port;
    problems.check(
        (1..=65_535).contains(&port),
        format_args!("{field}: port"),
        port,
        "use 1 to 65535",
    );
    if let Some(tls) = &endpoint.tls {
        check_tls(tls, &field, problems);
    }
}

fn check_tls(tls: &Tls, field: &str, problems: &mut Problems) {
    if let Some(version) = &tls.version {
        let known = version == "1.2" || version == "1.3";
        problems.check(
            known,
            format_args!("{field}: tls.version"),
            version,
            "use \"1.2\" or \"1.3\"",
        );
    }
    problems.check(
        tls.certificate.is_some() == tls.key.is_some(),
        format_args!("{field}: tls.certificate and tls.key"),
        "only one of them",
        "give both or none",
    );
    problems.check(
        tls.psk_identity.is_some() == tls.psk_file.is_some(),
        format_args!("{field}: tls.psk_identity and tls.psk_file"),
        "only one of them",
        "give both or none",
    );
    for (name, pattern) in [
        ("certificate", &tls.certificate),
        ("key", &tls.key),
        ("psk_identity", &tls.psk_identity),
    ] {
        check_pattern(pattern.as_deref(), &format!("{field}: tls.{name}"), problems);
    }
}

fn check_pattern(pattern: Option<&str>, field: &str, problems: &mut Problems) {
    if let Some(Err(error)) = pattern.map(Pattern::compile_without_sequence) {
        problems.add(field, format_args!("{:?}", pattern.unwrap_or_default()), error);
    }
}

fn check_group(plan: &EnginePlan, group: &Group, field: &str, problems: &mut Problems) {
    problems.check(
        !group.endpoints.is_empty(),
        format_args!("{field}: endpoints"),
        "none",
        "name at least one",
    );
    for name in &group.endpoints {
        let known = plan.endpoints.iter().any(|endpoint| endpoint.name == *name);
        problems.check(
            known,
            format_args!("{field}: endpoints"),
            format_args!("{name:?}"),
            "no endpoint has this name",
        );
    }
    check_pattern(Some(&group.client_id), &format!("{field}: client_id"), problems);
    check_pattern(group.username.as_deref(), &format!("{field}: username"), problems);
    check_limits(group, field, problems);
    check_version(group, field, problems);
    for address in &group.source_addresses {
        let valid = address.parse::<IpAddr>().is_ok();
        problems.check(
            valid,
            format_args!("{field}: source_addresses"),
            address,
            "use IP addresses",
        );
    }
    group
        .subscriptions
        .iter()
        .for_each(|subscription| check_subscription(subscription, field, problems));
    if let Some(publish) = &group.publish {
        check_publish(publish, field, problems);
    }
    if let Some(will) = &group.will {
        check_pattern(Some(&will.topic), &format!("{field}: will.topic"), problems);
        check_qos(will.qos, &format!("{field}: will.qos"), problems);
    }
}

fn check_limits(group: &Group, field: &str, problems: &mut Problems) {
    problems.check(
        group.keep_alive_s <= 65_535,
        format_args!("{field}: keep_alive_s"),
        group.keep_alive_s,
        "use 0 to 65535",
    );
    if let Some(maximum) = group.receive_maximum {
        let fits = (1..=65_535).contains(&maximum);
        problems.check(
            fits,
            format_args!("{field}: receive_maximum"),
            maximum,
            "use 1 to 65535",
        );
    }
    problems.not_negative(&format!("{field}: reconnect.delay_s"), group.reconnect.delay_s);
    let numbers = u64::from(group.count) + group.first_device.max(0) as u64;
    problems.check(
        group.first_device >= 0 && numbers <= i32::MAX as u64,
        format_args!("{field}: first_device"),
        group.first_device,
        "device numbers must lie in 0 to 2147483647",
    );
}

/// What only MQTT 5 has must not be asked of 3.1.1: it would be ignored silently.
fn check_version(group: &Group, field: &str, problems: &mut Problems) {
    if group.version == Version::V5 {
        return;
    }
    let asked = [
        ("session_expiry_s", group.session_expiry_s > 0),
        ("receive_maximum", group.receive_maximum.is_some()),
        ("will.delay_s", group.will.as_ref().is_some_and(|will| will.delay_s > 0)),
        (
            "publish.topic_alias",
            group.publish.as_ref().is_some_and(|publish| publish.topic_alias),
        ),
        (
            "subscriptions.no_local",
            group.subscriptions.iter().any(|subscription| subscription.no_local),
        ),
    ];
    for (name, is_asked) in asked {
        problems.check(
            !is_asked,
            format_args!("{field}: {name}"),
            "it with version 3.1.1",
            "use version \"5\" or leave it out",
        );
    }
    let needs_user = group.password.is_some() && group.username.is_none();
    problems.check(
        !needs_user,
        format_args!("{field}: password"),
        "no username",
        "MQTT 3.1.1 needs a username with it",
    );
}

fn check_subscription(subscription: &Subscription, field: &str, problems: &mut Problems) {
    let field = format!("{field}: subscriptions {:?}", subscription.filter);
    check_qos(subscription.qos, &format!("{field}: qos"), problems);
    match Pattern::compile_without_sequence(&subscription.filter) {
        Err(error) => problems.add(&field, "no pattern", error),
        Ok(pattern) => {
            let mut text = String::new();
            pattern.expand(0, 0, &mut text);
            if let Err(error) = check_filter(&text) {
                problems.add(&field, format_args!("{text:?}"), error);
            }
            let shared = text.starts_with("$share/");
            problems.check(
                !(shared && subscription.no_local),
                &field,
                "no_local",
                "MQTT forbids it for shared subscriptions",
            );
        }
    }
}

fn check_publish(publish: &Publish, field: &str, problems: &mut Problems) {
    check_qos(publish.qos, &format!("{field}: publish.qos"), problems);
    let largest = publish.size_max.unwrap_or(publish.size);
    problems.check(
        publish.size >= MINIMUM_PAYLOAD,
        format_args!("{field}: publish.size"),
        publish.size,
        format_args!("at least {MINIMUM_PAYLOAD} bytes are needed for the stamp"),
    );
    problems.check(
        largest >= publish.size,
        format_args!("{field}: publish.size_max"),
        largest,
        "it must not be below size",
    );
    problems.check(
        largest <= 256_000_000,
        format_args!("{field}: publish.size"),
        largest,
        "MQTT allows 256 MB at most",
    );
    let window = publish.in_flight;
    problems.check(
        (1..=65_535).contains(&window),
        format_args!("{field}: publish.in_flight"),
        window,
        "use 1 to 65535",
    );
    match Pattern::compile(&publish.topic) {
        Err(error) => problems.add(
            format_args!("{field}: publish.topic"),
            format_args!("{:?}", publish.topic),
            error,
        ),
        Ok(pattern) => {
            let mut text = String::new();
            pattern.expand(0, 0, &mut text);
            if let Err(error) = check_name(&text) {
                problems.add(format_args!("{field}: publish.topic"), format_args!("{text:?}"), error);
            }
        }
    }
}

fn check_qos(qos: u8, field: &str, problems: &mut Problems) {
    problems.check(qos <= 2, field, qos, "use 0, 1 or 2");
}

fn check_file_limit(plan: &EnginePlan, problems: &mut Problems) {
    let needed = plan.devices() + OTHER_FILES;
    if let Ok(limit) = telemark_net::open_file_limit() {
        problems.check(
            needed <= limit,
            "groups: count",
            format_args!("{} devices, but this process may open {limit} files", plan.devices()),
            "spread them over more engine processes or raise the limit (ulimit -Hn)",
        );
    }
}

/// One source address has so many ports for one destination; more devices than that cannot connect.
fn check_ports(plan: &EnginePlan, problems: &mut Problems) {
    let ports = local_ports();
    let mut used: HashMap<(&str, &str), u64> = HashMap::new();
    for group in &plan.groups {
        let sources = group.source_addresses.len().max(1) as u64;
        let endpoints = group.endpoints.len().max(1) as u64;
        let share = u64::from(group.count).div_ceil(sources * endpoints);
        let system_chooses = group.source_addresses.is_empty().then_some("");
        for endpoint in &group.endpoints {
            for address in group.source_addresses.iter().map(String::as_str).chain(system_chooses) {
                *used.entry((endpoint, address)).or_default() += share;
            }
        }
    }
    for ((endpoint, address), count) in used {
        let address = if address.is_empty() {
            "the system's choice"
        } else {
            address
        };
        problems.check(
            count <= ports,
            "groups: source_addresses",
            format_args!("{count} connections from {address} to endpoint {endpoint:?}"),
            format_args!(
                "one address has {ports} ports for it: give more source_addresses, in 127.0.0.0/8 on one host"
            ),
        );
    }
}

fn local_ports() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut numbers = text.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(first), Some(last)) if last >= first => last - first + 1,
        _ => 28_232,
    }
}
