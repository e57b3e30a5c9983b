//! What a device tells of itself, over HTTP: `/status` as JSON, `/metrics` for Prometheus
//! (prometheus.io, "Text-based format", version 0.0.4).

use super::{Serving, Status};
use crate::server::{Listen, Listener, NbdError};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tiny_http::{Header, Method, Response, Server};

/// A server of status, until it is dropped.
pub struct Metrics {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
    place: Listen,
    /// Removes the socket's file in the end.
    _listener: Listener,
}

impl Metrics {
    /// Tells at a place. Beyond this machine only with the explicit word in the place.
    ///
    /// # Errors
    ///
    /// A place that cannot be used.
    pub fn start(serving: Serving, place: &Listen) -> Result<Self, NbdError> {
        let (listener, place) = Listener::open(place, false)?;
        let server =
            Server::from_listener(listener.waiting()?, None).map_err(|error| NbdError::Listen {
                place: place.uri("http"),
                error: io::Error::other(error.to_string()),
            })?;
        let server = Arc::new(server);
        let inside = Arc::clone(&server);
        let answer = move || {
            for request in inside.incoming_requests() {
                let plain = matches!(request.method(), Method::Get | Method::Head);
                let (code, kind, body) = match request.url() {
                    _ if !plain => (405, "text/plain", "GET only\n".to_owned()),
                    "/metrics" => (200, "text/plain; version=0.0.4", prometheus(&serving.status())),
                    "/status" | "/" => {
                        let status = serde_json::to_string(&serving.status());
                        (200, "application/json", status.expect("numbers and names"))
                    }
                    _ => (404, "text/plain", "there is /status and /metrics\n".to_owned()),
                };
                let header = Header::from_bytes("Content-Type", kind).expect("plain text");
                let response =
                    Response::from_string(body).with_status_code(code).with_header(header);
                // A client that left is no concern of ours.
                let _ = request.respond(response);
            }
        };
        let thread = thread::Builder::new().name("flash-status".into()).spawn(answer)?;
        Ok(Self { server, thread: Some(thread), place, _listener: listener })
    }

    /// Where it listens, a free port filled in.
    #[must_use]
    pub fn uri(&self) -> String {
        self.place.uri("http")
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// A line for each value.
#[allow(clippy::cast_precision_loss)]
fn prometheus(s: &Status) -> String {
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, values: &[(String, f64)]| {
        // Writing to a string does not fail.
        let _ =
            writeln!(out, "# HELP gordon_block_{name} {help}\n# TYPE gordon_block_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "gordon_block_{name}{labels} {value}");
        }
    };
    let one = |value: f64| vec![(String::new(), value)];
    let by = |label: &str, values: &[(&str, u64)]| -> Vec<(String, f64)> {
        values.iter().map(|(name, v)| (format!("{{{label}=\"{name}\"}}"), *v as f64)).collect()
    };
    family(
        "info",
        "gauge",
        "The image.",
        &[(
            format!(
                "{{uuid=\"{}\",preset=\"{}\",version=\"{}\"}}",
                s.uuid,
                s.preset.replace(['"', '\\', '\n'], "_"),
                s.version
            ),
            1.0,
        )],
    );
    family(
        "requests_total",
        "counter",
        "Requests of hosts.",
        &by(
            "kind",
            &[
                ("read", s.reads),
                ("write", s.writes),
                ("flush", s.flushes),
                ("trim", s.trims),
                ("zeroes", s.zeroes),
            ],
        ),
    );
    family("failed_total", "counter", "Requests that failed.", &one(s.failed as f64));
    family(
        "bytes_total",
        "counter",
        "Bytes of hosts.",
        &by(
            "kind",
            &[
                ("read", s.host_bytes_read),
                ("written", s.host_bytes_written),
                ("trimmed", s.host_bytes_trimmed),
            ],
        ),
    );
    family("in_flight", "gauge", "Requests on their way.", &one(s.in_flight as f64));
    family(
        "pages_programmed_total",
        "counter",
        "Logical pages programmed.",
        &by(
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
        family(
            "write_amplification",
            "gauge",
            "Bytes programmed for each byte written.",
            &one(amplification),
        );
    }
    family("erases_total", "counter", "Super-blocks erased.", &one(s.erases as f64));
    family(
        "collections_total",
        "counter",
        "Super-blocks emptied.",
        &by("cause", &[("gc", s.collections), ("wear", s.levelled)]),
    );
    family(
        "gc_page_reads_total",
        "counter",
        "Logical pages read to be copied.",
        &one(s.gc_page_reads as f64),
    );
    family(
        "buffer_hits_total",
        "counter",
        "Requests served by a buffer.",
        &by(
            "how",
            &[
                ("combined", s.combined),
                ("bypassed", s.bypassed),
                ("forwarded", s.forwarded),
                ("buffered", s.buffered),
            ],
        ),
    );
    family(
        "pages",
        "gauge",
        "Logical pages.",
        &by("state", &[("mapped", s.mapped_pages), ("exported", s.exported_pages.into())]),
    );
    family(
        "blocks",
        "gauge",
        "Super-blocks.",
        &by("state", &[("free", s.free_blocks.into()), ("good", s.good_blocks.into())]),
    );
    family(
        "block_erases",
        "gauge",
        "Erases of super-blocks over their life.",
        &[
            ("{of=\"least\"}".to_owned(), s.wear.least.into()),
            ("{of=\"mean\"}".to_owned(), s.wear.mean),
            ("{of=\"most\"}".to_owned(), s.wear.most.into()),
        ],
    );
    family(
        "errors_total",
        "counter",
        "What went wrong below.",
        &by(
            "kind",
            &[
                ("bits_corrected", s.bits_corrected),
                ("codewords_lost", s.codewords_lost),
                ("checksums", s.checksum_errors),
                ("flash", s.flash_failures),
                ("file", s.medium_errors),
            ],
        ),
    );
    family("syncs_total", "counter", "Syncs of the file under the image.", &one(s.syncs as f64));
    family(
        "read_only",
        "gauge",
        "Whether it takes no writes.",
        &one(f64::from(u8::from(s.read_only.is_some()))),
    );
    let lanes: Vec<_> = s
        .lanes
        .iter()
        .enumerate()
        .flat_map(|(at, lane)| {
            [("read", lane.reads), ("program", lane.programs), ("erase", lane.erases)]
                .map(|(op, count)| (format!("{{lane=\"{at}\",op=\"{op}\"}}"), count as f64))
        })
        .collect();
    family("operations_total", "counter", "Operations of the array.", &lanes);
    if let Some(utilisation) = &s.utilisation {
        let numbered = |label: &str, parts: &[f64]| -> Vec<_> {
            parts.iter().enumerate().map(|(at, v)| (format!("{{{label}=\"{at}\"}}"), *v)).collect()
        };
        family(
            "bus_utilisation",
            "gauge",
            "Modelled: busy part of the time.",
            &numbered("bus", &utilisation.buses),
        );
        family(
            "die_utilisation",
            "gauge",
            "Modelled: busy part of the time.",
            &numbered("lane", &utilisation.dies),
        );
    }
    if let Some(e) = &s.emulation {
        family(
            "late_us",
            "gauge",
            "Answers later than flash time asks for.",
            &[
                ("{of=\"mean\"}".to_owned(), e.late_mean_us),
                ("{of=\"p99\"}".to_owned(), e.late_p99_us),
                ("{of=\"max\"}".to_owned(), e.late_max_us),
            ],
        );
    }
    let powers = |h: &gordon_store::Histogram, scale: f64| -> Vec<(String, f64)> {
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
    };
    family(
        "queue_depth_requests",
        "untyped",
        "Requests on their way when one came in: at most le.",
        &powers(&s.queue_depth, 1.0),
    );
    family(
        "arrival_gap_seconds",
        "untyped",
        "Time between requests: at most le.",
        &powers(&s.arrivals_ns, 1e-9),
    );
    out
}
