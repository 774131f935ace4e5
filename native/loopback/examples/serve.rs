//! Runs the built-in server alone: `cargo run --release -p telemark-loopback --example serve -- '{"threads": 1}'`.

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "{}".to_owned());
    let server = telemark_loopback::Server::start(telemark_loopback::Config::from_json(&text)?)?;
    println!("{}", serde_json::to_string(server.ports())?);
    while !server.wait(Duration::from_secs(3600)) {}
    Err(server.failure().unwrap_or_default().into())
}
