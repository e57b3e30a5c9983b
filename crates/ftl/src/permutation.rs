//! A random permutation, in order and by single numbers.

use alloc::vec;
use alloc::vec::Vec;
use gordon_units::SplitMix64;

/// A random permutation of the numbers below a limit. It is a Feistel network on a grid of about as
/// many cells, whose round functions are additions of random table entries, indexed by row or
/// column.
///
/// The cells are visited column by column. A cell whose image is not below the limit is skipped;
/// there are fewer of these than a column has cells.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    limit: u32,
    width: u32,
    /// Logarithm to base 2 of the number of rows.
    bits: u32,
    /// The tables of four rounds: by row, the addend of the column, then by column, the addend of
    /// the row; twice.
    rounds: [Vec<u16>; 4],
    /// The skipped cells, in ascending order.
    skipped: Vec<u32>,
    /// By column: the number of skipped cells in the columns before it. The last entry counts all.
    skipped_before: Vec<u32>,
}

impl Permutation {
    pub fn new(limit: u32, random: &mut SplitMix64) -> Self {
        // There are at most 2^16 columns and rows.
        let bits = (32 - limit.saturating_sub(1).leading_zeros()).div_ceil(2);
        let (width, height) = (limit.div_ceil(1 << bits), 1 << bits);
        let mut table = |from: u32, to: u32| {
            // The number is below 2^16.
            #[allow(clippy::cast_possible_truncation)]
            (0..from).map(|_| random.below_u32(to) as u16).collect()
        };
        let rounds = [(height, width), (width, height), (height, width), (width, height)];
        let rounds = rounds.map(|(from, to)| table(from, to));
        let mut new = Self {
            limit,
            width,
            bits,
            rounds,
            skipped: vec![],
            skipped_before: vec![0; width as usize + 1],
        };
        // Cells and their images have 32 bits, but their number may be 2^32.
        #[allow(clippy::cast_possible_truncation)]
        let beyond = (u64::from(limit)..u64::from(width) << bits).map(|image| image as u32);
        new.skipped = beyond.map(|image| new.cell_of(image)).collect();
        new.skipped.sort_unstable();
        for cell in &new.skipped {
            new.skipped_before[(cell >> bits) as usize + 1] += 1;
        }
        let mut sum = 0;
        for count in &mut new.skipped_before {
            sum += *count;
            *count = sum;
        }
        new
    }

    /// The numbers in order.
    pub fn iter(&self) -> Numbers<'_> {
        Numbers { permutation: self, x: 0, y: 0 }
    }

    /// The number at a position.
    pub fn number_at(&self, position: u32) -> u32 {
        // As fewer cells are skipped than a column has, the cell is in this column or in the next.
        let mut x = position >> self.bits;
        let end = (u64::from(x) + 1) << self.bits;
        if u64::from(position) + u64::from(self.skipped_before[x as usize + 1]) >= end {
            x += 1;
        }
        let mut cell = position + self.skipped_before[x as usize];
        for &skipped in self.skipped_in(x) {
            cell += u32::from(skipped <= cell);
        }
        self.image(cell >> self.bits, cell & self.row_mask())
    }

    /// The position of a number.
    pub fn position_of(&self, number: u32) -> u32 {
        let cell = self.cell_of(number);
        let x = cell >> self.bits;
        let before = self.skipped_in(x).iter().filter(|&&skipped| skipped < cell).count();
        // A column has at most 2^16 cells.
        #[allow(clippy::cast_possible_truncation)]
        let before = before as u32;
        cell - self.skipped_before[x as usize] - before
    }

    /// The skipped cells of a column.
    fn skipped_in(&self, x: u32) -> &[u32] {
        let [start, end] = [x, x + 1].map(|x| self.skipped_before[x as usize] as usize);
        &self.skipped[start..end]
    }

    #[inline]
    fn row_mask(&self) -> u32 {
        (1 << self.bits) - 1
    }

    #[inline]
    fn image(&self, mut x: u32, mut y: u32) -> u32 {
        let [a, b, c, d] = &self.rounds;
        for [by_row, by_column] in [[a, b], [c, d]] {
            // A minimum instead of a branch, which would be unpredictable.
            x += u32::from(by_row[y as usize]);
            x = x.min(x.wrapping_sub(self.width));
            y = (y + u32::from(by_column[x as usize])) & self.row_mask();
        }
        x << self.bits | y
    }

    /// The cell with an image.
    fn cell_of(&self, image: u32) -> u32 {
        let (mut x, mut y) = (image >> self.bits, image & self.row_mask());
        let [a, b, c, d] = &self.rounds;
        for [by_row, by_column] in [[c, d], [a, b]] {
            y = y.wrapping_sub(by_column[x as usize].into()) & self.row_mask();
            x = x.wrapping_sub(by_row[y as usize].into());
            x = x.min(x.wrapping_add(self.width));
        }
        x << self.bits | y
    }
}

/// The numbers of a permutation in order.
pub(crate) struct Numbers<'a> {
    permutation: &'a Permutation,
    x: u32,
    y: u32,
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let Permutation { limit, width, bits, .. } = *self.permutation;
        while self.x < width {
            let image = self.permutation.image(self.x, self.y);
            self.y += 1;
            self.x += self.y >> bits;
            self.y &= (1 << bits) - 1;
            if image < limit {
                return Some(image);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_occurs_once() {
        for limit in [1, 2, 3, 7, 100, 4096, 4097, 1 << 17] {
            let mut numbers: Vec<u32> =
                Permutation::new(limit, &mut SplitMix64(5)).iter().collect();
            let runs = numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(limit < 100 || runs < 20, "{runs} neighbours of {limit} stayed together");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..limit), "{limit}");
        }
    }

    #[test]
    fn positions_and_numbers_are_inverse_to_each_other() {
        for limit in [1, 2, 3, 5, 17, 100, 4095, 4096, 4097, 70_001] {
            for seed in 0..20 {
                let permutation = Permutation::new(limit, &mut SplitMix64(seed));
                for (position, number) in (0..).zip(permutation.iter()) {
                    let found = (permutation.number_at(position), permutation.position_of(number));
                    assert_eq!(found, (number, position), "limit {limit}, seed {seed}");
                }
            }
        }
    }

    /// Pages at a fixed distance share a block of 64, or are in adjacent blocks, as often as
    /// expected by chance. A column of the grid has 1024 rows.
    #[test]
    fn no_distance_is_preserved() {
        const LIMIT: u32 = 300_000;
        let mut blocks = vec![0u32; LIMIT as usize];
        for (at, page) in (0..).zip(Permutation::new(LIMIT, &mut SplitMix64(5)).iter()) {
            blocks[page as usize] = at / 64;
        }
        for distance in [1, 2, 512, 1023, 1024, 1025, 5120] {
            let (mut same, mut next) = (0, 0);
            for (a, b) in blocks.iter().zip(&blocks[distance..]) {
                same += u32::from(a == b);
                next += u32::from(a.abs_diff(*b) == 1);
            }
            // The expected counts are 63 and 128, with standard deviations of 8 and 11.
            assert!((31..=95).contains(&same) && (84..=172).contains(&next), "{same}, {next}");
        }
    }
}
