//! The order in which preloaded pages fill blocks.

use alloc::vec::Vec;

/// Pages placed over write points in turn, a super-page each, and seen block by block: a row has a
/// block for each write point, and the last row may be incomplete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stripes {
    /// Number of pages.
    pub pages: u32,
    pub points: u32,
    /// Pages of a super-page, and of a block.
    pub super_page: u32,
    pub block: u32,
}

impl Stripes {
    /// Appends the pages of the block at a position in the order of blocks.
    pub fn append_block(self, at: u32, pages: &mut Vec<u32>) {
        let (row, point) = (at / self.points * self.row(), at % self.points);
        let first = row + point * self.super_page;
        let turn = self.points * self.super_page;
        for at in 0..self.block / self.super_page {
            let start = self.pages.min(first.saturating_add(at * turn));
            pages.extend(start..self.pages.min(start.saturating_add(self.super_page)));
        }
    }

    /// The page at a position.
    pub fn number_at(self, position: u32) -> u32 {
        let row = position - position % self.row();
        // The last write point whose block starts at the position or before.
        let (mut point, mut end) = (0, self.points);
        while point + 1 < end {
            let middle = point + (end - point) / 2;
            if self.start_of(row, middle) <= position {
                point = middle;
            } else {
                end = middle;
            }
        }
        let within = position - self.start_of(row, point);
        let super_page = within / self.super_page * self.points + point;
        row + super_page * self.super_page + within % self.super_page
    }

    /// The position of a page.
    pub fn position_of(self, number: u32) -> u32 {
        let within = number % self.row();
        let (super_page, slot) = (within / self.super_page, within % self.super_page);
        let (turn, point) = (super_page / self.points, super_page % self.points);
        self.start_of(number - within, point) + turn * self.super_page + slot
    }

    /// Number of pages in the block of a write point, in the row that starts with page `row`.
    pub fn pages_in(self, row: u32, point: u32) -> u32 {
        self.start_of(row, point + 1) - self.start_of(row, point)
    }

    /// Pages of a row of blocks.
    pub fn row(self) -> u32 {
        self.points * self.block
    }

    /// The position at which the block of a write point starts.
    fn start_of(self, row: u32, point: u32) -> u32 {
        let left = self.row().min(self.pages - row);
        let (super_pages, rest) = (left / self.super_page, left % self.super_page);
        let (turns, last) = (super_pages / self.points, super_pages % self.points);
        let before = point * turns + point.min(last);
        row + before * self.super_page + if point > last { rest } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn the_order_is_that_of_blocks_filled_in_turn() {
        for (points, super_page, super_pages) in [(1, 1, 1), (3, 1, 4), (4, 5, 3), (7, 2, 2)] {
            let block = super_page * super_pages;
            for pages in 0..3 * points * block {
                let stripes = Stripes { pages, points, super_page, block };
                let mut blocks: Vec<Vec<u32>> = vec![vec![]; 3 * points as usize];
                for page in 0..pages {
                    let row = page / (points * block);
                    let point = page / super_page % points;
                    blocks[(row * points + point) as usize].push(page);
                }
                let in_order = blocks.concat();
                let mut found = vec![];
                (0..pages.div_ceil(points * block) * points)
                    .for_each(|at| stripes.append_block(at, &mut found));
                assert_eq!(found, in_order, "{stripes:?}");
                for (position, &page) in (0..).zip(&in_order) {
                    let found = (stripes.number_at(position), stripes.position_of(page));
                    assert_eq!(found, (page, position), "{stripes:?}");
                }
            }
        }
    }
}
