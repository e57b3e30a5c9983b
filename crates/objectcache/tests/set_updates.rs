//! What waits for a set that is being written.

mod common;

use common::{
    Clock, Gate, GateState, Intercept, Intercepted, Kind, Model, OBJECTS, SEGMENTS_AT, SETS_AT,
    apply, key, open, step,
};
use gordon_objectcache::{Cache, Medium, block_on};
use gordon_store::Media;
use gordon_testkit::{MemoryMedia, Random};
use std::io::Result;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// A medium whose writes of sets wait for a gate.
struct Gated {
    media: Arc<MemoryMedia>,
    gate: Gate,
}

impl Intercept for Gated {
    fn media(&self) -> &MemoryMedia {
        &self.media
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        if at >= SETS_AT {
            self.gate.pass();
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
    let media = Arc::new(Intercepted(Gated { media, gate: Gate::open() }));
    let gate = &media.0.gate;
    let medium = Medium { inline: false, ..Clock::default().medium(media.clone()) };
    let (cache, _) = Cache::open_on(Kind::Sets.config(false), medium).expect("it opens");
    gate.set(GateState::Closed);
    let delete = || block_on(cache.delete(&key(number)));
    thread::scope(|scope| {
        let first = scope.spawn(delete);
        gate.wait_until(GateState::Reached);
        let (sender, second) = channel();
        scope.spawn(move || sender.send(delete()));
        // A crash would bring the object back now.
        let answer = second.recv_timeout(Duration::from_millis(300));
        gate.set(GateState::Open);
        assert!(matches!(answer, Err(RecvTimeoutError::Timeout)), "{answer:?}");
        // The write of another set may have come first, so that either may have found the object.
        let second = second.recv().expect("it ends").expect("it works");
        let first = first.join().expect("it ends").expect("it works");
        assert!(first != second, "one of them found it: {first} {second}");
    });
    assert!(block_on(cache.get(&key(number))).is_none());
}
