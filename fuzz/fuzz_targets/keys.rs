//! Keys of lines and of records as anyone may write them: an error that says what to try, or an order in
//! which prefixes and whole keys agree.
#![no_main]

use gordon_sort::{Config, FixedConfig, LinesConfig, Shape, Visitor};
use libfuzzer_sys::fuzz_target;

/// Looks at every two records.
struct Agree<'a>(&'a [u8]);

impl Visitor for Agree<'_> {
    type Output = ();

    fn visit<S: Shape>(self, shape: &S) {
        let bytes = &self.0[..shape.whole(self.0)];
        let mut records = vec![];
        let mut at = 0;
        while at < bytes.len() && records.len() < 16 {
            let end = shape.end(bytes, at);
            records.push(&bytes[at..end]);
            at = end;
        }
        for shape in [shape, &shape.focused(&records)] {
            for a in &records {
                for b in &records {
                    let (order, whole) =
                        (shape.prefix(a).cmp(&shape.prefix(b)), shape.compare(a, b));
                    assert_eq!(whole, shape.compare(b, a).reverse(), "one way or the other");
                    assert!(order.is_eq() || order == whole, "prefixes say what keys do");
                    assert!(order.is_ne() || whole.is_eq() || !shape.is_whole(), "all is said");
                }
            }
        }
    }
}

fuzz_target!(|data: (Vec<String>, String, Option<String>, u8, Vec<u8>)| {
    let (keys, options, separator, kind, bytes) = data;
    let config = if kind & 1 == 0 {
        let (zero, stable) = (kind & 2 != 0, kind & 4 != 0);
        Config::Lines(LinesConfig { keys, options, separator, zero, stable })
    } else {
        Config::Fixed(FixedConfig { record: usize::from(kind >> 1), keys })
    };
    if let Err(error) = config.with(Agree(&bytes)) {
        assert!(error.to_string().contains("\n  try: "), "{error}");
    }
});
