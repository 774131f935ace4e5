//! The control interface: a few JSON answers over HTTP, on the loopback address only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use telemark_net::{Events, Interest, Poller};

use crate::faults::FaultSettings;
use crate::server::StartError;
use crate::shared::Shared;

const WAKE: u64 = 0;
const LISTENER: u64 = 1;
/// A client that does not finish its request in this time is left alone.
const PATIENCE: Duration = Duration::from_secs(1);
const LARGEST_BODY: usize = 1 << 20;
const LARGEST_HEAD: u64 = 64 * 1024;

/// The listening socket and its port.
pub struct Control {
    listener: TcpListener,
    port: u16,
}

struct Request {
    method: String,
    path: String,
    head: Head,
    body: Vec<u8>,
}

/// The header fields that matter.
#[derive(Default)]
struct Head {
    length: usize,
    host: String,
    origin: Option<String>,
}

impl Head {
    /// Whether a program of this host asks, and no web page: a page whose name was pointed at this address names
    /// another host, and one of another site says where it comes from. Programs may say it without the port.
    fn is_own(&self, port: u16) -> bool {
        let is_ours = |name: &str| matches!(name, "127.0.0.1" | "localhost");
        let with_port = |name: &str| name.strip_suffix(&format!(":{port}")).is_some_and(is_ours);
        let is_own_origin = |origin: &str| {
            let name = origin.strip_prefix("http://");
            name.is_some_and(|name| is_ours(name) || with_port(name))
        };
        with_port(&self.host) && self.origin.as_deref().map_or(true, is_own_origin)
    }
}

struct Answer {
    status: &'static str,
    body: String,
}

impl Control {
    /// Listens at the port; 0 takes any free one.
    pub fn bind(port: u16) -> Result<Self, StartError> {
        let failed = |error: std::io::Error| StartError {
            listener: "control".to_owned(),
            reason: format!("cannot listen at 127.0.0.1:{port}: {error}"),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    /// The real port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Answers one request after the other until the server stops.
    pub fn run(&self, shared: &Arc<Shared>) -> std::io::Result<()> {
        let poller = Poller::new()?;
        let waker = &shared.wakers[shared.wakers.len() - 1];
        poller.add(waker, WAKE, Interest::READ)?;
        poller.add(&self.listener, LISTENER, Interest::READ)?;
        let mut events = Events::with_capacity(4);
        while !shared.stopping() {
            poller.wait(&mut events, None)?;
            while let Ok((stream, _)) = self.listener.accept() {
                // A client that breaks off is its own problem.
                let _ = serve(stream, self.port, shared);
            }
        }
        Ok(())
    }
}

fn serve(mut stream: TcpStream, port: u16, shared: &Shared) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let answer = match read_request(&stream)? {
        Some(request) if !request.head.is_own(port) => error(
            "421 Misdirected Request",
            "only programs of this host may ask, by its loopback address",
        ),
        Some(request) => respond(&request, shared),
        None => error("400 Bad Request", "the request cannot be read"),
    };
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(answer.body.as_bytes())
}

fn read_request(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream.take(LARGEST_HEAD + LARGEST_BODY as u64));
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let Some(head) = read_head(&mut reader)? else {
        return Ok(None);
    };
    let mut body = vec![0; head.length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request {
        method,
        path,
        head,
        body,
    }))
}

/// Reads the header to its end; None when the body is too large or a field is none.
fn read_head(reader: &mut impl BufRead) -> std::io::Result<Option<Head>> {
    let mut head = Head::default();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(head).filter(|head| head.length <= LARGEST_BODY));
        }
        let Some((name, value)) = line.split_once(':') else {
            return Ok(None);
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => match value.parse() {
                Ok(number) => head.length = number,
                Err(_) => return Ok(None),
            },
            "host" => head.host = value.to_owned(),
            "origin" => head.origin = Some(value.to_owned()),
            _ => {}
        }
    }
}

fn respond(request: &Request, shared: &Shared) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/health") => json(&serde_json::json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})),
        ("GET", "/counters") => {
            let report = shared.hub().counters();
            json(&report)
        }
        ("GET", "/faults") => json(&shared.hub().faults.report()),
        ("POST", "/faults") => set_faults(&request.body, shared),
        (_, "/health" | "/counters" | "/faults") => error("405 Method Not Allowed", "use GET, or POST for /faults"),
        _ => error("404 Not Found", "expected /health, /counters or /faults"),
    }
}

fn set_faults(body: &[u8], shared: &Shared) -> Answer {
    let settings: FaultSettings = match serde_json::from_slice(body) {
        Ok(settings) => settings,
        Err(problem) => return error("400 Bad Request", &problem.to_string()),
    };
    let problems = settings.problems();
    if !problems.is_empty() {
        return error("400 Bad Request", &problems.join("; "));
    }
    let (answer, wakes) = {
        let mut hub = shared.hub();
        hub.set_faults(settings);
        (json(&hub.faults.report()), hub.take_wakes(None))
    };
    shared.wake(wakes);
    answer
}

fn json(value: &impl serde::Serialize) -> Answer {
    match serde_json::to_string(value) {
        Ok(body) => Answer { status: "200 OK", body },
        Err(problem) => error("500 Internal Server Error", &problem.to_string()),
    }
}

fn error(status: &'static str, message: &str) -> Answer {
    Answer {
        status,
        body: serde_json::json!({ "error": message }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_of_this_host_are_answered() {
        let cases = [
            ("Host: 127.0.0.1:77\r\n", true),
            ("HOST: localhost:77\r\nOrigin: http://localhost:77\r\n", true),
            ("Host: 127.0.0.1:77\r\nOrigin: http://127.0.0.1\r\n", true),
            ("", false),
            ("Host: 127.0.0.1\r\n", false),
            ("Host: evil.example:77\r\n", false),
            ("Host: 127.0.0.1:77\r\nOrigin: http://evil.example\r\n", false),
            ("Host: 127.0.0.1:77\r\nOrigin: http://localhost:80\r\n", false),
            ("Host: 127.0.0.1:77\r\nOrigin: null\r\n", false),
        ];
        for (text, expected) in cases {
            let head = read_head(&mut text.as_bytes()).unwrap().unwrap();
            assert_eq!(expected, head.is_own(77), "{text:?}");
        }
    }
}
