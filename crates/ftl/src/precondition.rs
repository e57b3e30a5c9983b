//! The steady state of uniform random overwrites, computed directly: builds the map as it would be
//! after long writing.
//!
//! All blocks are closed, except those of write points and the free ones left at the threshold
//! where collection starts. The policy determines how many valid pages each has. For N closed
//! blocks of b pages and L mapped pages:
//!
//! - greedy: a block loses pages one by one, at a rate proportional to its valid pages, until it
//!   has the fewest. There are `c / v` blocks of v pages each, from b down to some minimum of v.
//! - FIFO: after a fraction x of its block's life a page is still valid with probability `exp(-x
//!   alpha / A)`, where `A = 1 / (1 - exp(-alpha / A))` and `alpha = N b / L` (Desnoyers,
//!   SYSTOR'12).
//! - random and d-choices: the flow of blocks from v + 1 to v pages equals the rate at which blocks
//!   of at most v pages are collected: `n(v+1) (v+1) / L = c (1 - (1 - F(v))^d)` (the mean field of
//!   Van Houdt, SIGMETRICS'13).
//! - cost-benefit: as greedy, to which it is close under uniform writes.
//!
//! Older blocks have fewer valid pages. The placement of the pages is a random permutation.
//!
//! On a large array this is not entered in the tables of the map at once, since it takes long and
//! needs all of their memory; see `map/on_demand.rs`.

use crate::config::Victim;
use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::map::{FilledBlocks, PageOrder};
use crate::permutation::Permutation;
use crate::preload::PAGES_A_STEP;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use gordon_units::SplitMix64;
use gordon_units::{Lpn, Progress, Stopped};

/// Tables of at most this many bytes are filled at once, which takes at most half a second.
const SMALL_TABLES: u64 = 96 << 20;

impl<O: ActionSink> Ftl<O> {
    /// Maps the pages below `first` and those in `more` (in ascending order, none below `first`) in
    /// the steady state of uniform random overwrites, with as many free blocks as at the start of
    /// garbage collection. Each 16 pages are a step of `progress`.
    ///
    /// The tables of a large array stay empty at first, and their entries are computed when they
    /// are needed. The tables are filled when many entries have changed.
    ///
    /// # Errors
    /// Returns [`Stopped`] if `progress` requests it; the layer must then be discarded.
    ///
    /// # Panics
    /// Panics if the layer is not new, or if a page lies outside the exported ones.
    pub fn precondition(
        &mut self,
        first: u32,
        more: &[Lpn],
        seed: u64,
        progress: &Progress,
    ) -> Result<(), Stopped> {
        self.precondition_on_demand(first, more, seed, progress)?;
        if self.map.memory() <= SMALL_TABLES {
            self.fill_tables();
        }
        Ok(())
    }

    /// Fills the tables of the map whose entries have been computed on demand. Nothing else
    /// changes.
    pub fn fill_tables(&mut self) {
        self.map.fill_tables();
    }

    /// As [`precondition`](Self::precondition), but the tables of the smallest array stay empty,
    /// too.
    ///
    /// # Errors
    /// As for [`precondition`](Self::precondition).
    ///
    /// # Panics
    /// As for [`precondition`](Self::precondition).
    pub fn precondition_on_demand(
        &mut self,
        first: u32,
        more: &[Lpn],
        seed: u64,
        progress: &Progress,
    ) -> Result<(), Stopped> {
        let new = self.stats.preloaded == 0 && self.stats.program_operations == 0;
        assert!(new && !self.is_busy(), "preconditioning is for a new device");
        let last = more.last().map_or(first, |lpn| lpn.0 + 1);
        assert!(last <= self.config.exported, "page {last} is not exported");
        let pages = first + u32::try_from(more.len()).expect("fewer than are exported");
        if pages == 0 {
            return Ok(());
        }
        progress.total.fetch_add(u64::from(pages) / PAGES_A_STEP, Ordering::Relaxed);
        let mut laid_out = 0;
        let mut tell = |more: u32| {
            let before = laid_out / PAGES_A_STEP;
            laid_out += u64::from(more);
            progress.step(laid_out / PAGES_A_STEP - before);
            progress.check()
        };
        let per_block = self.data_pages * self.config.slots;
        let points = self.config.points();
        // The fill levels of the write points are spread evenly over a block.
        let step = |at: u32| {
            let share = u64::from(self.data_pages) * u64::from(at) / u64::from(points);
            u32::try_from(share).expect("pages of a block")
        };
        let fills: Vec<u32> = (0..points).map(step).collect();
        let hosts = &fills[..self.config.write_points as usize];
        let room = hosts.iter().map(|fill| u64::from(self.layout.pages_per_block() - fill)).sum();
        let free = self.config.low_water - self.write_points.worth(room);
        let closed = self.blocks.free() - points - free;
        let slots = self.config.slots;
        let open: u64 = fills.iter().map(|&fill| u64::from(fill) * u64::from(slots)).sum();
        let in_open = open.min(u64::from(pages));
        let in_closed = u64::from(pages) - in_open;
        let mut random = SplitMix64(seed ^ 0x70C0_D171_0000_0000);
        let valid = valid_counts(self.config.victim, closed, per_block, in_closed, &mut random);
        let order = Permutation::new(pages, &mut random);
        let mut filled = FilledBlocks::with_capacity(closed + points, per_block);
        let mut bits = vec![0; per_block.div_ceil(64) as usize];
        for valid in valid {
            let block = self.blocks.fill(valid).expect("counted above");
            choose(&mut bits, per_block, valid, &mut random);
            filled.push(self.block_slots(block).start, &bits);
            tell(valid)?;
        }
        let mut left = in_open;
        for (at, fill) in fills.into_iter().enumerate() {
            let opened = self.open(at);
            assert!(opened, "counted above");
            let block = self.write_points.get(at).block.expect("just opened");
            // At most the pages of a block, which fits.
            #[allow(clippy::cast_possible_truncation)]
            let valid = left.min(u64::from(fill * slots)) as u32;
            left -= u64::from(valid);
            choose(&mut bits, valid, valid, &mut random);
            filled.push(self.block_slots(block).start, &bits);
            self.blocks.add_valid(block, valid);
            self.write_points.skip_to(at, fill);
            tell(valid)?;
        }
        let more = more.iter().map(|lpn| lpn.0).collect();
        let pages_in_order = PageOrder::Permuted { first, more, order };
        let block_slots = self.layout.pages_per_block() * slots;
        self.map.start_on_demand(pages_in_order, filled, self.layout.blocks(), block_slots);
        self.stats.preloaded += u64::from(pages);
        Ok(())
    }
}

/// Sets `wanted` random bits of the first `of` bits, and clears the rest. All sets are equally
/// likely.
fn choose(bits: &mut [u64], of: u32, wanted: u32, random: &mut SplitMix64) {
    // Draws the bits to set or those to leave clear, whichever are fewer; repeats a draw that hits
    // a bit already drawn.
    let fewer = wanted.min(of - wanted);
    let mut left = fewer;
    bits.fill(0);
    let mut draw = |bits: &mut [u64]| {
        let at = random.below_u32(of);
        let (word, bit) = (&mut bits[at as usize / 64], 1 << (at % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    };
    // As many draws as bits are missing are never too many. They do not depend on each other, in
    // contrast to draws until a count is reached.
    while left as usize > bits.len() {
        for _ in 0..left {
            draw(bits);
        }
        left = fewer - bits.iter().map(|word| word.count_ones()).sum::<u32>();
    }
    while left > 0 {
        left -= u32::from(draw(bits));
    }
    if fewer < wanted {
        for (word, end) in bits.iter_mut().zip((64u32..).step_by(64)) {
            let beyond = end.saturating_sub(of);
            *word = !*word & u64::MAX.checked_shr(beyond).unwrap_or(0);
        }
    }
}

/// Valid pages of each of `blocks` blocks of `most` pages, the oldest block first; the sum is
/// `pages`.
fn valid_counts(
    victim: Victim,
    blocks: u32,
    most: u32,
    pages: u64,
    random: &mut SplitMix64,
) -> Vec<u32> {
    let mean = ratio(pages, u64::from(blocks));
    let mut counts = match victim {
        Victim::Fifo => fifo(blocks, most, mean, random),
        Victim::Greedy | Victim::CostBenefit => by_quantile(&greedy(most, mean), blocks),
        Victim::Random => by_quantile(&choices(1, most, mean), blocks),
        Victim::DChoices(choices_) => by_quantile(&choices(choices_, most, mean), blocks),
    };
    // Spreads the rounding error over all blocks.
    let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let more = pages > sum;
    let mut off = pages.abs_diff(sum);
    while off > 0 {
        let room = |count: u32| if more { count < most } else { count > 0 };
        let able = counts.iter().filter(|&&count| room(count)).count() as u64;
        let (now, mut due) = (off.min(able), 0);
        for count in counts.iter_mut().filter(|count| room(**count)) {
            due += now;
            if due >= able {
                due -= able;
                *count = if more { *count + 1 } else { *count - 1 };
            }
        }
        off -= now;
    }
    counts
}

/// The fraction of blocks with each count of valid pages, from 0 to `most`.
fn greedy(most: u32, mean: f64) -> Vec<f64> {
    let mut parts = vec![0.0; most as usize + 1];
    // With fractions proportional to 1/v for v from `least` to `most`, the mean is (most - least +
    // 1) / (H(most) - H(least - 1)), which falls with `least`.
    let (mut harmonic, mut least) = (0.0, most + 1);
    while least > 1 {
        let next = harmonic + 1.0 / f64::from(least - 1);
        if f64::from(most + 2 - least) / next < mean {
            break;
        }
        (harmonic, least) = (next, least - 1);
    }
    if least > most {
        parts[most as usize] = 1.0;
        return parts;
    }
    for count in least..=most {
        parts[count as usize] = 1.0 / f64::from(count) / harmonic;
    }
    // The remaining blocks have `least - 1` pages; their fraction makes the mean right.
    let now = f64::from(most + 1 - least) / harmonic;
    let below = f64::from(least - 1);
    let part = ((now - mean) / (now - below)).clamp(0.0, 1.0);
    for part_ in &mut parts {
        *part_ *= 1.0 - part;
    }
    parts[least as usize - 1] += part;
    parts
}

/// As [`greedy`], if the emptiest of `choices` random blocks is collected.
fn choices(choices: u32, most: u32, mean: f64) -> Vec<f64> {
    let choices = f64::from(choices);
    // Here `rate` is c L / N, the collections in the lifetime of a page, divided by the number of
    // blocks. The fraction of blocks with at most v pages follows from the fraction with at most v
    // + 1, so it is computed downwards from 1. (Upwards it would start at numbers below the
    // resolution of floats.) The mean grows with the rate.
    let of_rate = |rate: f64| {
        let mut parts = vec![0.0; most as usize + 1];
        let mut up_to = 1.0;
        for count in (1..=most).rev() {
            let below = part_below(rate, choices, f64::from(count), up_to);
            parts[count as usize] = up_to - below;
            up_to = below;
        }
        parts[0] = up_to;
        parts
    };
    let mean_of = |parts: &[f64]| -> f64 {
        parts.iter().enumerate().map(|(count, part)| ratio(count as u64, 1) * part).sum()
    };
    let (mut low, mut high) = (1e-6, 1e6);
    for _ in 0..50 {
        let middle = libm::sqrt(low * high);
        if mean_of(&of_rate(middle)) > mean { high = middle } else { low = middle }
    }
    of_rate(libm::sqrt(low * high))
}

/// The fraction F of blocks with fewer than `count` pages, if `up_to` have at most `count`. The
/// flow from `count` to fewer pages equals the collections: (up_to - F) count = rate (1 - (1 -
/// F)^choices). Solved by Newton's method, which approaches the root from below because the
/// difference is convex in F.
fn part_below(rate: f64, choices: f64, count: f64, up_to: f64) -> f64 {
    let mut below = 0.0;
    for _ in 0..100 {
        // Accurate for fractions far below 10^-16.
        let collected = -libm::expm1(choices * libm::log1p(-below));
        let short = (up_to - below) * count - rate * collected;
        let slope = count + rate * choices * (1.0 - collected) / (1.0 - below);
        let next = (below + short / slope).min(up_to);
        if next <= below * (1.0 + 1e-14) {
            break;
        }
        below = next;
    }
    below
}

/// Assigns a count to each block so that the numbers of blocks are proportional to `parts`.
fn by_quantile(parts: &[f64], blocks: u32) -> Vec<u32> {
    let sum: f64 = parts.iter().sum();
    let mut counts = Vec::with_capacity(blocks as usize);
    let mut below = 0.0;
    for (count, part) in (0..).zip(parts) {
        below += part / sum * f64::from(blocks);
        while f64::from(u32::try_from(counts.len()).unwrap_or(u32::MAX)) + 0.5 < below
            && counts.len() < blocks as usize
        {
            counts.push(count);
        }
    }
    let last = u32::try_from(parts.len() - 1).expect("pages of a block");
    counts.resize(blocks as usize, last);
    counts
}

fn fifo(blocks: u32, most: u32, mean: f64, random: &mut SplitMix64) -> Vec<u32> {
    let alpha = f64::from(most) / mean;
    let a = (0..10_000).fold(2.0, |a: f64, _| 1.0 / (1.0 - libm::exp(-alpha / a)));
    let count = |at: u32| {
        let life = 1.0 - (f64::from(at) + 0.5) / f64::from(blocks);
        let valid = libm::exp(-life * alpha / a) * 4_294_967_296.0;
        // The value is between 0 and 2^32.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let valid = valid as u64;
        let drawn = (0..most).filter(|_| random.next_u64() >> 32 < valid).count();
        u32::try_from(drawn).expect("pages of a block")
    };
    (0..blocks).map(count).collect()
}

/// The ratio of two counts, with the precision of a float.
#[allow(clippy::cast_precision_loss)]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn all_bits_are_equally_likely() {
        let (mut bits, mut random) = ([0; 3], SplitMix64(7));
        for wanted in [0, 1, 40, 65, 66, 129, 130] {
            let mut times = [0u32; 192];
            for _ in 0..1000 {
                choose(&mut bits, 130, wanted, &mut random);
                let set = |at: &usize| bits[at / 64] >> (at % 64) & 1 == 1;
                assert_eq!((0..192).filter(set).count(), wanted as usize);
                (0..192).filter(set).for_each(|at| times[at] += 1);
            }
            let mean = f64::from(wanted) / 130.0;
            // Within 5 standard deviations, each at most 16.
            let off = 5.0 * (1000.0 * mean * (1.0 - mean)).sqrt() + 0.5;
            let (drawn, beyond) = times.split_at(130);
            assert!(drawn.iter().all(|&times| (f64::from(times) - 1000.0 * mean).abs() < off));
            assert!(beyond.iter().all(|&times| times == 0));
        }
    }

    #[test]
    fn valid_counts_have_the_right_sum_and_distribution() {
        let all = [Victim::Greedy, Victim::Fifo, Victim::Random, Victim::DChoices(4)];
        for victim in all {
            for part in [0.01, 0.3, 0.7, 0.95, 1.0] {
                let pages = (f64::from(1000 * 64) * part) as u64;
                let counts = valid_counts(victim, 1000, 64, pages, &mut SplitMix64(1));
                let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
                assert_eq!((counts.len(), sum), (1000, pages), "{victim:?}, {part}");
                assert!(counts.iter().all(|&count| count <= 64));
            }
        }
        // At rho 0.8 greedy collects blocks with 1 - 1 / 2.599 of 64 pages, 39.4; the emptiest of
        // the remaining blocks has about a page more.
        let counts = valid_counts(Victim::Greedy, 10_000, 64, 512_000, &mut SplitMix64(1));
        assert!((40..=41).contains(&counts[0]), "{}", counts[0]);
        // With random victims, valid counts range from almost none to all pages.
        let counts = valid_counts(Victim::Random, 10_000, 64, 512_000, &mut SplitMix64(1));
        assert!(counts[0] < 10 && counts[9_999] == 64, "{} to {}", counts[0], counts[9_999]);
    }

    /// As many blocks fall from `v` + 1 pages to `v` as are collected with `v` or fewer, however
    /// small the fractions.
    #[test]
    fn the_flow_of_blocks_is_balanced_at_each_count() {
        for (choose, most) in [(1, 64), (2, 64), (8, 256), (11, 256), (64, 256), (200, 1024)] {
            for mean in [0.5, 0.75, 0.9, 0.98] {
                let mean = mean * f64::from(most);
                let parts = choices(choose, most, mean);
                let sum: f64 = parts.iter().sum();
                let pages = (0u32..).zip(&parts).map(|(v, part)| f64::from(v) * part);
                let found: f64 = pages.sum();
                assert!((sum - 1.0).abs() < 1e-9, "{choose} of {most}: the sum is {sum}");
                assert!(
                    (found / mean - 1.0).abs() < 1e-6,
                    "{choose} of {most}: {found}, not {mean}"
                );
                let (mut rate, mut up_to) = (None, 0.0);
                for (v, pair) in (1u32..).zip(parts.windows(2)) {
                    up_to += pair[0];
                    if up_to < 1e-9 || pair[1] < 1e-9 {
                        continue;
                    }
                    let collected = 1.0 - (1.0 - up_to).powi(i32::try_from(choose).unwrap());
                    let here = f64::from(v) * pair[1] / collected;
                    let rate = *rate.get_or_insert(here);
                    assert!((here / rate - 1.0).abs() < 1e-4, "{choose} of {most}, {v}: {here}");
                }
            }
        }
    }
}
