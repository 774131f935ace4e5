//! The hot path must not allocate: measured with an allocator that counts, not promised.
#![allow(clippy::unwrap_used)] // a test may

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use telemark_mqtt::packet::{ack, AckKind, Publish, PublishTemplate};
use telemark_mqtt::pattern::Pattern;
use telemark_mqtt::state::{Inbound, Outbound};
use telemark_mqtt::topic::{Filter, SubscriptionTree};
use telemark_mqtt::{frame, Packet, Property, PropertyBuffer, QoS, Stamp, Version};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is left to the system's allocator; the counter is a plain thread-local number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while the closure runs.
fn allocations(work: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    work();
    COUNT.with(Cell::get) - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(1, allocations(|| drop(std::hint::black_box(Box::new(1)))));
}

#[test]
fn sending_and_receiving_messages_allocates_nothing() {
    let mut buffer = PropertyBuffer::new();
    buffer.push(Property::TopicAlias(1)).unwrap();
    let (mut out, mut answers) = (Vec::with_capacity(4096), Vec::with_capacity(4096));
    for version in [Version::V311, Version::V5] {
        let properties = if version == Version::V5 {
            buffer.as_properties()
        } else {
            Default::default()
        };
        let message = Publish {
            topic: "plant/7/line/3",
            qos: QoS::AtLeastOnce,
            properties,
            ..Publish::default()
        };
        let template = PublishTemplate::new(&message, version).unwrap();
        let count = allocations(|| {
            for id in 1..100 {
                out.clear();
                answers.clear();
                template
                    .append(&mut out, id, id % 2 == 0, &Stamp::default().encode())
                    .unwrap();
                let frame = frame::split(&out, 4096).unwrap().unwrap();
                let Ok(Packet::Publish(received)) = Packet::decode(frame, version) else {
                    panic!("not a PUBLISH")
                };
                assert_eq!(Some(Stamp::default()), Stamp::decode(received.payload));
                received.encode(version, &mut answers).unwrap();
                ack::encode_success(AckKind::Puback, received.packet_id, &mut answers);
            }
        });
        assert_eq!(0, count);
    }
}

#[test]
fn routing_and_windows_in_a_steady_state_allocate_nothing() {
    let mut tree = SubscriptionTree::new();
    for (key, filter) in ["a/b", "a/+", "$share/g/a/#", "#"].iter().enumerate() {
        tree.insert(&Filter::parse(filter).unwrap(), key, ());
    }
    let mut outbound = Outbound::new(10);
    let mut inbound = Inbound::new();
    outbound.begin(QoS::AtLeastOnce, 0).unwrap(); // the first use may allocate
    outbound.on_puback(1).unwrap();
    inbound.on_publish(1, 10).unwrap();
    inbound.on_pubrel(1);
    let count = allocations(|| {
        for number in 0..100 {
            let mut matched = 0;
            tree.visit("a/b", |_| matched += 1);
            assert_eq!(4, matched);
            let id = outbound.begin(QoS::AtLeastOnce, number).unwrap();
            inbound.on_publish(id, 10).unwrap();
            assert!(inbound.on_pubrel(id));
            assert_eq!(Ok(number), outbound.on_puback(id));
        }
    });
    assert_eq!(0, count);
}

#[test]
fn idle_protocol_state_costs_no_heap_memory() {
    let count = allocations(|| {
        std::hint::black_box((Outbound::<(u64, i64)>::new(65_535), Inbound::new()));
    });
    assert_eq!(0, count);
}

#[test]
fn expanding_a_pattern_allocates_nothing() {
    let pattern = Pattern::compile("p{index/1000}/d{index%100}/v{sequence%10}").unwrap();
    let mut out = String::with_capacity(64);
    let count = allocations(|| {
        for sequence in 0..100 {
            out.clear();
            pattern.expand(123_456, sequence, &mut out);
        }
    });
    assert_eq!(0, count);
}
