//! The status in the text format of Prometheus, with a line for each value.

use crate::status::{DeviceStatus, DiskStatus, FlashStatus, Status};
use gordon_store::Histogram;
use std::fmt::Write as _;

type Values = Vec<(String, f64)>;

/// Formats a status.
pub(super) fn of(s: &Status) -> String {
    let mut text = Text(String::new());
    common(s, &mut text);
    match &s.of {
        DeviceStatus::Flash(flash) => of_flash(flash, &mut text),
        DeviceStatus::Disk(disk) => of_disk(disk, &mut text),
    }
    text.0
}

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str, values: &[(String, f64)]) {
        // Writing to a `String` does not fail.
        let _ = writeln!(
            self.0,
            "# HELP gordon_block_{name} {help}\n# TYPE gordon_block_{name} {kind}"
        );
        for (labels, value) in values {
            let _ = writeln!(self.0, "gordon_block_{name}{labels} {value}");
        }
    }
}

fn one(value: f64) -> Values {
    vec![(String::new(), value)]
}

/// Values by a label.
fn by(label: &str, values: &[(&str, f64)]) -> Values {
    values.iter().map(|(name, value)| (format!("{{{label}=\"{name}\"}}"), *value)).collect()
}

/// Counts by a label.
#[allow(clippy::cast_precision_loss)]
fn counts(label: &str, counts: &[(&str, u64)]) -> Values {
    by(label, &counts.iter().map(|(name, count)| (*name, *count as f64)).collect::<Vec<_>>())
}

/// The buckets of a histogram by powers of two. As Prometheus requires, each includes those below.
#[allow(clippy::cast_precision_loss)]
fn powers(h: &Histogram, scale: f64) -> Values {
    let used = h.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let mut sum = 0;
    let mut buckets: Vec<_> = h.0[..used]
        .iter()
        .enumerate()
        .map(|(n, count)| {
            sum += count;
            let most = if n == 0 {
                0.0
            } else {
                (2f64.powi(i32::try_from(n).unwrap_or(64)) - 1.0) * scale
            };
            (format!("{{le=\"{most}\"}}"), sum as f64)
        })
        .collect();
    buckets.push(("{le=\"+Inf\"}".to_owned(), h.count() as f64));
    buckets
}

/// The metrics of every device.
#[allow(clippy::cast_precision_loss)]
fn common(s: &Status, text: &mut Text) {
    let h = &s.hosts;
    let uuid = match &s.of {
        DeviceStatus::Flash(flash) => &flash.uuid,
        DeviceStatus::Disk(_) => "",
    };
    let preset = s.preset.replace(['"', '\\', '\n'], "_");
    let labels = format!("{{uuid=\"{uuid}\",preset=\"{preset}\",version=\"{}\"}}", s.version);
    text.family("info", "gauge", "What is served.", &[(labels, 1.0)]);
    text.family(
        "requests_total",
        "counter",
        "Requests of hosts.",
        &counts(
            "kind",
            &[
                ("read", h.reads),
                ("write", h.writes),
                ("flush", h.flushes),
                ("trim", h.trims),
                ("zeroes", h.zeroes),
            ],
        ),
    );
    text.family("failed_total", "counter", "Requests that failed.", &one(h.failed as f64));
    text.family(
        "bytes_total",
        "counter",
        "Bytes of hosts.",
        &counts(
            "kind",
            &[
                ("read", h.host_bytes_read),
                ("written", h.host_bytes_written),
                ("trimmed", h.host_bytes_trimmed),
            ],
        ),
    );
    text.family("in_flight", "gauge", "Requests on their way.", &one(h.in_flight as f64));
    text.family(
        "syncs_total",
        "counter",
        "Syncs of the file under the device.",
        &one(s.syncs as f64),
    );
    text.family(
        "read_only",
        "gauge",
        "Whether it takes no writes.",
        &one(f64::from(u8::from(s.read_only.is_some()))),
    );
    let mut errors = vec![("file", s.medium_errors)];
    if let DeviceStatus::Flash(flash) = &s.of {
        errors.extend([
            ("bits_corrected", flash.bits_corrected),
            ("codewords_lost", flash.codewords_lost),
            ("checksums", flash.checksum_errors),
            ("flash", flash.flash_failures),
        ]);
    }
    text.family("errors_total", "counter", "What went wrong below.", &counts("kind", &errors));
    if let Some(e) = &s.emulation {
        text.family(
            "late_us",
            "gauge",
            "Answers later than simulated time asks for.",
            &by("of", &[("mean", e.late_mean_us), ("p99", e.late_p99_us), ("max", e.late_max_us)]),
        );
    }
    text.family(
        "queue_depth_requests",
        "untyped",
        "Requests on their way when one came in: at most le.",
        &powers(&h.queue_depth, 1.0),
    );
    text.family(
        "arrival_gap_seconds",
        "untyped",
        "Time between requests: at most le.",
        &powers(&h.arrivals_ns, 1e-9),
    );
}

/// The metrics of flash images.
#[allow(clippy::cast_precision_loss)]
fn of_flash(s: &FlashStatus, text: &mut Text) {
    text.family(
        "pages_programmed_total",
        "counter",
        "Logical pages programmed.",
        &counts(
            "cause",
            &[
                ("host", s.programmed.host),
                ("gc", s.programmed.gc),
                ("wear", s.programmed.wear),
                ("summary", s.programmed.summary),
                ("trims", s.programmed.trims),
                ("padding", s.programmed.padding),
            ],
        ),
    );
    if let Some(amplification) = s.write_amplification {
        text.family(
            "write_amplification",
            "gauge",
            "Bytes programmed for each byte written.",
            &one(amplification),
        );
    }
    text.family("erases_total", "counter", "Super-blocks erased.", &one(s.erases as f64));
    text.family(
        "collections_total",
        "counter",
        "Super-blocks emptied.",
        &counts("cause", &[("gc", s.collections), ("wear", s.levelled)]),
    );
    text.family(
        "gc_page_reads_total",
        "counter",
        "Logical pages read to be copied.",
        &one(s.gc_page_reads as f64),
    );
    text.family(
        "buffer_hits_total",
        "counter",
        "Requests served by a buffer.",
        &counts(
            "how",
            &[
                ("combined", s.combined),
                ("bypassed", s.bypassed),
                ("forwarded", s.forwarded),
                ("buffered", s.buffered),
            ],
        ),
    );
    text.family(
        "pages",
        "gauge",
        "Logical pages.",
        &counts("state", &[("mapped", s.mapped_pages), ("exported", s.exported_pages.into())]),
    );
    text.family(
        "blocks",
        "gauge",
        "Super-blocks.",
        &counts("state", &[("free", s.free_blocks.into()), ("good", s.good_blocks.into())]),
    );
    text.family(
        "block_erases",
        "gauge",
        "Erases of super-blocks over their life.",
        &by(
            "of",
            &[("least", s.wear.least.into()), ("mean", s.wear.mean), ("most", s.wear.most.into())],
        ),
    );
    let die_groups: Vec<_> = s
        .die_groups
        .iter()
        .enumerate()
        .flat_map(|(at, die_group)| {
            [
                ("read", die_group.reads),
                ("program", die_group.programs),
                ("erase", die_group.erases),
            ]
            .map(|(op, count)| (format!("{{lane=\"{at}\",op=\"{op}\"}}"), count as f64))
        })
        .collect();
    text.family("operations_total", "counter", "Operations of the array.", &die_groups);
    if let Some(busy) = &s.busy_ns {
        let seconds = |of: &str, parts: &[u64]| -> Vec<_> {
            let each = |(at, ns): (usize, &u64)| {
                (format!("{{of=\"{of}\",number=\"{at}\"}}"), *ns as f64 / 1e9)
            };
            parts.iter().enumerate().map(each).collect()
        };
        let all = [seconds("bus", &busy.buses), seconds("lane", &busy.dies)].concat();
        text.family("busy_seconds_total", "counter", "Modelled: busy time.", &all);
    }
    if let Some(utilisation) = &s.utilisation {
        let numbered = |label: &str, parts: &[f64]| -> Vec<_> {
            parts.iter().enumerate().map(|(at, v)| (format!("{{{label}=\"{at}\"}}"), *v)).collect()
        };
        text.family(
            "bus_utilisation",
            "gauge",
            "Modelled: busy part of the time.",
            &numbered("bus", &utilisation.buses),
        );
        text.family(
            "die_utilisation",
            "gauge",
            "Modelled: busy part of the time.",
            &numbered("lane", &utilisation.dies),
        );
    }
}

/// The metrics of simulated disks.
#[allow(clippy::cast_precision_loss)]
fn of_disk(s: &DiskStatus, text: &mut Text) {
    let Some(d) = &s.disk else { return };
    let moves = [("all", d.positionings), ("arm", d.seeks)];
    text.family(
        "positionings_total",
        "counter",
        "Modelled: moves of heads.",
        &counts("of", &moves),
    );
    let spent = [("seek", d.seek_ms.total / 1e3), ("rotation", d.rotation_ms.total / 1e3)];
    let spent = by("of", &spent);
    text.family("positioning_seconds_total", "counter", "Modelled: time in them.", &spent);
    let hits = [("buffer", d.buffer_hits), ("read_ahead", d.read_ahead_hits)];
    text.family("buffer_hits_total", "counter", "Modelled: reads served.", &counts("how", &hits));
    let destages = one(d.destages as f64);
    text.family("destages_total", "counter", "Modelled: writes to the medium.", &destages);
    let busy = by("of", &[("reading", d.reading), ("writing", d.writing)]);
    text.family("busy", "gauge", "Modelled: busy part of the time.", &busy);
    if let Some(energy) = d.energy_j {
        text.family("energy_joules_total", "counter", "Modelled: energy.", &one(energy));
    }
}
