//! Purges by prefix: what they read, and how long they last.

mod common;

use common::{
    Clock, Gate, GateState, Intercept, Intercepted, KINDS, Kind, Model, OBJECTS, SEGMENTS_AT, Step,
    apply, open, read, step, verify,
};
use gordon_objectcache::{Cache, Medium, block_on};
use gordon_testkit::{MemoryMedia, Random};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

/// A medium whose reads of segments and sets wait for a gate.
struct Gated {
    media: Arc<MemoryMedia>,
    gate: Gate,
}

impl Intercept for Gated {
    fn media(&self) -> &MemoryMedia {
        &self.media
    }

    fn before_read(&self, at: u64) {
        if at >= SEGMENTS_AT {
            self.gate.pass();
        }
    }
}

/// A cache of which most objects are in flash, on a medium with a gate.
fn used(kind: Kind) -> (Cache, Arc<Intercepted<Gated>>) {
    let media = kind.media();
    let (cache, _) = open(&kind.config(false), &media);
    let (mut model, mut random) = (Model::default(), Random::new(1));
    for _ in 0..1000 {
        apply(&cache, &mut model, step(&mut random));
    }
    block_on(cache.close()).expect("it closes");
    let media = Arc::new(Intercepted(Gated { media, gate: Gate::open() }));
    let medium = Medium { inline: false, ..Clock::default().medium(media.clone()) };
    let (cache, _) = Cache::open_on(kind.config(false), medium).expect("it opens");
    (cache, media)
}

fn present(cache: &Cache, group: usize) -> usize {
    (0..OBJECTS).filter(|number| number % 3 == group && read(cache, *number).is_some()).count()
}

#[test]
fn a_purge_reads_no_objects() {
    for kind in [Kind::File, Kind::Sets] {
        let (cache, media) = used(kind);
        assert!(present(&cache, 1) > 0);
        media.0.gate.set(GateState::Closed);
        // A read would not end.
        block_on(cache.purge(b"/1/")).expect("it works");
        media.0.gate.set(GateState::Open);
        assert_eq!(present(&cache, 1), 0);
        assert!(present(&cache, 0) > 0);
    }
}

/// Prefixes that two of do not fit into the list.
fn long(byte: u8) -> [u8; 3900] {
    [byte; 3900]
}

fn a_sweep_never_blocks_its_caller(kind: Kind) {
    let (cache, media) = used(kind);
    let gate = &media.0.gate;
    block_on(cache.purge(&long(b'x'))).expect("it works");
    gate.set(GateState::Closed);
    let prefix = long(b'y');
    let mut purge = pin!(cache.purge(&prefix));
    let mut is_pending = || {
        let polled = purge.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        polled.is_pending()
    };
    // A poll that reads itself waits at the gate, and fails.
    while gate.state() != GateState::Reached {
        assert!(is_pending());
        thread::sleep(Duration::from_millis(1));
    }
    assert!(is_pending());
    gate.set(GateState::Open);
    block_on(purge).expect("it works");
}

#[test]
fn a_sweep_never_blocks_its_caller_on_a_log() {
    a_sweep_never_blocks_its_caller(Kind::File);
}

#[test]
fn a_sweep_never_blocks_its_caller_with_sets() {
    a_sweep_never_blocks_its_caller(Kind::Sets);
}

#[test]
fn more_purges_than_are_remembered_last_over_restarts_and_end_at_new_objects() {
    for kind in KINDS {
        let (media, config) = (kind.media(), kind.config(false));
        let (mut model, mut random) = (Model::default(), Random::new(3));
        let (mut cache, _) = open(&config, &media);
        let mut found = 0;
        for round in 0..100 {
            for _ in 0..40 {
                assert!(apply(&cache, &mut model, step(&mut random)));
            }
            // Prefixes of no object, and one of objects.
            for number in 0..7 {
                let prefix = format!("/{}/none {round} {number}", number % 3);
                assert_eq!(block_on(cache.purge(prefix.as_bytes())).expect("it works"), 0);
            }
            assert!(apply(&cache, &mut model, Step::Purge(round % 3)));
            if round % 3 == 0 {
                drop(cache);
                let media = kind.crashed(&media, || false);
                verify(&open(&config, &media).0, &model);
            } else {
                block_on(cache.close()).expect("it closes");
                drop(cache);
            }
            cache = open(&config, &media).0;
            found += verify(&cache, &model);
        }
        assert!(found > 1000, "{kind:?}: {found}");
    }
}

#[test]
fn a_purge_after_a_crash_hides_sets_that_were_written_last() {
    let (media, config) = (Kind::Sets.media(), Kind::Sets.config(false));
    let (mut model, mut random) = (Model::default(), Random::new(5));
    let (cache, _) = open(&config, &media);
    let mut found = 0;
    for _ in 0..300 {
        assert!(apply(&cache, &mut model, Step::Put(random.below(OBJECTS))));
        let survivor = Arc::new(media.survivor());
        let (survivor, _) = open(&config, &survivor);
        found += verify(&survivor, &model);
        block_on(survivor.purge(b"")).expect("it works");
        assert_eq!(verify(&survivor, &model), 0);
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn purges_that_were_swept_leave_the_journal() {
    let (media, config) = (Kind::Sets.media(), Kind::Sets.config(false));
    let (mut cache, _) = open(&config, &media);
    for round in 0..30_u8 {
        // The second one has no room, and the first one needs none then, also after a restart.
        for (byte, is_swept) in [(2 * round, false), (2 * round + 1, true)] {
            let before = cache.stats().events.read_bytes;
            block_on(cache.purge(&long(byte))).expect("it works");
            assert_eq!(cache.stats().events.read_bytes > before, is_swept, "round {round}");
        }
        drop(cache);
        cache = open(&config, &media).0;
    }
}
