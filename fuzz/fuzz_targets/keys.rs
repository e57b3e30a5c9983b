//! Keys of lines and of records as anyone may write them: an error that says what to try, or an
//! order in which prefixes and whole keys agree.
#![no_main]

use gordon_sort::{FixedConfig, FormatVisitor, LinesConfig, RecordConfig, RecordFormat};
use libfuzzer_sys::fuzz_target;

/// Looks at every two records.
struct Agree<'a>(&'a [u8]);

impl FormatVisitor for Agree<'_> {
    type Output = ();

    fn visit<S: RecordFormat>(self, format: &S) {
        let bytes = &self.0[..format.complete_len(self.0)];
        let mut records = vec![];
        let mut at = 0;
        while at < bytes.len() && records.len() < 16 {
            let end = format.end(bytes, at);
            records.push(&bytes[at..end]);
            at = end;
        }
        for format in [format, &format.specialized(&records)] {
            for a in &records {
                for b in &records {
                    let (order, whole) =
                        (format.prefix(a).cmp(&format.prefix(b)), format.compare(a, b));
                    assert_eq!(whole, format.compare(b, a).reverse(), "one way or the other");
                    assert!(order.is_eq() || order == whole, "prefixes say what keys do");
                    assert!(
                        order.is_ne() || whole.is_eq() || !format.prefix_is_full_key(),
                        "all is said"
                    );
                }
            }
        }
    }
}

fuzz_target!(|data: (Vec<String>, String, Option<String>, u8, Vec<u8>)| {
    let (keys, options, separator, kind, bytes) = data;
    let config = if kind & 1 == 0 {
        let (zero, stable) = (kind & 2 != 0, kind & 4 != 0);
        RecordConfig::Lines(LinesConfig { keys, options, separator, zero, stable })
    } else {
        RecordConfig::Fixed(FixedConfig { record: usize::from(kind >> 1), keys })
    };
    if let Err(error) = config.with(Agree(&bytes)) {
        assert!(error.to_string().contains("\n  try: "), "{error}");
    }
});
