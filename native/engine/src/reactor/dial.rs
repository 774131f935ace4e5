//! Who connects next: first attempts in plan order and reconnects, at the plan's rate and parallelism.

use std::collections::VecDeque;

use telemark_mqtt::packet::{Publish, PublishTemplate};
use telemark_mqtt::state::Outbound;

use super::Reactor;
use crate::cohort::{expand, Cohort};
use crate::device::{Device, Publisher};
use crate::pending::Queue;
use crate::plan::EnginePlan;

/// Paces connection attempts of one thread.
pub(super) struct Dial {
    /// Devices a second; 0: no pacing.
    rate: f64,
    parallel: usize,
    /// Pacing counts from here.
    origin_ns: i64,
    begun: u64,
    pub(super) under_way: usize,
    waiting: VecDeque<u32>,
}

impl Dial {
    /// This thread's share of the plan's rate and parallelism, with the threads' attempts interleaved.
    pub(super) fn new(plan: &EnginePlan, thread: usize, now: i64) -> Dial {
        let threads = plan.threads as usize;
        let offset = if plan.connect_rate > 0.0 {
            thread as f64 / plan.connect_rate * 1e9
        } else {
            0.0
        };
        Dial {
            rate: plan.connect_rate / threads as f64,
            parallel: (plan.connect_parallel as usize).div_ceil(threads),
            origin_ns: now + offset as i64,
            begun: 0,
            under_way: 0,
            waiting: VecDeque::new(),
        }
    }

    /// A device wants to connect. Time in which nobody wanted to is not saved up for a storm later.
    pub(super) fn want(&mut self, place: u32, now: i64) {
        if self.waiting.is_empty() && self.begun > 0 && self.due() < now {
            self.origin_ns = now;
            self.begun = 0;
        }
        self.waiting.push_back(place);
    }

    /// When the next attempt may begin; None: nobody waits, or an attempt under way must end first.
    pub(super) fn next(&self, now: i64) -> Option<i64> {
        if self.waiting.is_empty() || self.under_way >= self.parallel {
            return None;
        }
        Some(if self.rate > 0.0 { self.due() } else { now })
    }

    fn due(&self) -> i64 {
        if self.rate <= 0.0 {
            return self.origin_ns;
        }
        self.origin_ns + (self.begun as f64 / self.rate * 1e9) as i64
    }

    fn take(&mut self, now: i64) -> Option<u32> {
        self.next(now).filter(|due| *due <= now)?;
        self.begun += 1;
        self.waiting.pop_front()
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Reactor {
    /// Begins as many attempts as may begin now.
    pub(super) fn dial(&mut self, now: i64) {
        while let Some(place) = self.dial.take(now) {
            self.begin_attempt(place as usize);
        }
    }

    /// Makes this thread's devices: every `threads`-th of the plan.
    pub(super) fn populate(&mut self) {
        let crew = std::sync::Arc::clone(&self.crew);
        let threads = crew.plan.threads as usize;
        let mut number = 0;
        for (place, cohort) in crew.cohorts.iter().enumerate() {
            for within in 0..cohort.plan.count {
                let mine = number % threads == self.thread;
                if mine {
                    self.add_device(cohort, place as u32, within);
                } else if cohort.topic.is_some() {
                    self.places.push(u32::MAX);
                }
                number += 1;
            }
        }
    }

    fn add_device(&mut self, cohort: &Cohort, place: u32, within: u32) {
        let index = cohort.plan.first_index + u64::from(within);
        let mut device = Device::new(index, cohort.plan.first_device + within as i32, place);
        if cohort.filters.len() > 1 {
            device.filters = cohort
                .filters
                .iter()
                .map(|filter| expand(&filter.filter, index).into())
                .collect();
        }
        let at = self.devices.len() as u32;
        if let Some(plan) = &cohort.plan.publish {
            device.publisher = self.publishers.len() as u32;
            self.places.push(device.publisher);
            self.publishers.push(Publisher {
                device: at,
                stream: plan.first_stream + within,
                queue: Queue::default(),
                waits: false,
                listed: false,
                sequence: 0,
                sent: 0,
                acked: 0,
                dropped: 0,
                bytes: 0,
                template: template(cohort, index),
                outbound: Outbound::new(plan.in_flight as u16),
                aliases: None,
            });
        }
        self.devices.push(device);
        let now = self.second_ns;
        self.dial.want(at, now);
    }
}

/// The fixed part of a device's PUBLISH; None when topic or alias change from message to message.
fn template(cohort: &Cohort, index: u64) -> Option<PublishTemplate> {
    let (plan, pattern) = (cohort.plan.publish.as_ref()?, cohort.topic.as_ref()?);
    if plan.topic_alias || pattern.uses_sequence() {
        return None;
    }
    let topic = expand(pattern, index);
    let message = Publish {
        qos: cohort.publish_qos,
        retain: plan.retain,
        topic: &topic,
        ..Publish::default()
    };
    PublishTemplate::new(&message, cohort.version).ok()
}
