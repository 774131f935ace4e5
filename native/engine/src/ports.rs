//! Which local port a connection gets. The kernel tries ports at random until one is free; from a third of all ports on that
//! search takes longer than the connection itself. Here each pair of addresses walks through its ports instead: a few
//! neighbouring ones are offered to the kernel, the next connection is offered those that follow.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// So many connections of a pair of addresses are left to the kernel.
const LEFT_TO_KERNEL: u32 = 8_192;
/// Ports offered at once: other programs may have some of them.
const WINDOW: u16 = 32;

/// The walks of one thread.
pub struct Ports {
    /// The ports of this host for outgoing connections; None: not known, the kernel chooses all.
    range: Option<RangeInclusive<u16>>,
    /// Where the first offer of a pair begins, as a share of the range: threads begin apart.
    start: f64,
    walks: HashMap<(Option<IpAddr>, SocketAddr), Walk>,
}

#[derive(Default)]
struct Walk {
    begun: u32,
    /// Ports offered so far.
    passed: u32,
}

impl Ports {
    /// Of the thread with this number among `threads`.
    pub fn new(range: Option<RangeInclusive<u16>>, thread: usize, threads: usize) -> Ports {
        Ports {
            range,
            start: thread as f64 / threads.max(1) as f64,
            walks: HashMap::new(),
        }
    }

    /// The ports to offer for the next connection between these addresses; None: leave it to the kernel.
    pub fn offer(&mut self, source: Option<IpAddr>, target: SocketAddr) -> Option<RangeInclusive<u16>> {
        let range = self.range.as_ref()?;
        let walk = self.walks.entry((source, target)).or_default();
        walk.begun = walk.begun.saturating_add(1);
        if walk.begun <= LEFT_TO_KERNEL {
            return None;
        }
        let count = u32::from(range.end() - range.start()) + 1;
        let first = range.start() + (((self.start * f64::from(count)) as u32 + walk.passed) % count) as u16;
        walk.passed = (walk.passed + 1) % count;
        Some(first..=first.saturating_add(WINDOW - 1).min(*range.end()))
    }

    /// All ports offered last were taken: goes past them.
    pub fn skip(&mut self, source: Option<IpAddr>, target: SocketAddr) {
        if let Some(walk) = self.walks.get_mut(&(source, target)) {
            walk.passed += u32::from(WINDOW) - 1;
        }
    }

    /// After so many offers in vain every port has been offered.
    pub fn most_offers(&self) -> usize {
        let ports = self
            .range
            .as_ref()
            .map_or(0, |range| usize::from(range.end() - range.start()));
        ports / usize::from(WINDOW) + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: ([u8; 4], u16) = ([127, 0, 0, 1], 1883);

    fn offers(ports: &mut Ports, source: u8, count: usize) -> Vec<Option<RangeInclusive<u16>>> {
        let source = Some(IpAddr::from([127, 0, 0, source]));
        (0..count).map(|_| ports.offer(source, TARGET.into())).collect()
    }

    #[test]
    fn the_first_connections_of_each_source_are_left_to_the_kernel() {
        let mut ports = Ports::new(Some(32768..=60999), 0, 1);
        let many = LEFT_TO_KERNEL as usize;
        for source in [1, 2] {
            let offered = offers(&mut ports, source, many + 2);
            assert!(offered[..many].iter().all(Option::is_none));
            assert_eq!(offered[many..], [Some(32768..=32799), Some(32769..=32800)]);
        }
    }

    #[test]
    fn ports_that_are_taken_are_passed_and_the_walk_begins_again_at_the_end() {
        let mut ports = Ports::new(Some(100..=199), 1, 2);
        offers(&mut ports, 1, LEFT_TO_KERNEL as usize);
        let source = Some(IpAddr::from([127, 0, 0, 1]));
        let mut begins = Vec::new();
        for _ in 0..4 {
            begins.push(ports.offer(source, TARGET.into()).unwrap());
            ports.skip(source, TARGET.into());
        }
        assert_eq!(begins, [150..=181, 182..=199, 114..=145, 146..=177]);
        assert!(ports.most_offers() >= 4);
    }

    #[test]
    fn without_a_known_range_the_kernel_chooses() {
        let mut ports = Ports::new(None, 0, 1);
        assert!(offers(&mut ports, 1, LEFT_TO_KERNEL as usize + 5)
            .iter()
            .all(Option::is_none));
    }
}
