//! The bytes of an entry: a line `gordon-replay SHA-256`, and the replay with its key as JSON,
//! whose SHA-256 this is.

use super::key::{ReplayKey, digest};
use crate::trace::replay::{Replay, StorageCost};
use crate::trace::stream::{FlashWear, Replayed};
use gordon_blockio::Usage;
use gordon_units::Ns;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

const MAGIC: &str = "gordon-replay";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    key: Cow<'a, Value>,
    requests: u64,
    compacted: bool,
    counters: BTreeMap<String, u64>,
    flash: Vec<FlashWear>,
    /// Of each sample, in nanoseconds, as are the busy times.
    time_ns: Vec<u64>,
    read_ns: Vec<u64>,
    write_ns: Vec<u64>,
    controller_ns: Vec<u64>,
}

/// The entry of a replay.
pub(super) fn encode(key: &ReplayKey, replayed: &Replayed) -> Vec<u8> {
    let costs = &replayed.replay.costs;
    let column = |of: fn(&StorageCost) -> Ns| costs.iter().map(|cost| of(cost).0).collect();
    let entry = Entry {
        key: Cow::Borrowed(key.value()),
        requests: replayed.replay.requests,
        compacted: replayed.compacted,
        counters: replayed.counters.clone(),
        flash: replayed.flash.clone(),
        time_ns: column(|cost| cost.time),
        read_ns: column(|cost| cost.usage.read),
        write_ns: column(|cost| cost.usage.write),
        controller_ns: column(|cost| cost.usage.controller),
    };
    let body = serde_json::to_string(&entry).expect("an entry is JSON");
    format!("{MAGIC} {}\n{body}\n", digest(body.as_bytes())).into_bytes()
}

/// The replay in an entry, or why it cannot be used. It has a cost for each of `samples` samples.
pub(super) fn decode(key: &ReplayKey, samples: usize, bytes: &[u8]) -> Result<Replayed, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not text")?;
    let (head, body) = text.split_once('\n').ok_or("it is cut short")?;
    let sum = head.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' '));
    let sum = sum.ok_or("it is not an entry of replays")?;
    let body = body.strip_suffix('\n').ok_or("it is cut short")?;
    if digest(body.as_bytes()) != sum {
        return Err("its bytes have changed (SHA-256)".into());
    }
    let entry: Entry<'_> = serde_json::from_str(body).map_err(|e| e.to_string())?;
    if *entry.key != *key.value() {
        return Err("it is the entry of another replay".into());
    }
    let columns = [&entry.time_ns, &entry.read_ns, &entry.write_ns, &entry.controller_ns];
    if columns.iter().any(|column| column.len() != samples) {
        return Err(format!("it does not have a cost for each of {samples} samples"));
    }
    let costs: Vec<StorageCost> = (0..samples)
        .map(|at| StorageCost {
            time: Ns(entry.time_ns[at]),
            usage: Usage {
                read: Ns(entry.read_ns[at]),
                write: Ns(entry.write_ns[at]),
                controller: Ns(entry.controller_ns[at]),
            },
        })
        .collect();
    let simulated = costs.iter().map(|cost| cost.time).sum();
    Ok(Replayed {
        replay: Replay { costs, requests: entry.requests, simulated },
        counters: entry.counters,
        flash: entry.flash,
        compacted: entry.compacted,
    })
}
