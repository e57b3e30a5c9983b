//! Sorts records in memory with every method of a format, and compares the results.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod gnu;

use gordon_sort::{FormatVisitor, KeyOffset, RecordConfig, RecordFormat, SortError, Tiebreak};

/// Sorts bytes in a format.
struct Sorted<'a> {
    bytes: &'a [u8],
    unique: bool,
}

impl FormatVisitor for Sorted<'_> {
    type Output = Vec<u8>;

    fn visit<S: RecordFormat>(self, shape: &S) -> Vec<u8> {
        let mut all = self.bytes.to_vec();
        if let Some(separator) = shape.separator()
            && all.last().is_some_and(|&last| last != separator)
        {
            all.push(separator);
        }
        assert_eq!(shape.complete_len(&all), all.len(), "all are whole");
        let mut records: Vec<&[u8]> = vec![];
        let mut at = 0;
        while at < all.len() {
            let end = shape.end(&all, at);
            records.push(&all[at..end]);
            at = end;
        }
        // All of these sorts are stable.
        let mut expected = records.clone();
        expected.sort_by(|a, b| shape.compare(a, b));
        let some: Vec<&[u8]> = records.iter().copied().step_by(3).collect();
        for shape in [shape, &shape.specialized(&records), &shape.specialized(&some)] {
            assert!(records.iter().all(|record| shape.prefix(record) >> 80 == 0));
            let mut sorted = records.clone();
            sorted.sort_by(|a, b| {
                let order = shape.prefix(a).cmp(&shape.prefix(b));
                order.then_with(|| {
                    let order = shape.compare(a, b);
                    assert!(
                        order.is_eq() || !shape.prefix_is_full_key(),
                        "{a:?} and {b:?} have one prefix"
                    );
                    order
                })
            });
            assert_eq!(shown(&sorted), shown(&expected), "by prefix, by compare");
            let mut sorted = records.clone();
            deeper(shape, &mut sorted, KeyOffset::default());
            assert_eq!(shown(&sorted), shown(&expected), "part by part, by compare");
        }
        if self.unique {
            expected.dedup_by(|next, first| shape.compare(first, next).is_eq());
        }
        expected.concat()
    }
}

/// Sorts by one prefix of the keys after another.
fn deeper<S: RecordFormat>(shape: &S, records: &mut [&[u8]], depth: KeyOffset) {
    for record in records.iter() {
        let beside = [&b"beside it"[..], record, record].concat();
        assert_eq!(shape.prefix_from(&beside, 9, depth), shape.prefix_at(record, depth));
    }
    records.sort_by_key(|record| shape.prefix_at(record, depth));
    let same = |a: &&[u8], b: &&[u8]| shape.prefix_at(a, depth) == shape.prefix_at(b, depth);
    for run in records.chunk_by_mut(same) {
        match shape.tiebreak(shape.prefix_at(run[0], depth), depth) {
            Tiebreak::At(next) => deeper(shape, run, next),
            Tiebreak::Compare => run.sort_by(|a, b| shape.compare(a, b)),
            Tiebreak::Nothing => {
                let same = run.windows(2).all(|pair| shape.compare(pair[0], pair[1]).is_eq());
                assert!(same, "no more is left of their order");
            }
        }
    }
}

fn shown(records: &[&[u8]]) -> Vec<String> {
    records.iter().map(|record| record.escape_ascii().to_string()).collect()
}

/// Sorts the records in `bytes`.
pub fn sorted(config: &RecordConfig, bytes: &[u8]) -> Result<Vec<u8>, SortError> {
    config.with(Sorted { bytes, unique: false })
}

/// Sorts the records in `bytes` and keeps the first of those with equal keys.
pub fn unique(config: &RecordConfig, bytes: &[u8]) -> Result<Vec<u8>, SortError> {
    config.with(Sorted { bytes, unique: true })
}
