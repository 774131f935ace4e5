//! What the sessions of one thread share: records, counts, timers, queues and buffers.

use std::sync::Arc;

use crate::dial::Dial;
use crate::histogram::Histogram;
use crate::hub::Hub;
use crate::pending::Arena;
use crate::plan::EnginePlan;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::timeline::Timeline;
use crate::wheel::Wheel;

use super::outgoing::Outgoing;

/// Running totals of a thread.
#[derive(Default)]
#[allow(missing_docs)] // as in `hub::Live`
pub struct Totals {
    pub connected: i64,
    pub ready: i64,
    pub failed: i64,
    pub intended: i64,
    pub sent: i64,
    pub acked: i64,
    pub dropped: i64,
    pub received: i64,
    pub disconnects: i64,
}

/// Everything a session may change besides itself.
pub struct Context {
    /// Rows go here.
    pub recorder: Recorder,
    /// Counts per second go here.
    pub timeline: Timeline,
    /// Totals for the live view.
    pub totals: Totals,
    /// Latencies of the running second, for the live view.
    pub histogram: Histogram,
    /// Timers of all sessions.
    pub wheel: Wheel,
    /// Who connects next.
    pub dial: Dial,
    /// The queues of due messages.
    pub arena: Arena,
    /// Sessions that have something to send and may be able to.
    pub due: Vec<u32>,
    /// Sessions whose messages wait for room; looked at when they get too late.
    pub waiting: Vec<u32>,
    /// When to look at those.
    pub next_sweep_ns: i64,
    /// Control packets the session called last wants written.
    pub out: Vec<u8>,
    /// Messages the session called last wants written.
    pub outgoing: Outgoing,
    /// Messages of which bytes wait with their sessions.
    pub unsent: usize,
    /// No device connects any more.
    pub finishing: bool,
    pub(super) hub: Arc<Hub>,
    pub(super) random: Random,
    pub(super) connect_timeout_s: f64,
    pub(super) max_packet_size: u32,
    pub(super) max_lateness_ns: i64,
    pub(super) record_deliveries: bool,
    pub(super) record_acks: bool,
}

impl Context {
    /// For a thread that begins now.
    pub fn new(plan: &EnginePlan, hub: Arc<Hub>, thread: usize, now: i64) -> Context {
        Context {
            recorder: Recorder::new(Arc::clone(&hub), plan.process),
            timeline: Timeline::new(now),
            totals: Totals::default(),
            histogram: Histogram::default(),
            wheel: Wheel::default(),
            dial: Dial::new(plan, thread, now),
            arena: Arena::default(),
            due: Vec::new(),
            waiting: Vec::new(),
            next_sweep_ns: i64::MAX,
            out: Vec::new(),
            outgoing: Outgoing::new(plan),
            unsent: 0,
            finishing: false,
            hub,
            random: Random::new(plan.seed ^ (thread as u64 + 1).wrapping_mul(0xA076_1D64_78BD_642F)),
            connect_timeout_s: plan.connect_timeout_s,
            max_packet_size: plan.max_packet_size,
            max_lateness_ns: (plan.load.max_lateness_s * 1e9) as i64,
            record_deliveries: plan.record_deliveries,
            record_acks: plan.record_acks,
        }
    }
}
