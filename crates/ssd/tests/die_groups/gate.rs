//! Pairs of commands: the second is done at time t and not at t - 1, with each t computed by hand.
//!
//! A super-page covers two of the four planes of a die, so die groups 0 and 1 are on bus 0, die
//! groups 2 and 3 on bus 1, and each die group has two sets of planes: blocks 0 to 15 are in the
//! first, 16 to 31 in the second, and block b is on die group b mod 4. A page crosses in 110 ns, a
//! super-page in 220; the command cycles of an erase take 20. A single read takes 1,000 + 220, a
//! program 220 + 5,000, an erase 20 + 30,000.

use super::{command, finish, layout, timing};
use gordon_nand::{Modes, SuperPageShape};
use gordon_ssd::CommandKind::{self, Erase, Program, Read};
use gordon_ssd::{DieGroups, FlashCommand, MAX_READ_BYPASSES};
use gordon_units::Ns;

const SHAPE: SuperPageShape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: 2 };
const NONE: Modes = Modes {
    multi_plane: false,
    independent_reads: false,
    cache_read: false,
    cache_program: false,
    read_first: false,
    suspend: None,
};
const ALL: Modes = Modes {
    multi_plane: true,
    independent_reads: true,
    cache_read: true,
    cache_program: true,
    read_first: true,
    suspend: None,
};
const MULTI: Modes = Modes { multi_plane: true, ..NONE };

fn die_groups(modes: Modes) -> DieGroups {
    DieGroups::new(layout(SHAPE), &timing(modes), 1)
}

/// All commands are issued at 0; the last of them is done at `t`, and not before.
fn gate(die_groups: &mut DieGroups, commands: &[FlashCommand], t: u64) {
    for &command in commands {
        die_groups.issue(Ns(0), command);
    }
    let last = commands.last().expect("there are commands").tag;
    let mut done_by = |time: u64| {
        let mut done = false;
        while die_groups.next_at().is_some_and(|at| at <= Ns(time)) {
            done |= die_groups.step().1.is_some_and(|d| d.command.tag == last);
        }
        done
    };
    assert!(!done_by(t - 1), "{commands:?} before {t}");
    assert!(done_by(t), "{commands:?} not at {t}");
}

/// Rows: the first command (read, program, erase); columns: the second command.
fn pairs(modes: Modes, second_block: u32, table: [[u64; 3]; 3]) {
    for (first, row) in CommandKind::ALL.into_iter().zip(table) {
        for (second, t) in CommandKind::ALL.into_iter().zip(row) {
            let commands = [command(first, 0, 0, 1), command(second, second_block, 0, 2)];
            gate(&mut die_groups(modes), &commands, t);
        }
    }
}

const ON_ONE_DIE_GROUP: [[u64; 3]; 3] = [
    // After a read, 1,220: another; 220 + 5,000; 20 + 30,000.
    [2_440, 6_440, 31_240],
    // After a program, 5,220.
    [6_440, 10_440, 35_240],
    // After an erase, 30,020.
    [31_240, 35_240, 60_040],
];

#[test]
fn commands_on_one_die_group_are_sequential() {
    pairs(NONE, 4, ON_ONE_DIE_GROUP);
    // The first command starts at once and alone, so multi-plane changes nothing for two commands.
    pairs(MULTI, 16, ON_ONE_DIE_GROUP);
}

const ON_ONE_BUS: [[u64; 3]; 3] = [
    // Both reads are sensed at 1,000, and the bus is free at 1,220; programs and erases request it
    // at 0, before the read.
    [1_440, 5_220, 30_020],
    // The bus is busy until 220, long before a read requests it.
    [1_220, 5_440, 30_240],
    // The bus is busy until 20.
    [1_220, 5_240, 30_040],
];

#[test]
fn die_groups_of_one_bus_take_turns_on_it_alone() {
    pairs(NONE, 1, ON_ONE_BUS);
    pairs(ALL, 1, ON_ONE_BUS);
}

#[test]
fn die_groups_on_different_buses_do_not_delay_each_other() {
    let alone = [1_220, 5_220, 30_020];
    pairs(NONE, 2, [alone; 3]);
    pairs(ALL, 2, [alone; 3]);
}

#[test]
fn with_cache_reads_the_die_senses_while_data_cross() {
    // The second senses from 1,000 to 2,000; then it crosses.
    let modes = Modes { cache_read: true, ..NONE };
    let mut table = ON_ONE_DIE_GROUP;
    table[0][0] = 2_220;
    pairs(modes, 4, table);
    let reads = [0, 4, 8].map(|block| command(Read, block, 0, block));
    gate(&mut die_groups(modes), &reads, 3_220);
    // A slow bus, 2 x (100 + 1,000): the first has crossed at 3,200; the second, sensed at 2,000,
    // requests the bus then and has crossed at 5,400; the third, sensed from 3,200 to 4,200, at
    // 7,600.
    let mut slow = timing(modes);
    slow.command = Ns(1_000);
    gate(&mut DieGroups::new(layout(SHAPE), &slow, 1), &reads, 7_600);
    // Another die group's read, also sensed at 1,000, requested the bus before the second: it has
    // crossed at 5,400, the second at 7,600, the third at 9,800.
    let with_other = [reads[0], command(Read, 1, 0, 99), reads[1], reads[2]];
    gate(&mut DieGroups::new(layout(SHAPE), &slow, 1), &with_other, 9_800);
}

#[test]
fn with_cache_programs_data_cross_while_the_die_programs() {
    // The second crosses from 220 to 440 and programs from 5,220 on.
    let modes = Modes { cache_program: true, ..NONE };
    let mut table = ON_ONE_DIE_GROUP;
    table[1][1] = 10_220;
    pairs(modes, 4, table);
    let programs = [0, 4, 8].map(|block| command(Program, block, 0, block));
    gate(&mut die_groups(modes), &programs, 15_220);
    // A slow bus, 2 x (100 + 2,900): the first programs from 6,000 to 11,000; the second has
    // crossed at 12,000 and programs until 17,000; the third crosses from 12,000 to 18,000 and
    // programs until 23,000.
    let mut slow = timing(modes);
    slow.command = Ns(2_900);
    gate(&mut DieGroups::new(layout(SHAPE), &slow, 1), &programs[..2], 17_000);
    gate(&mut DieGroups::new(layout(SHAPE), &slow, 1), &programs, 23_000);
}

#[test]
fn commands_on_different_planes_of_the_same_dies_are_joined() {
    // An erase until 30,020 makes the other commands wait.
    let after = |modes, commands: [(CommandKind, u32, u32); 2], times: [u64; 2]| {
        let commands = commands.map(|(kind, block, page)| command(kind, block, page, 2 + block));
        let erase = command(Erase, 0, 0, 1);
        let mut twice = die_groups(modes);
        gate(&mut twice, &[erase, commands[0], commands[1]], times[1]);
        let mut die_groups = die_groups(modes);
        for command in [erase, commands[0], commands[1]] {
            die_groups.issue(Ns(0), command);
        }
        let done: Vec<_> =
            finish(&mut die_groups).iter().map(|d| (d.0.0, d.1.command.tag)).collect();
        assert_eq!(done[1..], [(times[0], commands[0].tag), (times[1], commands[1].tag)]);
    };
    // Sensed together at 31,020; transferred sequentially.
    after(MULTI, [(Read, 4, 0), (Read, 16, 0)], [31_240, 31_460]);
    // Transferred without a gap, 440; programmed together.
    after(MULTI, [(Program, 4, 0), (Program, 16, 0)], [35_460, 35_460]);
    // Erased together, after 40 of command cycles.
    after(MULTI, [(Erase, 4, 0), (Erase, 16, 3)], [60_060, 60_060]);
    // With the mode off, on the same set of planes, on another page, or of another kind:
    // sequential.
    after(NONE, [(Read, 4, 0), (Read, 16, 0)], [31_240, 32_460]);
    after(NONE, [(Program, 4, 0), (Program, 16, 0)], [35_240, 40_460]);
    after(NONE, [(Erase, 4, 0), (Erase, 16, 0)], [60_040, 90_060]);
    after(MULTI, [(Read, 4, 0), (Read, 8, 0)], [31_240, 32_460]);
    after(MULTI, [(Read, 4, 0), (Read, 16, 2)], [31_240, 32_460]);
    after(MULTI, [(Read, 4, 0), (Program, 16, 0)], [31_240, 36_460]);
    after(MULTI, [(Program, 4, 0), (Program, 16, 2)], [35_240, 40_460]);
    // Independent reads: the longer of 1,000 and 1,500, then the bus.
    let independent = Modes { independent_reads: true, ..MULTI };
    after(independent, [(Read, 4, 0), (Read, 16, 1)], [31_740, 31_960]);
    after(independent, [(Program, 4, 0), (Program, 16, 2)], [35_240, 40_460]);
}

#[test]
fn nothing_overtakes_within_a_set_of_planes() {
    let done = |commands: &[FlashCommand]| {
        let mut die_groups = die_groups(MULTI);
        commands.iter().for_each(|&command| die_groups.issue(Ns(0), command));
        finish(&mut die_groups).iter().map(|d| (d.0.0, d.1.command.tag)).collect::<Vec<_>>()
    };
    let erase = command(Erase, 0, 0, 0);
    // The program is on the first set of planes, so the read of the second set passes it.
    let passes =
        [erase, command(Read, 4, 0, 1), command(Program, 8, 0, 2), command(Read, 16, 0, 3)];
    assert_eq!(done(&passes), [(30_020, 0), (31_240, 1), (31_460, 3), (36_680, 2)]);
    // The program is on the second set, too, so the read waits.
    let waits =
        [erase, command(Read, 4, 0, 1), command(Program, 20, 0, 2), command(Read, 16, 0, 3)];
    assert_eq!(done(&waits), [(30_020, 0), (31_240, 1), (36_460, 2), (37_680, 3)]);
}

#[test]
fn read_bypassing_is_limited() {
    let modes = Modes { read_first: true, ..NONE };
    let (erase, program) = (command(Erase, 0, 0, 1), command(Program, 4, 0, 2));
    gate(&mut die_groups(modes), &[erase, program, command(Read, 8, 0, 3)], 31_240);
    gate(&mut die_groups(NONE), &[erase, program, command(Read, 8, 0, 3)], 36_460);
    gate(&mut die_groups(modes), &[erase, command(Read, 8, 0, 3), program], 36_460);
    // The program waits for 16 reads, but not for the last one.
    let reads = (0..=MAX_READ_BYPASSES).map(|n| command(Read, 8, 0, 10 + n));
    let commands: Vec<_> = [erase, program].into_iter().chain(reads).collect();
    gate(&mut die_groups(modes), &commands, 30_020 + 16 * 1_220 + 5_220 + 1_220);
    let mut die_groups = die_groups(modes);
    commands.iter().for_each(|&command| die_groups.issue(Ns(0), command));
    let order: Vec<_> = finish(&mut die_groups).iter().map(|d| d.1.command.tag).collect();
    assert_eq!(order[17..], [2, 10 + MAX_READ_BYPASSES]);
}

#[test]
fn a_read_requests_the_bus_when_it_is_sensed() {
    let mut die_groups = die_groups(NONE);
    die_groups.issue(Ns(0), command(Read, 0, 0, 1));
    // The bus is free while die group 0 senses; this program occupies it until 900 + 220.
    die_groups.issue(Ns(900), command(Program, 1, 0, 2));
    assert_eq!(die_groups.next_at(), Some(Ns(1_120 + 220)), "put off by the program");
    let times: Vec<_> = finish(&mut die_groups).iter().map(|d| (d.0.0, d.1.command.tag)).collect();
    assert_eq!(times, [(1_120 + 220, 1), (900 + 220 + 5_000, 2)]);
}

#[test]
fn the_bus_is_granted_in_the_order_of_requests() {
    // Die group 1 starts the read of a slow page first, but the read of a fast page on die group 0
    // is sensed first.
    let mut die_groups = die_groups(NONE);
    die_groups.issue(Ns(0), command(Read, 1, 1, 1));
    die_groups.issue(Ns(450), command(Read, 0, 0, 2));
    // Sensed at 1,450 and 1,500; crossed at 1,670 and 1,890.
    let times: Vec<_> = finish(&mut die_groups).iter().map(|d| (d.0.0, d.1.command.tag)).collect();
    assert_eq!(times, [(1_670, 2), (1_890, 1)]);
}

#[test]
fn each_type_of_page_has_its_times() {
    gate(&mut die_groups(NONE), &[command(Read, 0, 1, 1)], 1_500 + 220);
    gate(&mut die_groups(NONE), &[command(Read, 0, 2, 1)], 1_000 + 220);
    gate(&mut die_groups(NONE), &[command(Program, 0, 3, 1)], 220 + 7_000);
}

#[test]
fn a_read_transfers_only_the_requested_slots() {
    let read = |shape, slots, share| {
        let mut die_groups = DieGroups::new(layout(shape), &timing(NONE), slots);
        die_groups.issue(Ns(0), FlashCommand { transfer_slots: share, ..command(Read, 0, 0, 1) });
        let done = finish(&mut die_groups);
        (done[0].0.0 - 1_000, die_groups.die_time().0.0)
    };
    // A die with 2 pages of 2 slots: 525 bytes take 50, and the command 10.
    let one_die = [0, 60, 110, 170, 220].map(|bus| (bus, if bus > 0 { 1_000 + bus } else { 0 }));
    assert_eq!([0, 1, 2, 3, 4].map(|share| read(SHAPE, 4, share)), one_die);
    // 2 buses with 1 die each and 2 pages in each die, one page per slot: pages alternate over the
    // buses first.
    let wide = SuperPageShape { buses: 2, ..SHAPE };
    let shares = [1, 2, 3, 4].map(|share| read(wide, 4, share));
    assert_eq!(shares, [(110, 1_110), (110, 2_220), (220, 2_330), (220, 2_440)]);
}

#[test]
fn commands_that_waited_behind_background_work_are_marked() {
    let behind = |commands: &[FlashCommand]| {
        let mut die_groups = die_groups(NONE);
        commands.iter().for_each(|&command| die_groups.issue(Ns(0), command));
        let mut done = finish(&mut die_groups);
        done.sort_by_key(|d| d.1.command.tag);
        assert_eq!(
            die_groups.stats().kinds.iter().map(|k| k.behind_background).sum::<u64>(),
            done.iter().filter(|d| d.1.behind_background).count() as u64
        );
        done.iter().map(|d| d.1.behind_background).collect::<Vec<_>>()
    };
    let (host, read) = (command(Program, 0, 0, 0), command(Read, 4, 0, 3));
    let collector = FlashCommand { background: true, ..command(Program, 8, 0, 1) };
    assert_eq!(behind(&[host, read]), [false, false]);
    assert_eq!(behind(&[command(Erase, 0, 0, 0), read]), [false, true]);
    assert_eq!(behind(&[collector, read]), [false, true]);
    // The collector's command is issued between the two, or after them.
    assert_eq!(behind(&[host, collector, read]), [false, false, true]);
    assert_eq!(behind(&[host, read, FlashCommand { tag: 9, ..collector }]), [false, false, false]);
    // Background work of another die group on the same bus does not count.
    let other = command(Program, 1, 0, 3);
    assert_eq!(behind(&[collector, other]), [false, false]);
}

#[test]
fn statistics_count_commands_and_times() {
    let mut die_groups = die_groups(NONE);
    for (at, command) in [
        (0, command(Erase, 0, 0, 1)),
        (5, command(Read, 8, 0, 2)),
        (6, FlashCommand { background: true, ..command(Program, 4, 0, 3) }),
    ] {
        die_groups.issue(Ns(at), command);
    }
    // The read has waited for 100, the program for 99.
    die_groups.issue(Ns(105), command(Read, 2, 0, 4));
    let stats = die_groups.stats();
    assert_eq!(stats.kinds.map(|k| k.waited.0), [100, 99, 0]);
    assert_eq!((stats.waiting, stats.kinds.map(|k| k.queued)), (2, [1, 1, 0]));
    assert_eq!(stats.kinds.map(|k| (k.issued, k.done)), [(2, 0), (1, 0), (1, 0)]);
    let times: Vec<_> = finish(&mut die_groups).iter().map(|d| d.0.0).collect();
    assert_eq!(times, [1_325, 30_020, 31_240, 36_460]);
    let stats = die_groups.stats();
    assert_eq!(stats.kinds.map(|k| k.waited.0), [30_020 - 5, 31_240 - 6, 0]);
    assert_eq!(stats.kinds.map(|k| k.served.0), [2 * 1_220, 5_220, 30_020]);
    assert_eq!(stats.group_busy, [36_460, 0, 1_220, 0].map(Ns));
    assert_eq!(stats.bus_busy, [20 + 220 + 220, 220].map(Ns));
    assert_eq!((stats.die_read, stats.die_write), (Ns(2 * 1_220), Ns(30_000 + 5_220)));
    // One event per command.
    assert_eq!(stats.events, 4);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "an event lies before")]
fn a_command_after_a_pending_event_panics() {
    let mut die_groups = die_groups(NONE);
    die_groups.issue(Ns(0), command(Read, 0, 0, 1));
    die_groups.issue(Ns(1_221), command(Read, 0, 0, 2));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "more slots than there are")]
fn a_command_with_too_many_slots_panics() {
    die_groups(NONE).issue(Ns(0), FlashCommand { transfer_slots: 2, ..command(Read, 0, 0, 1) });
}
