//! In which order the first table has its entries.

/// In which order the pages have their entries in the map. Those side by side are one group of pages: in
/// the second table they have one number. Neighbours are of neighbouring groups; the members of one group lie
/// thousands of pages apart, at uneven distances, so that streams side by side seldom meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// log2 of the pages of a group.
    group: u32,
    /// log2 of about how far apart they lie.
    stride: u32,
}

impl Order {
    /// For so many pages, in groups of 2^`group`.
    pub fn new(pages: u32, group: u32) -> Self {
        let bits = pages.checked_ilog2().unwrap_or(0);
        Self { group, stride: bits.saturating_sub(group).clamp(1, 13.min(24 - group)) }
    }

    /// Where a page's entry is.
    #[inline]
    pub fn entry_of(self, lpn: u32) -> u32 {
        let (group, stride) = (self.group, self.stride);
        let member = (lpn >> stride) & ((1 << group) - 1);
        let key = lpn.wrapping_add(self.turn(member)) & ((1 << stride) - 1);
        lpn >> (group + stride) << (group + stride) | key << group | member
    }

    /// Whose entry it is.
    #[inline]
    pub fn page_at(self, entry: u32) -> u32 {
        let (group, stride) = (self.group, self.stride);
        let member = entry & ((1 << group) - 1);
        let low = (entry >> group).wrapping_sub(self.turn(member)) & ((1 << stride) - 1);
        entry >> (group + stride) << (group + stride) | member << stride | low
    }

    /// By how many groups the members of one number are moved (Knuth's multiplicative hash).
    #[inline]
    fn turn(self, member: u32) -> u32 {
        member.wrapping_mul(2_654_435_769) >> (32 - self.stride)
    }

    /// Entries of so many pages.
    pub fn entries(self, pages: u32) -> u32 {
        pages.next_multiple_of(1 << (self.group + self.stride))
    }
}

#[cfg(test)]
mod tests {
    use super::super::MOST_SLOTS;
    use super::*;

    #[test]
    fn each_page_has_an_entry_of_its_own() {
        for group in [0, 1, 5, 10, 16] {
            for first in [0, 1 << 20, MOST_SLOTS - 5_000] {
                let order = Order::new(first + 5_000, group);
                for lpn in first..first + 5_000 {
                    let entry = order.entry_of(lpn);
                    assert_eq!(order.page_at(entry), lpn, "{order:?}");
                    assert!(entry < order.entries(lpn + 1), "{order:?}");
                }
            }
        }
        // Neighbours are of different groups, and in ten streams side by side few of one come near each
        // other.
        let order = Order::new(1 << 28, 10);
        let key = |lpn| order.entry_of(lpn) >> 10;
        assert!((0..5_000).all(|lpn| key(lpn) != key(lpn + 1)));
        let near = (0..10).flat_map(|one: u32| (0..one).map(move |two| (one, two)));
        let near = near.filter(|&(one, two)| key(one << 18).abs_diff(key(two << 18)) < 16);
        assert!(near.count() < 2);
    }
}
