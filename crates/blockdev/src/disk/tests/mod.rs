//! Tests of files with the timing of disks: the times are those of the simulation, however late the
//! threads are, and acknowledged data are in the file.

mod bytes;
mod times;

use super::*;
use gordon_hdd::DiskConfig;
use gordon_hdd::drive::{DriveConfig, StripeConfig};
use gordon_nbd::{CompletionSink, Errno, RequestOutcome};
use gordon_units::Ns;
use std::sync::mpsc::{self, Receiver, Sender};

/// The disk of the paper, or a stripe of several. 0 gives a disk without a queue, which serves one
/// command at a time.
fn drive(disks: u32) -> Drive {
    let part = |name: &str| {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/");
        std::fs::read_to_string(format!("{root}{name}.toml")).unwrap()
    };
    let config = if disks == 0 {
        let config = toml::from_str(&part("drive/seagate-cheetah-9lp")).unwrap();
        DriveConfig::Classic(Box::new(config))
    } else {
        DriveConfig::Config(Box::new(DiskConfig::from_toml(&part("disk/sata-7200-1tb")).unwrap()))
    };
    let one = Drive::new(&config, None).unwrap();
    if disks <= 1 {
        return one;
    }
    one.striped(StripeConfig { disks, ..StripeConfig::default() }).unwrap()
}

fn part() -> DiskPart {
    DiskPart { drive: drive(1), name: "disk".into(), power: None }
}

/// A completed request: its id, its bytes and its outcome.
type Completed = (u64, Vec<u8>, RequestOutcome);

/// Sends completed requests to a channel.
struct ChannelSink(Sender<Completed>);

impl CompletionSink for ChannelSink {
    fn complete(&self, cookie: u64, _: Op, data: Vec<u8>, outcome: RequestOutcome) {
        self.0.send((cookie, data, outcome)).unwrap();
    }
}

/// A client of an export.
struct Client(Arc<dyn Export>, Arc<ChannelSink>, Receiver<Completed>);

impl Client {
    fn of(export: Arc<dyn Export>) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self(export, Arc::new(ChannelSink(sender)), receiver)
    }

    fn send(&self, requests: impl IntoIterator<Item = (u64, Op, Vec<u8>)>) {
        let request = |(id, op, data)| Request::new(id, op, data, self.1.clone());
        self.0.submit(&mut requests.into_iter().map(request).collect());
    }

    /// Sends a request and waits for its completion.
    fn ask(&self, op: Op, data: Vec<u8>) -> Result<Vec<u8>, Errno> {
        self.send([(0, op, data)]);
        match self.2.recv().unwrap() {
            (_, _, RequestOutcome::Failed(fault)) => Err(fault.errno),
            (_, data, _) => Ok(data),
        }
    }
}
