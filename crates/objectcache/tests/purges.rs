//! A purge does not block its caller while it reads the flash.

mod common;

use common::{
    Clock, Gate, GateState, Intercept, Intercepted, Kind, Model, SEGMENTS_AT, apply, open, step,
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

fn a_purge_never_blocks_its_caller(kind: Kind) {
    let media = kind.media();
    let (cache, _) = open(&kind.config(false), &media);
    let (mut model, mut random) = (Model::default(), Random::new(1));
    for _ in 0..1000 {
        apply(&cache, &mut model, step(&mut random));
    }
    block_on(cache.close()).expect("it closes");
    let media = Arc::new(Intercepted(Gated { media, gate: Gate::open() }));
    let gate = &media.0.gate;
    let medium = Medium { inline: false, ..Clock::default().medium(media.clone()) };
    let (cache, _) = Cache::open_on(kind.config(false), medium).expect("it opens");
    gate.set(GateState::Closed);
    let mut purge = pin!(cache.purge(b""));
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
    assert!(block_on(purge).expect("it works") > 0);
}

#[test]
fn a_purge_never_blocks_its_caller_on_a_log() {
    a_purge_never_blocks_its_caller(Kind::File);
}

#[test]
fn a_purge_never_blocks_its_caller_with_sets() {
    a_purge_never_blocks_its_caller(Kind::Sets);
}
