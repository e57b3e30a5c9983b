//! What all formats share: order, units, skipped entries, compression, unknown files.

use super::{S, all, case, gzip, refused, with};
use gordon_trace::formats::{Format, Order, ReadOptions, TraceRequest, open};
use gordon_units::Ns;
use std::path::Path;

#[test]
fn skip_bad_counts() {
    let text = "10 0 8 8 1\n11 0 x 8 1\n9 0 8 8 1\n\n12 0 8 8 1\n13 0 8";
    let case = case(text);
    let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
    let mut reader = open(&case.path, None, &options).unwrap();
    let all = all(&mut reader).unwrap();
    assert_eq!((all.len(), reader.skipped()), (2, 3));
    let first = reader.first_skipped().unwrap();
    assert!(first.contains("line 2: offset"), "{first}");
}

#[test]
fn times_out_of_order() {
    let text = "10 0 1 1 1\n30 0 3 1 1\n20 0 2 1 1\n40 0 4 1 1\n";
    let case = case(text);
    let by = |order| with(&case.path, &ReadOptions { order, ..ReadOptions::default() });
    let brief = |all: &[TraceRequest]| {
        all.iter().map(|io| (io.at.0, io.offset.0 / 512)).collect::<Vec<_>>()
    };
    let (clamped, counts) = by(Order::Clamp);
    assert_eq!(brief(&clamped), [(0, 1), (20, 3), (20, 2), (30, 4)]);
    assert_eq!(counts.clamped, 1);
    assert_eq!(brief(&by(Order::Sort).0), [(0, 1), (10, 2), (20, 3), (30, 4)]);
    // Too far out of order for the window.
    let mut text = String::new();
    for i in 1..100_000 {
        text += &format!("{i} 0 8 8 1\n");
    }
    text += "5 0 8 8 1\n";
    let far = self::case(text);
    let options = ReadOptions { order: Order::Sort, ..ReadOptions::default() };
    let result = open(&far.path, None, &options).and_then(|mut r| all(&mut r));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("line 100000: time goes backwards"), "{error}");
}

#[test]
fn sectors_and_empty_requests() {
    let text = "1,R,100,1000,5\n1,W,0,0,6\n1,W,512,1,7\n1,R,1024,512,8\n";
    let case = case(text);
    let (all, counts) = with(&case.path, &ReadOptions::default());
    let brief: Vec<_> = all.iter().map(|io| (io.offset.0, io.len.0)).collect();
    assert_eq!(brief, [(0, 1536), (512, 512), (1024, 512)]);
    assert_eq!((counts.extended, counts.empty, counts.requests), (2, 1, 3));
}

#[test]
fn time_units() {
    let text = "10 0 8 8 1\n20 0 8 8 1\n";
    let case = case(text);
    let unit = |unit| ReadOptions { time_unit: Some(Ns(unit)), ..ReadOptions::default() };
    assert_eq!(with(&case.path, &unit(1000)).0[1].at, Ns(10_000));
    let error = open(&case.path, None, &unit(2 * S)).unwrap_err().to_string();
    assert!(error.contains("between 1ns and 1s"), "{error}");
}

#[test]
fn compressed() {
    let part = |from: u64| -> String {
        (from..from + 20_000).map(|i| format!("{i} 0 {} 8 {}\n", i * 8, i % 2)).collect()
    };
    let (first, second) = (part(0), part(20_000));
    // Concatenated compressed files are read to the end.
    let zipped = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    let packed = [zstd(&first), zstd(&second)].concat();
    for bytes in [zipped.clone(), packed.clone()] {
        let case = case(bytes);
        assert_eq!(with(&case.path, &ReadOptions::default()).0.len(), 40_000);
    }
    for bytes in [&zipped[..zipped.len() - 100], &packed[..packed.len() - 100]] {
        refused(None, bytes, &["cannot read", "after line", "cut short"]);
    }
    for bytes in [&zipped[..14], &packed[..14]] {
        refused(None, bytes, &["cannot read", "after its start", "cut short"]);
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_text() {
    let text = "\u{feff}10 0 8 8 1\n20 0 8 8 1\n";
    for bytes in [text.as_bytes().to_vec(), gzip(text.as_bytes())] {
        assert_eq!(with(&case(bytes).path, &ReadOptions::default()).0[1].at, Ns(10));
    }
}

#[test]
fn unknown_and_empty() {
    refused(None, "", &["holds no request"]);
    for text in ["\n\n", "# a\n\n  # b\n"] {
        refused(None, text, &["holds no request: its lines are blank or comments"]);
    }
    refused(None, "hello world\nthis is no trace\n", &["no known trace format", "`hello world`"]);
    refused(
        None,
        (0..400_u32).map(|i| (i * i % 251) as u8).collect::<Vec<_>>(),
        &["no known trace format", "binary"],
    );
    refused(None, "PAR1\0\0\0", &["Parquet"]);
    refused(Some(Format::MQSIM), "\n", &["holds no request"]);
    let long = "1".repeat(3 << 20);
    refused(Some(Format::MQSIM), long, &["no end of line"]);
    let missing = open(Path::new("/nonexistent/x"), None, &ReadOptions::default()).unwrap_err();
    assert!(missing.to_string().contains("cannot open /nonexistent/x"));
    let name = "nonsense".parse::<Format>().unwrap_err().to_string();
    assert!(name.contains("`nonsense`") && name.contains("oracleGeneral"), "{name}");
    for format in Format::all() {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let case = case("10 0 8 8 1\n");
    let options = ReadOptions { device: Some(7), ..ReadOptions::default() };
    let error = open(&case.path, None, &options).and_then(|mut r| all(&mut r)).unwrap_err();
    assert!(error.to_string().contains("of device 7: 1 are of others"), "{error}");
}
