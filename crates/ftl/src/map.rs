//! Where each logical page is, and what each slot of the array was last programmed with.
//!
//! Slots are numbered through the array: slot `s` of super-page `p` is `p * slots + s`. Both tables
//! are packed: of an array of 2^26 slots they take 26 bits an entry.

use crate::machine::Ftl;
use crate::packed::Packed;
use crate::units::NONE;

#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// Logical page to slot; 0: not mapped, or mapped to slot 0.
    places: Packed,
    /// The logical page that is mapped to slot 0, which saves the table a bit an entry.
    first: u32,
    /// By slot: 0, or the logical page + 1. This is the content of the summary pages. It is never
    /// cleared: a slot is valid if the logical page is mapped there.
    written: Packed,
}

impl Map {
    pub fn new(exported: u32, slots: u32) -> Self {
        Self {
            places: Packed::new(exported, slots - 1),
            first: NONE,
            written: Packed::new(slots, exported),
        }
    }

    #[inline]
    pub fn get(&self, lpn: u32) -> Option<u32> {
        match self.places.get(lpn) {
            0 if self.first != lpn => None,
            psn => Some(psn),
        }
    }

    #[inline]
    pub fn set(&mut self, lpn: u32, psn: u32) {
        self.forget_first(lpn, psn);
        self.places.set(lpn, psn);
    }

    /// Maps the next of `pages`, none of which are mapped, to each slot from `start` on whose bit
    /// is set, programmed with it. None of the slots was written before.
    ///
    /// The processor has to wait for the memory of each page's entry, but not for one after the
    /// other: all are asked for before the first is needed.
    pub fn set_all(&mut self, start: u32, slots: &[u64], pages: &mut impl Iterator<Item = u32>) {
        const WORDS: usize = 4;
        let mut asked = [0; 64 * WORDS];
        for (slots, start) in slots.chunks(WORDS).zip((start..).step_by(64 * WORDS)) {
            let count: u32 = slots.iter().map(|word| word.count_ones()).sum();
            let asked = &mut asked[..count as usize];
            asked.fill_with(|| pages.next().expect("a page for each slot"));
            core::hint::black_box(asked.iter().fold(0, |sum, &page| sum ^ self.places.get(page)));
            let mut written = [0; 64 * WORDS];
            let mut asked = asked.iter();
            for (first, &word) in (0..).step_by(64).zip(slots) {
                let mut word = word;
                while word != 0 {
                    let at = first + word.trailing_zeros();
                    word &= word - 1;
                    let &page = asked.next().expect("counted");
                    self.places.set(page, start + at);
                    written[at as usize] = page + 1;
                }
            }
            if start == 0 && written[0] > 0 {
                self.first = written[0] - 1;
            }
            let end =
                64 * slots.len() - slots.last().map_or(0, |word| word.leading_zeros() as usize);
            self.written.set_run(start, &written[..end]);
        }
    }

    pub fn clear(&mut self, lpn: u32) {
        self.forget_first(lpn, 1);
        self.places.set(lpn, 0);
    }

    #[inline]
    fn forget_first(&mut self, lpn: u32, psn: u32) {
        if psn == 0 {
            self.first = lpn;
        } else if self.first == lpn {
            self.first = NONE;
        }
    }

    /// What a slot was last programmed with.
    #[inline]
    pub fn written(&self, psn: u32) -> Option<u32> {
        self.written.get(psn).checked_sub(1)
    }

    #[inline]
    pub fn write(&mut self, psn: u32, lpn: Option<u32>) {
        self.written.set(psn, lpn.map_or(0, |lpn| lpn + 1));
    }

    /// The memory itself.
    pub fn tables(&self) -> [&[u8]; 2] {
        [self.places.bytes(), self.written.bytes()]
    }

    /// Hands out the state.
    pub fn save(&self, out: &mut dyn FnMut(&[u8])) {
        out(&self.first.to_le_bytes());
        self.tables().into_iter().for_each(out);
    }

    /// Takes the state back; false where `fill` cannot.
    pub fn restore(&mut self, fill: &mut dyn FnMut(&mut [u8]) -> bool) -> bool {
        let mut first = [0; 4];
        let whole =
            fill(&mut first) && fill(self.places.bytes_mut()) && fill(self.written.bytes_mut());
        self.first = u32::from_le_bytes(first);
        whole
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> u64 {
        self.places.memory() + self.written.memory()
    }
}

impl Ftl {
    /// The slot after which the slots of a super-page start.
    #[inline]
    pub(crate) fn slot(&self, ppn: gordon_units::Ppn, slot: u32) -> u32 {
        ppn.0 * self.config.slots + slot
    }

    /// The super-page of a slot.
    #[inline]
    pub(crate) fn page_of(&self, psn: u32) -> gordon_units::Ppn {
        gordon_units::Ppn(match self.config.slots {
            1 => psn,
            slots => psn / slots,
        })
    }

    /// The block of a slot.
    #[inline]
    pub(crate) fn block_of(&self, psn: u32) -> gordon_units::BlockId {
        self.layout.block_of(self.page_of(psn))
    }
}
