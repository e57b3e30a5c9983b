//! Traces that are made of the recordings of rezolus.

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use gordon_trace::Trace;
use gordon_trace::activity::{ActivityError, ActivityFormat, ActivityOptions, convert, detect};
use gordon_units::Progress;
use gordon_units::{Bytes, Ns};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Name, labels and values of a column.
type CounterColumn<'a> = (&'a str, &'a [(&'a str, &'a str)], [u64; 3]);

/// A file as `rezolus record` writes it: two cores, three rows a second apart.
fn rezolus(path: &Path) {
    write(path, &[], Compression::UNCOMPRESSED);
}

/// The same with further columns.
fn write(path: &Path, more: &[CounterColumn<'_>], compression: Compression) {
    let labels = |pairs: &[(&str, &str)]| -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let second = 1_000_000_000_u64;
    let start = 1_795_687_200 * second;
    let columns: [CounterColumn<'_>; 7] = [
        ("timestamp", &[("metric_type", "timestamp")], [start, start + second, start + 2 * second]),
        ("24x0", &[("metric", "cpu_usage"), ("state", "user"), ("id", "0")], [7, 500_000_007, 7]),
        ("25x0", &[("metric", "cpu_usage"), ("state", "system"), ("id", "0")], [0, 250_000_000, 0]),
        ("24x1", &[("metric", "cpu_usage"), ("state", "user"), ("id", "1")], [9, 9, 9]),
        ("134", &[("metric", "blockio_bytes"), ("op", "write")], [4096, 12_288, 12_288]),
        ("129", &[("metric", "blockio_operations"), ("op", "write")], [1, 3, 3]),
        ("155", &[("metric", "network_bytes"), ("direction", "transmit")], [0, 1000, 1000]),
    ];
    let columns: Vec<_> = columns.iter().chain(more).collect();
    let fields = columns.iter().map(|(name, pairs, _)| {
        Field::new(*name, DataType::UInt64, true).with_metadata(labels(pairs))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let arrays = columns
        .iter()
        .map(|(.., values)| -> ArrayRef { Arc::new(UInt64Array::from_iter_values(*values)) });
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).unwrap();
    let mut writer = ArrowWriter::try_new(
        File::create(path).unwrap(),
        schema,
        Some(WriterProperties::builder().set_compression(compression).build()),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn recordings_of_rezolus_become_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.parquet");
    rezolus(&input);
    assert_eq!(detect(&input), Some(ActivityFormat::Rezolus));
    let output = folder.path().join("out");
    let options = ActivityOptions::default();
    let stop = Progress::default();
    let inputs = [input.clone()];
    let pending = convert(&inputs, &output, ActivityFormat::Rezolus, &options, &stop).unwrap();
    let report = pending.publish().unwrap();
    let samples = Trace::open(&output).unwrap().activity().unwrap();
    // The counters of core 0 start again before the last row.
    assert_eq!((samples.len(), report.hosts[0].left_out.restarts), (1, 0));
    assert_eq!(samples[0].span, Ns(Ns::SECOND.0));
    assert_eq!(samples[0].cpu_per_core, [Ns(750_000_000), Ns::ZERO]);
    assert_eq!((samples[0].disks[0].writes, samples[0].disks[0].write_bytes), (2, Bytes(8192)));
    assert_eq!(samples[0].tx_bytes, Bytes(1000));

    let bytes = fs::read(&input).unwrap();
    let output = folder.path().join("other");
    for cut in [4, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&input, &bytes[..cut]).unwrap();
        assert_eq!(detect(&input), None);
        let refused = convert(&inputs, &output, ActivityFormat::Rezolus, &options, &stop);
        assert!(matches!(refused, Err(ActivityError::Content { .. })), "{cut}");
    }
}

/// The bytes sent of a recording with these columns, and the warnings.
fn sent(more: &[CounterColumn<'_>], compression: Compression) -> (u64, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.parquet");
    write(&input, more, compression);
    assert_eq!(detect(&input), Some(ActivityFormat::Rezolus));
    let options = ActivityOptions::default();
    let format = ActivityFormat::Rezolus;
    let output = folder.path().join("out");
    let pending = convert(&[input], &output, format, &options, &Progress::default()).unwrap();
    let report = pending.publish().unwrap();
    (report.hosts[0].tx_bytes, report.warnings)
}

#[test]
fn packets_that_pass_several_interfaces_are_those_of_tcp() {
    let tcp = |bytes: u64| -> CounterColumn<'static> {
        ("90", &[("metric", "tcp_bytes"), ("direction", "transmit")], [0, bytes, bytes])
    };
    for (of_tcp, expected, is_noted) in [(300, 300, true), (900, 1000, false)] {
        let (bytes, warnings) = sent(&[tcp(of_tcp)], Compression::UNCOMPRESSED);
        assert_eq!(bytes, expected);
        assert_eq!(warnings.iter().any(|w| w.starts_with("interfaces")), is_noted, "{warnings:?}");
    }
}

#[test]
fn recordings_in_snappy_and_zstd_are_read() {
    for compression in [Compression::SNAPPY, Compression::ZSTD(Default::default())] {
        assert_eq!(sent(&[], compression).0, 1000);
    }
}

#[test]
fn accelerators_of_a_recording_are_named() {
    let gpu: CounterColumn<'_> =
        ("77x0", &[("metric", "gpu_energy_consumption"), ("id", "0")], [1, 2, 3]);
    let (_, warnings) = sent(&[gpu], Compression::UNCOMPRESSED);
    assert!(warnings.iter().any(|w| w.starts_with("accelerators: GPU; GPU time")), "{warnings:?}");
}
