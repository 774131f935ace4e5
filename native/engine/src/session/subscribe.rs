//! SUBSCRIBE and SUBACK.

use telemark_mqtt::packet::{List, Suback, Subscribe, SubscribeEntry};
use telemark_mqtt::properties::Properties;

use super::publisher::InFlight;
use super::{Context, Fault, Session, State};
use crate::cohort::{expand, Cohort};

const REFUSED: &str = "subscribe_refused";

impl Session {
    /// Sends SUBSCRIBE, or is ready at once when there is nothing to subscribe to or the server still knows it.
    pub(super) fn subscribe_or_ready(
        &mut self,
        cohort: &Cohort,
        context: &mut Context,
        session_present: bool,
        now: i64,
    ) -> Result<(), Fault> {
        // A session found at the very first connect may be an earlier run's, with other filters.
        let is_known = session_present && self.attempts > 1 && self.subscribed_ns != 0;
        if cohort.filters.is_empty() || is_known {
            self.become_ready(context, now);
            return Ok(());
        }
        self.state = State::Subscribing;
        let index = self.index;
        let texts = cohort.filters.iter().map(|filter| expand(&filter.filter, index));
        let texts: Vec<String> = texts.collect();
        let entries = cohort.filters.iter().zip(&texts).map(|(filter, text)| SubscribeEntry {
            no_local: filter.no_local,
            ..SubscribeEntry::new(text, filter.qos)
        });
        let entries: Vec<SubscribeEntry<'_>> = entries.collect();
        let packet = Subscribe {
            packet_id: self.request_id(),
            properties: Properties::NONE,
            entries: List::given(&entries),
        };
        packet.encode(cohort.version, &mut context.out).map_err(|error| {
            let detail = format!("SUBSCRIBE cannot be written: {error}");
            Fault::refused(REFUSED, REFUSED, None, detail)
        })
    }

    /// A packet id that is not used by a message in flight.
    fn request_id(&mut self) -> u16 {
        match &mut self.publisher {
            None => 1,
            Some(publisher) => publisher.outbound.begin_request(InFlight::default()).unwrap_or(1),
        }
    }

    /// SUBACK came.
    pub(super) fn on_suback(
        &mut self,
        cohort: &Cohort,
        context: &mut Context,
        suback: &Suback<'_>,
        now: i64,
    ) -> Result<(), Fault> {
        if self.state != State::Subscribing {
            return Err(Fault::protocol("SUBACK without SUBSCRIBE"));
        }
        let is_answer = match &mut self.publisher {
            None => suback.packet_id == 1,
            Some(publisher) => publisher.outbound.on_request_ack(suback.packet_id).is_ok(),
        };
        if !is_answer {
            return Err(Fault::protocol("SUBACK with another packet id than SUBSCRIBE"));
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.suback_ns = Some(now);
        }
        let asked = cohort.filters.len();
        let refused = suback.reasons().enumerate().find(|(_, reason)| reason.is_error());
        if let Some((number, reason)) = refused {
            let detail = format!("SUBACK for filter {} of {asked}: {}", number + 1, reason.name());
            return Err(Fault::refused(REFUSED, REFUSED, Some(i32::from(reason.code())), detail));
        }
        if suback.codes.len() != asked {
            let detail = format!("SUBACK has {} codes for {asked} filters", suback.codes.len());
            return Err(Fault::refused(REFUSED, REFUSED, None, detail));
        }
        self.subscribed_ns = now;
        self.become_ready(context, now);
        Ok(())
    }
}
