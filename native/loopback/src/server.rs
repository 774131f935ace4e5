//! Starting and stopping the server: listeners, threads, control interface.

use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::config::Config;
use crate::control::Control;
use crate::hub::Hub;
use crate::listener::Entrance;
use crate::reactor::Reactor;
use crate::shared::Shared;

/// Why the server did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError {
    /// Name of the listener at fault; "control" for the control interface, "server" for the rest.
    pub listener: String,
    /// What went wrong.
    pub reason: String,
}

impl std::fmt::Display for StartError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "listener {:?}: {}", self.listener, self.reason)
    }
}

impl std::error::Error for StartError {}

impl StartError {
    pub(crate) fn server(error: &std::io::Error) -> Self {
        Self {
            listener: "server".to_owned(),
            reason: error.to_string(),
        }
    }
}

/// A running server. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    ports: BTreeMap<String, u16>,
}

impl Server {
    /// Listens and starts the threads; connections are accepted when this returns.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let entrances: Vec<Entrance> = config.listeners.iter().map(Entrance::open).collect::<Result<_, _>>()?;
        let control = config.control_port.map(Control::bind).transpose()?;
        let mut ports = BTreeMap::new();
        for entrance in &entrances {
            let port = entrance.port().map_err(|error| StartError::server(&error))?;
            ports.insert(entrance.name.clone(), port);
        }
        if let Some(control) = &control {
            ports.insert("control".to_owned(), control.port());
        }
        // More devices than the soft limit of open files allows is the normal case here; failure shows at accept.
        let _ = telemark_net::raise_open_file_limit();
        let threads = config.threads;
        let failed = |error: std::io::Error| StartError::server(&error);
        let shared = Arc::new(Shared::new(Hub::new(config), threads).map_err(failed)?);
        let mut server = Self {
            shared,
            threads: Vec::new(),
            ports,
        };
        server.start_reactors(threads, Arc::new(entrances)).map_err(failed)?;
        if let Some(control) = control {
            server.start_control(control).map_err(failed)?;
        }
        Ok(server)
    }

    fn start_reactors(&mut self, threads: usize, entrances: Arc<Vec<Entrance>>) -> std::io::Result<()> {
        for thread in 0..threads {
            let mut reactor = Reactor::new(thread, Arc::clone(&self.shared), Arc::clone(&entrances))?;
            self.spawn(format!("loopback-{thread}"), move || reactor.run())?;
        }
        Ok(())
    }

    fn start_control(&mut self, control: Control) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        self.spawn("loopback-control".to_owned(), move || control.run(&shared))
    }

    /// Runs a thread whose failure or panic ends the server with a reason.
    fn spawn(
        &mut self,
        name: String,
        body: impl FnOnce() -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let guarded = move || {
            match catch_unwind(AssertUnwindSafe(body)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => shared.fail(error.to_string()),
                Err(_) => shared.fail("a thread of the built-in server panicked; its message is on stderr".to_owned()),
            }
            shared.thread_ended();
        };
        self.shared.thread_started();
        self.threads
            .push(std::thread::Builder::new().name(name).spawn(guarded)?);
        Ok(())
    }

    /// Port of every listener by name, and of the control interface as "control".
    #[must_use]
    pub fn ports(&self) -> &BTreeMap<String, u16> {
        &self.ports
    }

    /// Waits until the server has stopped; false when the time is up before.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        self.shared.wait_for_end(timeout)
    }

    /// Why the server died, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.failure()
    }

    /// Stops the server and waits for its threads. Safe to call twice.
    pub fn stop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already left its reason in `failure`.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
