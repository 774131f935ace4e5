//! SUBSCRIBE and SUBACK, and what a resumed session brings along.

use std::sync::Arc;

use telemark_mqtt::limits::Limits;
use telemark_mqtt::packet::{List, Suback, Subscribe, SubscribeEntry};
use telemark_mqtt::properties::Properties;
use telemark_mqtt::state::OutboundAliases;

use super::fault::Fault;
use super::Reactor;
use crate::cohort::expand;
use crate::device::{InFlight, State, NO_PUBLISHER};

impl Reactor {
    /// Sends SUBSCRIBE, or is ready at once when there is nothing to subscribe to or the server still knows it.
    pub(super) fn subscribe_or_ready(&mut self, place: usize, session_present: bool, now: i64) {
        let crew = Arc::clone(&self.crew);
        let device = &self.devices[place];
        let cohort = &crew.cohorts[device.cohort as usize];
        // A session found at the very first connect may be an earlier run's, with other filters.
        let is_known = session_present && device.attempts > 1 && device.subscribed_ns != 0;
        if cohort.filters.is_empty() || is_known {
            return self.become_ready(place, now);
        }
        let index = device.index;
        let filters: Vec<String> = cohort
            .filters
            .iter()
            .map(|filter| expand(&filter.filter, index))
            .collect();
        let entries: Vec<SubscribeEntry<'_>> = cohort
            .filters
            .iter()
            .zip(&filters)
            .map(|(filter, text)| SubscribeEntry {
                no_local: filter.no_local,
                ..SubscribeEntry::new(text, filter.qos)
            })
            .collect();
        let packet_id = self.request_id(place);
        let packet = Subscribe {
            packet_id,
            properties: Properties::NONE,
            entries: List::given(&entries),
        };
        self.devices[place].state = State::Subscribing;
        let mut bytes = Vec::new();
        match packet.encode(cohort.version, &mut bytes) {
            Ok(()) => self.write(place, &bytes),
            Err(error) => {
                let detail = format!("SUBSCRIBE cannot be written: {error}");
                let fault = Fault::new("subscribe_refused", "subscribe_refused", None, detail);
                self.lose(
                    place,
                    Fault {
                        is_final: true,
                        ..fault
                    },
                );
            }
        }
    }

    /// A packet id that is not used by a message in flight.
    fn request_id(&mut self, place: usize) -> u16 {
        match self.devices[place].publisher {
            NO_PUBLISHER => 1,
            publisher => {
                let outbound = &mut self.publishers[publisher as usize].outbound;
                outbound.begin_request(InFlight::default()).unwrap_or(1)
            }
        }
    }

    /// SUBACK came.
    pub(super) fn on_suback(&mut self, place: usize, suback: &Suback<'_>, now: i64) -> Result<(), Fault> {
        let device = &mut self.devices[place];
        if device.state != State::Subscribing {
            return Err(Fault::protocol("SUBACK without SUBSCRIBE".to_owned()));
        }
        if device.publisher != NO_PUBLISHER {
            // The id may be unknown to a server that answers wrongly; the codes below are what counts.
            let _ = self.publishers[device.publisher as usize]
                .outbound
                .on_request_ack(suback.packet_id);
        }
        if let Some(attempt) = &mut device.attempt {
            attempt.suback_ns = Some(now);
        }
        let asked = self.crew.cohorts[device.cohort as usize].filters.len();
        let refused = suback.reasons().enumerate().find(|(_, reason)| reason.is_error());
        let fault = match refused {
            Some((number, reason)) => {
                let detail = format!("SUBACK for filter {} of {asked}: {}", number + 1, reason.name());
                Some(Fault::new(
                    "subscribe_refused",
                    "subscribe_refused",
                    Some(i32::from(reason.code())),
                    detail,
                ))
            }
            None if suback.codes.len() != asked => {
                let detail = format!("SUBACK has {} codes for {asked} filters", suback.codes.len());
                Some(Fault::new("subscribe_refused", "subscribe_refused", None, detail))
            }
            None => None,
        };
        if let Some(fault) = fault {
            return Err(Fault {
                is_final: true,
                ..fault
            });
        }
        device.subscribed_ns = now;
        self.become_ready(place, now);
        Ok(())
    }

    /// Takes over what the server kept, or forgets what it did not.
    pub(super) fn resume_session(&mut self, place: usize, present: bool, limits: &Limits) {
        let device = &mut self.devices[place];
        if present {
            device.lost_ns = 0;
        } else {
            device.inbound = None;
            let lost = device.lost_ns;
            self.end_subscriptions(place, Some(lost).filter(|lost| *lost != 0));
        }
        let device = &self.devices[place];
        if device.publisher == NO_PUBLISHER {
            return;
        }
        let plan = self.crew.cohorts[device.cohort as usize].plan.publish.as_ref();
        let (own_window, uses_alias) = plan.map_or((1, false), |plan| (plan.in_flight as u16, plan.topic_alias));
        let publisher = &mut self.publishers[device.publisher as usize];
        publisher.outbound.set_window(own_window.min(limits.receive_maximum));
        publisher.aliases = uses_alias.then(|| Box::new(OutboundAliases::new(limits.topic_alias_maximum)));
        publisher.outbound.clear_requests();
        if present {
            self.resend(place);
        } else {
            publisher.outbound.clear();
        }
    }
}
