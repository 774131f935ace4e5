//! One thread's records: rows are collected here, those of messages encoded, and handed over in whole batches.

use std::sync::Arc;

use crate::hub::Hub;
use crate::records::{Acknowledged, Batch, Connection, Delivery, Dense, Event, Rows, Sender, Subscribed, Text};

/// Collects rows of every table.
pub struct Recorder {
    hub: Arc<Hub>,
    /// Engine process, for the rows that carry it.
    pub process: i16,
    deliveries: Dense<Delivery>,
    acks: Dense<Acknowledged>,
    connections: Rows<Connection>,
    events: Rows<Event>,
    subscribed: Rows<Subscribed>,
    senders: Rows<Sender>,
}

impl Recorder {
    /// Hands over to this hub.
    pub fn new(hub: Arc<Hub>, process: i16) -> Recorder {
        Recorder {
            hub,
            process,
            deliveries: Dense::default(),
            acks: Dense::default(),
            connections: Rows::default(),
            events: Rows::default(),
            subscribed: Rows::default(),
            senders: Rows::default(),
        }
    }

    fn hand_over(&self, batch: Option<Batch>) {
        if let Some(batch) = batch {
            self.hub.hand_over(batch);
        }
    }

    /// A message was received.
    #[inline]
    pub fn delivery(&mut self, row: Delivery) {
        let full = self.deliveries.push(row);
        if full.is_some() {
            self.hand_over(full);
        }
    }

    /// A message was acknowledged.
    #[inline]
    pub fn ack(&mut self, row: Acknowledged) {
        let full = self.acks.push(row);
        if full.is_some() {
            self.hand_over(full);
        }
    }

    /// An attempt to connect ended.
    pub fn connection(&mut self, row: Connection) {
        let full = self.connections.push(row);
        self.hand_over(full);
    }

    /// Something happened to a device.
    pub fn event(&mut self, time_ns: i64, device: i32, kind: &'static str, code: Option<i32>, detail: impl Into<Text>) {
        let process = self.process;
        let row = Event {
            time_ns,
            process,
            device,
            kind: Text::Borrowed(kind),
            code,
            detail: detail.into(),
        };
        let full = self.events.push(row);
        self.hand_over(full);
    }

    /// A subscription was in force.
    pub fn subscribed(&mut self, row: Subscribed) {
        let full = self.subscribed.push(row);
        self.hand_over(full);
    }

    /// What a publisher did in all.
    pub fn sender(&mut self, row: Sender) {
        let full = self.senders.push(row);
        self.hand_over(full);
    }

    /// Hands over all rows there are.
    pub fn flush(&mut self) {
        let batches = [
            self.deliveries.take(),
            self.acks.take(),
            self.connections.take(),
            self.events.take(),
            self.subscribed.take(),
            self.senders.take(),
        ];
        batches
            .into_iter()
            .flatten()
            .for_each(|batch| self.hub.hand_over(batch));
    }
}
