//! What waits for a set that is being written.

mod common;

use common::{
    Intercept, Intercepted, Kind, Model, OBJECTS, SEGMENTS_AT, SETS_AT, apply, key, open, step,
};
use gordon_objectcache::{Cache, Medium, block_on};
use gordon_store::Media;
use gordon_testkit::{MemoryMedia, Random};
use std::io::Result;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    Closed,
    /// A write waits.
    Reached,
}

/// A medium whose writes of sets wait for a gate.
struct Gated {
    media: Arc<MemoryMedia>,
    gate: Mutex<Gate>,
    changed: Condvar,
}

impl Gated {
    fn set(&self, gate: Gate) {
        *self.gate.lock().expect("no test has failed") = gate;
        self.changed.notify_all();
    }

    fn wait_until(&self, wanted: Gate) {
        let gate = self.gate.lock().expect("no test has failed");
        let waited = self.changed.wait_timeout_while(gate, PATIENCE, |gate| *gate != wanted);
        let waited = waited.expect("no test has failed").1;
        assert!(!waited.timed_out(), "the gate is not {wanted:?} after {PATIENCE:?}");
    }
}

impl Intercept for Gated {
    fn media(&self) -> &MemoryMedia {
        &self.media
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        if at >= SETS_AT && *self.gate.lock().expect("no test has failed") == Gate::Closed {
            self.set(Gate::Reached);
            self.wait_until(Gate::Open);
        }
        self.media.write(at, bytes)
    }
}

/// A cache that was used and closed, and an object that is in a set only.
fn used() -> (Arc<MemoryMedia>, usize) {
    let media = Kind::Sets.media();
    let (cache, _) = open(&Kind::Sets.config(false), &media);
    let (mut model, mut random) = (Model::default(), Random::new(1));
    for _ in 0..1000 {
        apply(&cache, &mut model, step(&mut random));
    }
    block_on(cache.close()).expect("it closes");
    let mut bytes = vec![0; usize::try_from(media.len() - SEGMENTS_AT).expect("it is small")];
    media.read(SEGMENTS_AT, &mut bytes).expect("it works");
    let (log, sets) = bytes.split_at(usize::try_from(SETS_AT - SEGMENTS_AT).expect("it is small"));
    let has = |part: &[u8], key: &[u8]| part.windows(key.len()).any(|found| found == key);
    // No key is the start of another one with two digits.
    let number = (10..OBJECTS).find(|number| {
        let key = key(*number);
        has(sets, &key) && !has(log, &key)
    });
    (media, number.expect("an object is in a set"))
}

#[test]
fn a_deletion_waits_until_the_object_is_durably_out_of_its_set() {
    let (media, number) = used();
    let gated = Gated { media, gate: Mutex::new(Gate::Open), changed: Condvar::new() };
    let media = Arc::new(Intercepted(gated));
    let gated = &media.0;
    let clock = common::Clock::default().medium(media.clone());
    let medium = Medium { inline: false, ..clock };
    let (cache, _) = Cache::open_on(Kind::Sets.config(false), medium).expect("it opens");
    gated.set(Gate::Closed);
    let delete = || block_on(cache.delete(&key(number)));
    thread::scope(|scope| {
        let first = scope.spawn(delete);
        gated.wait_until(Gate::Reached);
        let (sender, second) = channel();
        scope.spawn(move || sender.send(delete()));
        // A crash would bring the object back now.
        let answer = second.recv_timeout(Duration::from_millis(300));
        gated.set(Gate::Open);
        assert!(matches!(answer, Err(RecvTimeoutError::Timeout)), "{answer:?}");
        assert!(!second.recv().expect("it ends").expect("it works"), "it was deleted already");
        assert!(first.join().expect("it ends").expect("it works"));
    });
    assert!(block_on(cache.get(&key(number))).is_none());
}
