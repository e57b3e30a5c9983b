//! The steady state of uniform random overwrites, made at once: the map as it would be after
//! writing for long.
//!
//! All blocks but those of write points and the free ones left at the mark where collection starts
//! are closed. How many valid pages each has follows from the policy, with N closed blocks of b
//! pages and L mapped pages:
//!
//! - greedy: a block loses pages one by one, at a rate in proportion to what it has, until it is
//!   the least: there are `c / v` blocks of v pages each, from b down to some least v.
//! - FIFO: after a fraction x of its life a page is still valid with probability
//!   `exp(-x alpha / A)`, where `A = 1 / (1 - exp(-alpha / A))` and `alpha = N b / L`
//!   (Desnoyers, SYSTOR'12).
//! - random and d-choices: the flow of blocks past v pages equals what is collected below:
//!   `n(v+1) (v+1) / L = c (1 - (1 - F(v))^d)` (the mean field of Van Houdt, SIGMETRICS'13).
//! - cost-benefit: as greedy, which it is nearly under uniform writes.
//!
//! Older blocks have fewer. Which pages are where is a random permutation.

use crate::config::Victim;
use crate::io::ActionSink;
use crate::machine::Ftl;
use crate::preload::PAGES_A_STEP;
use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use gordon_units::SplitMix64;
use gordon_units::{Lpn, Progress, Stopped};

impl<O: ActionSink> Ftl<O> {
    /// Maps the pages below `first` and those of `more` (in order, none of them below `first`) in
    /// the steady state of uniform random overwrites, free blocks at the mark where garbage
    /// collection starts. Each 16 pages are a step of `progress`.
    ///
    /// # Errors
    /// Where `progress` stops it: the layer is then of no use.
    ///
    /// # Panics
    /// Where the layer is not new, or a page lies outside the exported ones.
    pub fn precondition(
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
        // Write points are part of the way through their blocks, each at another place.
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
        let mut lpns = order.map(|at| if at < first { at } else { more[(at - first) as usize].0 });
        let mut filled = vec![0; per_block.div_ceil(64) as usize];
        for valid in valid {
            let block = self.blocks.fill(valid).expect("counted above");
            choose(&mut filled, per_block, valid, &mut random);
            self.map.set_all(self.slot(self.layout.ppn(block, 0), 0), &filled, &mut lpns);
            tell(valid)?;
        }
        let mut left = in_open;
        for (at, fill) in fills.into_iter().enumerate() {
            let opened = self.open(at);
            assert!(opened, "counted above");
            let block = self.write_points.get(at).block.expect("just opened");
            // At most a block's.
            #[allow(clippy::cast_possible_truncation)]
            let valid = left.min(u64::from(fill * slots)) as u32;
            left -= u64::from(valid);
            choose(&mut filled, valid, valid, &mut random);
            self.map.set_all(self.slot(self.layout.ppn(block, 0), 0), &filled, &mut lpns);
            self.blocks.add_valid(block, valid);
            self.write_points.skip_to(at, fill);
            tell(valid)?;
        }
        self.stats.preloaded += u64::from(pages);
        Ok(())
    }
}

/// Draws `wanted` of the first `of` bits, any set of them as likely as any other; the rest are 0.
fn choose(bits: &mut [u64], of: u32, wanted: u32, random: &mut SplitMix64) {
    // Those in or those out are drawn, whichever are fewer, once more where it is one drawn before.
    let mut left = wanted.min(of - wanted);
    let out = left < wanted;
    bits.fill(0);
    while left > 0 {
        let at = random.below_u32(of);
        let (word, bit) = (&mut bits[at as usize / 64], 1 << (at % 64));
        left -= u32::from(*word & bit == 0);
        *word |= bit;
    }
    if out {
        for (word, end) in bits.iter_mut().zip((64u32..).step_by(64)) {
            let beyond = end.saturating_sub(of);
            *word = !*word & u64::MAX.checked_shr(beyond).unwrap_or(0);
        }
    }
}

/// Valid pages of each of `blocks` blocks of `most` pages, the oldest first; they sum to `pages`.
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
    // Rounding is spread over all blocks.
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

/// The part of the blocks with each count of valid pages, from 0 to `most`.
fn greedy(most: u32, mean: f64) -> Vec<f64> {
    let mut parts = vec![0.0; most as usize + 1];
    // Blocks of 1/v from `least` up: their mean is (most - least + 1) / (H(most) - H(least - 1)),
    // which falls with `least`.
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
    // The rest has one page less, or none: what makes the mean right.
    let now = f64::from(most + 1 - least) / harmonic;
    let below = f64::from(least - 1);
    let part = ((now - mean) / (now - below)).clamp(0.0, 1.0);
    for part_ in &mut parts {
        *part_ *= 1.0 - part;
    }
    parts[least as usize - 1] += part;
    parts
}

/// As [`greedy`], where the least of so many blocks taken at random is collected.
fn choices(choices: u32, most: u32, mean: f64) -> Vec<f64> {
    let choices = f64::from(choices);
    // For `rate` = c L / N, block collections per page's life: what part of the blocks has up to v
    // pages follows from the part that has up to v + 1, from all of them down. (Upwards the parts
    // would grow from numbers far too small to be told apart.) A greater rate goes with a higher
    // mean.
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

/// The part F of the blocks that have fewer than `count` pages, where `up_to` have up to `count`:
/// as many get one less as are collected below, (up_to - F) count = rate (1 - (1 - F)^choices). By
/// Newton's method: the difference grows ever slower with F, so that it comes nearer from below.
fn part_below(rate: f64, choices: f64, count: f64, up_to: f64) -> f64 {
    let mut below = 0.0;
    for _ in 0..100 {
        // Of parts that may be far below 10^-16.
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

/// Counts whose numbers are in the proportion of `parts`.
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
        // Between 0 and 2^32.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let valid = valid as u64;
        let drawn = (0..most).filter(|_| random.next_u64() >> 32 < valid).count();
        u32::try_from(drawn).expect("pages of a block")
    };
    (0..blocks).map(count).collect()
}

/// A ratio of counts, as far as 53 bits go.
#[allow(clippy::cast_precision_loss)]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

/// The numbers below a limit, each once, in an order that is drawn: a Feistel network over a
/// rectangle of about as many places, in additions of numbers from tables as long as its sides.
struct Permutation {
    limit: u32,
    width: u32,
    /// Rows: 2 to this power.
    bits: u32,
    /// By row, what it adds to the column; by column, what that adds to the row; the same again.
    rounds: [Vec<u16>; 4],
    x: u32,
    y: u32,
}

impl Permutation {
    fn new(limit: u32, random: &mut SplitMix64) -> Self {
        // At most 2^16 columns and rows.
        let bits = (32 - limit.saturating_sub(1).leading_zeros()).div_ceil(2);
        let (width, height) = (limit.div_ceil(1 << bits), 1 << bits);
        let mut table = |from: u32, to: u32| {
            // Below 2^16.
            #[allow(clippy::cast_possible_truncation)]
            (0..from).map(|_| random.below_u32(to) as u16).collect()
        };
        let rounds = [(height, width), (width, height), (height, width), (width, height)];
        let rounds = rounds.map(|(from, to)| table(from, to));
        Self { limit, width, bits, rounds, x: 0, y: 0 }
    }

    #[inline]
    fn shuffle(&self, mut x: u32, mut y: u32) -> u32 {
        let [a, b, c, d] = &self.rounds;
        for [by_row, by_column] in [[a, b], [c, d]] {
            // Not two ways, of which the processor would have to guess one.
            x += u32::from(by_row[y as usize]);
            x = x.min(x.wrapping_sub(self.width));
            y = (y + u32::from(by_column[x as usize])) & ((1 << self.bits) - 1);
        }
        x << self.bits | y
    }
}

impl Iterator for Permutation {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        while self.x < self.width {
            let place = self.shuffle(self.x, self.y);
            self.y += 1;
            self.x += self.y >> self.bits;
            self.y &= (1 << self.bits) - 1;
            if place < self.limit {
                return Some(place);
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_each_number_once() {
        for limit in [1, 2, 3, 7, 100, 4096, 4097, 1 << 17] {
            let mut numbers: Vec<u32> = Permutation::new(limit, &mut SplitMix64(5)).collect();
            let runs = numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(limit < 100 || runs < 20, "{runs} neighbours of {limit} stayed together");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..limit), "{limit}");
        }
    }

    /// Pages so far apart share a block of 64, or are in neighbouring ones, as often as chance
    /// wants: 1024 is a column of the rectangle.
    #[test]
    fn a_permutation_keeps_no_distance() {
        const LIMIT: u32 = 300_000;
        let mut blocks = vec![0u32; LIMIT as usize];
        for (at, page) in (0..).zip(Permutation::new(LIMIT, &mut SplitMix64(5))) {
            blocks[page as usize] = at / 64;
        }
        for distance in [1, 2, 512, 1023, 1024, 1025, 5120] {
            let (mut same, mut next) = (0, 0);
            for (a, b) in blocks.iter().zip(&blocks[distance..]) {
                same += u32::from(a == b);
                next += u32::from(a.abs_diff(*b) == 1);
            }
            // 63 and 128 are expected, give or take 8 and 11.
            assert!((31..=95).contains(&same) && (84..=172).contains(&next), "{same}, {next}");
        }
    }

    #[test]
    fn any_bits_are_drawn_as_often_as_others() {
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
            // Within 5 deviations, of 16 at most.
            let off = 5.0 * (1000.0 * mean * (1.0 - mean)).sqrt() + 0.5;
            let (drawn, beyond) = times.split_at(130);
            assert!(drawn.iter().all(|&times| (f64::from(times) - 1000.0 * mean).abs() < off));
            assert!(beyond.iter().all(|&times| times == 0));
        }
    }

    #[test]
    fn counts_sum_and_spread_as_they_should() {
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
        // Greedy at rho 0.8 collects blocks as they come down to 1 - 1 / 2.599 of 64 pages, 39.4:
        // the least of those that are left has a page more.
        let counts = valid_counts(Victim::Greedy, 10_000, 64, 512_000, &mut SplitMix64(1));
        assert!((40..=41).contains(&counts[0]), "{}", counts[0]);
        // A random victim is as full as the mean of all.
        let counts = valid_counts(Victim::Random, 10_000, 64, 512_000, &mut SplitMix64(1));
        assert!(counts[0] < 10 && counts[9_999] == 64, "{} to {}", counts[0], counts[9_999]);
    }

    /// As many blocks fall from `v` + 1 pages to `v` as are collected at `v` or below, be the parts
    /// below as small as they may.
    #[test]
    fn of_blocks_taken_at_random_as_many_come_as_go() {
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
