//! Random commands, compared with the model.

use super::model::Model;
use super::{GEOMETRY, layout, timing};
use gordon_nand::{DieGroupId, Modes, SuperPageShape, Times};
use gordon_ssd::{CommandDone, CommandKind, DieGroups, FlashCommand};
use gordon_units::{BlockId, Hertz, Ns};
use proptest::prelude::*;

const SHAPES: [(u32, u32, u32); 6] =
    [(1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 2, 2), (1, 2, 4), (2, 2, 4)];

fn modes(bits: u8) -> Modes {
    let on = |bit: u8| bits >> bit & 1 > 0;
    Modes {
        multi_plane: on(0),
        independent_reads: on(1),
        cache_read: on(2),
        cache_program: on(3),
        read_first: on(4),
        // Times are short, so that an operation is suspended often.
        suspend: (on(4) && on(5)).then_some(Ns(5)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..Default::default()
    })]

    /// Commands complete at the times and in the order of the model, with the same counters. Times
    /// are short and round, so that many events share an instant.
    #[test]
    fn die_groups_do_what_the_model_does(
        (shape, bits, slots, rate) in (0..SHAPES.len(), 0u8..64, 1u32..7, 1usize..4),
        drafts in proptest::collection::vec(
            (0u8..20, any::<u32>(), 0u32..4, any::<u32>(), any::<bool>(), 0u64..60), 1..300
        )
    ) {
        let (buses, dies_per_bus, planes) = SHAPES[shape];
        let layout = layout(SuperPageShape { buses, dies_per_bus, planes });
        let mut timing = timing(modes(bits));
        timing.read = Times::new([10, 20, 30].map(Ns)).unwrap();
        timing.program = Times::new([30, 70].map(Ns)).unwrap();
        timing.erase = Ns(90);
        // 1,050 bytes take 10, 20 or 30 ns, and the command 5.
        timing.bus_rate = Hertz(1.05e11 / rate as f64);
        timing.command = Ns(5);
        // The number of slots divides the super-page.
        let slots = 1 << slots;
        let mut die_groups = DieGroups::new(layout, &timing, slots);
        let mut model = Model::new(layout, timing, slots);
        let (mut now, mut counts) = (Ns(0), [[0u64; 3]; 2]);
        // Compares all commands completed up to a time.
        type Compared = Result<(), TestCaseError>;
        let mut same = |die_groups: &mut DieGroups, model: &mut Model, to: Ns| -> Compared {
            let (mut here, mut there) = (vec![], vec![]);
            while die_groups.next_at().is_some_and(|next| next <= to) {
                let (at, done) = die_groups.step();
                here.extend(done.map(|done| (at, done)));
            }
            while model.next_at().is_some_and(|next| next <= to) {
                let (at, done) = model.step();
                there.extend(done.map(|done| (at, done)));
            }
            prop_assert_eq!(&here, &there);
            for (_, CommandDone { command, behind_background }) in here {
                counts[0][command.kind.index()] += 1;
                counts[1][command.kind.index()] += u64::from(behind_background);
            }
            Ok(())
        };
        for (tag, &(kind, block, page, share, background, wait)) in (0..).zip(&drafts) {
            now += Ns(wait);
            // In most cases the events of this instant come before the new command, else after it.
            same(&mut die_groups, &mut model, if wait % 8 == 7 { Ns(now.0 - 1) } else { now })?;
            let kind = match kind {
                0..9 => CommandKind::Read,
                9..18 => CommandKind::Program,
                _ => CommandKind::Erase,
            };
            let (block, share) = (BlockId(block % layout.blocks()), share % (slots + 1));
            let transfer_slots = share;
            let command = FlashCommand { block, page, transfer_slots, tag, kind, background };
            die_groups.issue(now, command);
            model.issue(now, command);
            prop_assert_eq!(die_groups.next_at().is_some(), model.next_at().is_some());
        }
        same(&mut die_groups, &mut model, Ns::MAX)?;
        let stats = die_groups.stats();
        prop_assert_eq!(stats.kinds.map(|k| k.done), counts[0]);
        prop_assert_eq!(stats.kinds.map(|k| k.issued), counts[0]);
        prop_assert_eq!(stats.kinds.map(|k| k.behind_background), counts[1]);
        prop_assert_eq!(stats.kinds.map(|k| k.done).iter().sum::<u64>(), drafts.len() as u64);
        prop_assert_eq!(stats.kinds.map(|k| k.served), model.served);
        prop_assert_eq!(stats.kinds.map(|k| k.waited), model.waited);
        prop_assert_eq!(stats.bus_busy, model.bus_busy.clone());
        prop_assert_eq!(stats.group_busy, model.group_busy());
        prop_assert_eq!((stats.die_read, stats.die_write), (model.die_read, model.die_write));
        prop_assert_eq!(stats.waiting, 0);
    }

    /// Without modes, commands of a die group complete in the order of issue. A bus never serves
    /// two transfers at once, so its busy time does not exceed the elapsed time.
    #[test]
    fn first_come_first_served(
        drafts in proptest::collection::vec((0u8..20, 0u32..64, 0u64..3_000), 1..200),
    ) {
        let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 2 };
        let layout = layout(shape);
        prop_assert_eq!(layout.die_groups(), GEOMETRY.dies());
        let mut die_groups = DieGroups::new(layout, &timing(Modes::default()), 1);
        let (mut now, mut done) = (Ns(0), vec![]);
        for (tag, &(kind, block, wait)) in (0..).zip(&drafts) {
            now += Ns(wait);
            while die_groups.next_at().is_some_and(|next| next <= now) {
                done.extend(die_groups.step().1);
            }
            let kinds = [CommandKind::Read, CommandKind::Program, CommandKind::Erase];
            let kind = kinds[usize::from(kind / 9)];
            die_groups.issue(now, FlashCommand {
                block: BlockId(block % layout.blocks()),
                page: 0,
                transfer_slots: 1,
                tag,
                kind,
                background: false,
            });
        }
        let stats = die_groups.stats();
        done.extend(super::finish(&mut die_groups).into_iter().map(|(_, done)| done));
        prop_assert_eq!(done.len(), drafts.len());
        for die_group in 0..layout.die_groups() {
            let id = DieGroupId(die_group);
            let of_die_group = |d: &&CommandDone| layout.die_group_of(d.command.block) == id;
            let tags: Vec<_> = done.iter().filter(of_die_group).map(|d| d.command.tag).collect();
            prop_assert!(tags.is_sorted());
        }
        for busy in die_groups.stats().bus_busy {
            prop_assert!(busy <= die_groups.now());
        }
        prop_assert!(stats.kinds.iter().map(|k| k.queued).sum::<u64>() <= drafts.len() as u64);
    }
}
