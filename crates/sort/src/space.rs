//! Allocates space in temporary files, on one or several devices.

use crate::file::SortFile;
use crate::memory::PAGE;
use gordon_units::Bytes;
use std::sync::Arc;

/// Temporary files that grow at their ends.
pub struct Space {
    files: Vec<(Arc<SortFile>, u64)>,
    /// All files as one striped file.
    striped: Arc<SortFile>,
    /// Stripe unit in bytes, whole pages.
    unit: u64,
    /// End of the allocated part of the striped file, if all space is allocated there.
    end: Option<u64>,
    taken: u64,
}

impl Space {
    /// Without `stripe`, runs are striped over the files in units of a transfer, and a block is in
    /// a single file. With a `stripe` unit, both are striped in that unit.
    pub fn new(files: Vec<Arc<SortFile>>, transfer: usize, stripe: Option<Bytes>) -> Self {
        let unit = stripe.map_or(transfer.next_multiple_of(PAGE) as u64, |Bytes(unit)| unit);
        let end = stripe.filter(|_| files.len() > 1).map(|_| 0);
        let striped = Arc::new(SortFile::striped(&files, unit));
        let files = files.into_iter().map(|file| (file, 0)).collect();
        Self { files, striped, unit, end, taken: 0 }
    }

    /// Allocates `len` bytes in one file; consecutive values of `turn` select the files in turn.
    pub fn block(&mut self, turn: usize, len: u64) -> (Arc<SortFile>, u64) {
        let (count, len) = (self.files.len(), len.next_multiple_of(PAGE as u64));
        if let Some(end) = &mut self.end {
            let offset = *end;
            *end += len;
            self.taken += len;
            return (self.striped.clone(), offset);
        }
        let (file, end) = &mut self.files[turn % count];
        let offset = *end;
        *end += len;
        self.taken += len;
        (file.clone(), offset)
    }

    /// Allocates `len` bytes over all files, for data that are written by many threads and read
    /// sequentially.
    pub fn run(&mut self, len: u64) -> (Arc<SortFile>, u64) {
        let count = self.files.len() as u64;
        if count == 1 || self.end.is_some() {
            return self.block(0, len);
        }
        let end = self.files.iter().map(|(_, end)| *end).max().unwrap_or(0);
        let first = end.div_ceil(self.unit);
        let end = (first + len.div_ceil(self.unit * count)) * self.unit;
        self.files.iter_mut().for_each(|file| file.1 = end);
        self.taken += len.next_multiple_of(PAGE as u64);
        (self.striped.clone(), first * self.unit * count)
    }

    /// Number of bytes allocated.
    pub fn bytes(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::CacheMode;
    use crate::temporary::scratch;

    fn space(count: usize, unit: usize, stripe: Option<Bytes>) -> Space {
        let folder = tempfile::tempdir().expect("a folder");
        let files = (0..count).map(|n| scratch(folder.path(), n, CacheMode::Buffered));
        let files = files.map(|file| Arc::new(file.expect("a file"))).collect();
        Space::new(files, unit, stripe)
    }

    #[test]
    fn blocks_and_runs_do_not_overlap_and_use_all_files() {
        let stripes = [None, Some(1), Some(2), Some(16)];
        for (count, stripe) in [1, 2, 3].into_iter().flat_map(|n| stripes.map(|stripe| (n, stripe)))
        {
            let unit = 2 * PAGE as u64;
            let stripe = stripe.map(|pages| Bytes(pages * PAGE as u64));
            let mut space = space(count, 2 * PAGE, stripe);
            let mut places = Vec::new();
            for (number, len) in
                [1u64, 3 * unit, 5 * unit + 7, unit, 9 * unit].into_iter().enumerate()
            {
                places.push((space.block(number, 4000), 4000));
                places.push((space.run(len), len));
            }
            assert_eq!(space.bytes(), 5 * 4096 + (1 + 6 + 11 + 2 + 18) * 4096);
            // All are written before any is read.
            let bytes =
                |at: usize, len: u64| vec![u8::try_from(at + 1).expect("few"); len as usize];
            for (at, ((file, offset), len)) in places.iter().enumerate() {
                file.write(*offset, &bytes(at, *len)).expect("written");
            }
            for (at, ((file, offset), len)) in places.iter().enumerate() {
                let mut found = vec![0; *len as usize];
                file.read(*offset, &mut found).expect("read");
                assert!(found == bytes(at, *len), "{at} of {count}");
            }
            if stripe.is_some() && count > 1 {
                assert!(places.iter().all(|((file, _), _)| Arc::ptr_eq(file, &space.striped)));
            }
            let lens: Vec<u64> =
                space.files.iter().map(|(file, _)| file.len().expect("a length")).collect();
            let (least, most) = (lens.iter().min().expect("one"), lens.iter().max().expect("one"));
            assert!(most - least <= unit.max(space.unit) * 2, "{lens:?}");
        }
    }
}
