//! The store issues the same operations as a layer without data: with equal inputs in the same
//! order, both have the same log of operations.

mod common;

use common::{SHAPES, Tagged, device, device_with_long_summaries, formatted, image, seeds};
use gordon_ftl::{Action, Extent, Ftl, HostRequest, Input, RequestId};
use gordon_store::{Command, DeviceParams, Engine, op_digest};
use gordon_testkit::Random;
use std::collections::VecDeque;

/// A layer without data.
struct Bare {
    ftl: Ftl,
    flying: VecDeque<gordon_nand::FlashOp>,
    log: u64,
}

impl Bare {
    fn handle(&mut self, input: Input) {
        self.ftl.handle(input);
        loop {
            match self.ftl.poll() {
                Action::Wait => return,
                Action::Flash(op) | Action::Copy(op) => {
                    self.log = op_digest::add(self.log, op);
                    self.flying.push_back(op);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_store_and_a_bare_layer_issue_the_same_operations() {
    seeds(6, |seed| {
        let mut random = Random::new(seed);
        let device = device(SHAPES[random.below(SHAPES.len())], 24, 0.9, seed);
        issue_the_same(&device, random);
    });
}

#[test]
fn long_summaries_do_not_change_the_operations_issued() {
    seeds(4, |seed| {
        issue_the_same(&device_with_long_summaries(6, 0.9, seed), Random::new(seed));
    });
}

#[allow(clippy::unwrap_used)]
fn issue_the_same(device: &DeviceParams, mut random: Random) {
    let mut engine: Engine<Tagged> = Engine::open(image(&formatted(device))).unwrap();
    let resolved = device.resolve().unwrap();
    let ftl = Ftl::new(resolved.layout, resolved.config).unwrap();
    let mut bare = Bare { ftl, flying: VecDeque::new(), log: 0 };
    let mut flying = VecDeque::new();
    let all = engine.sectors();
    let per_page = u64::from(resolved.config.sectors_per_page);
    for number in 0..4000 {
        let sectors = 1 + random.below(4 * per_page as usize) as u64;
        let first = random.below((all - sectors) as usize) as u64;
        let extent = Extent { request: RequestId(number), first, sectors };
        let data = vec![1; sectors as usize * 512];
        let offset = first * 512;
        let (command, data, host) = match random.below(8) {
            0..=2 => (Command::Read { offset }, data, HostRequest::Read(extent)),
            3..=6 => (Command::Write { offset, fua: false }, data, HostRequest::Write(extent)),
            _ => (Command::Flush, vec![], HostRequest::Flush(RequestId(number))),
        };
        engine.start(command, Tagged { tag: 0, data });
        bare.handle(Input::Host(host));
        for _ in 0..random.below(4) {
            while let Some(moved) = engine.next_op() {
                flying.push_back(moved);
            }
            assert_eq!(flying.len(), bare.flying.len());
            if !flying.is_empty() {
                let at = random.below(flying.len());
                engine.done(flying.remove(at).unwrap());
                let op = bare.flying.remove(at).unwrap();
                bare.handle(Input::Done(op));
            }
        }
    }
    assert!(engine.op_digest() != 0 && engine.telemetry().ftl.erases > 0);
    assert_eq!(engine.op_digest(), bare.log);
    assert_eq!(engine.telemetry().ftl, *bare.ftl.stats());
}
