//! Latencies of the running second, for display only. Results are computed from the rows, never from this.

const LINEAR_BITS: u32 = 4; // 16 buckets per power of two: 6 % wide
const BUCKETS: usize = 64 << LINEAR_BITS;

/// Counts of latencies in microseconds, in buckets that grow with the value.
#[derive(Clone)]
pub struct Histogram {
    counts: Box<[u32; BUCKETS]>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: Box::new([0; BUCKETS]),
            total: 0,
        }
    }
}

impl Histogram {
    /// Counts one latency in nanoseconds.
    #[inline]
    pub fn record(&mut self, latency_ns: i64) {
        self.counts[bucket((latency_ns.max(0) / 1000) as u64)] += 1;
        self.total += 1;
    }

    /// Adds another one's counts.
    pub fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// Back to nothing.
    pub fn clear(&mut self) {
        if self.total > 0 {
            self.counts.fill(0);
            self.total = 0;
        }
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value, in microseconds, that the given share (0 to 1) does not exceed; 0 when nothing was counted.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (number, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return upper_edge(number);
            }
        }
        0
    }
}

fn bucket(value: u64) -> usize {
    let linear = 1u64 << LINEAR_BITS;
    if value < linear {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros() - LINEAR_BITS;
    let number = (u64::from(exponent + 1) << LINEAR_BITS) + (value >> exponent) - linear;
    (number as usize).min(BUCKETS - 1)
}

fn upper_edge(number: usize) -> u64 {
    let linear = 1u64 << LINEAR_BITS;
    let number = number as u64;
    if number < linear {
        return number;
    }
    let exponent = (number >> LINEAR_BITS) - 1;
    let base = (number & (linear - 1)) + linear;
    ((base + 1) << exponent) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket_of_the_truth() {
        let mut histogram = Histogram::default();
        for microseconds in 1..=10_000 {
            histogram.record(microseconds * 1000);
        }
        for (share, truth) in [(0.5, 5_000.0), (0.99, 9_900.0), (1.0, 10_000.0)] {
            let found = histogram.quantile(share) as f64;
            assert!((found / truth - 1.0).abs() < 0.07, "{share}: {found}");
        }
    }

    #[test]
    fn every_value_lies_at_or_below_its_buckets_upper_edge() {
        for value in (0..100_000).chain([u64::MAX / 2000]) {
            assert!(upper_edge(bucket(value)) >= value);
            assert!(value == 0 || upper_edge(bucket(value) - 1) < value);
        }
    }
}
