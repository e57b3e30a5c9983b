"""Derives the work of processors and the power of boards from the paper's text and measurements."""

from dataclasses import dataclass

from gordon.arrays import np
from gordon.errors import GordonError
from gordon.parts import unknown
from gordon.sort.systems import demand, model
from gordon.sort.systems.model import GB, Parts
from gordon.sort.systems.schema import Cpu, System


class Work:
    """Core-seconds by phase for a gigabyte of records, by processor; none where nothing is known.

    One processor (`seen` with a phase) says how the work divides between the phases.
    """

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._found: dict[str, tuple[float, float] | None] = {}

    def of(self, name: str, on_the_way: tuple[str, ...] = ()) -> tuple[float, float] | None:
        if name in on_the_way:
            chain = " -> ".join((*on_the_way[on_the_way.index(name) :], name))
            raise GordonError(
                f"cpu.{name}: its work is derived from itself ({chain})",
                "give the work of one of these processors: work = { input, output }",
                kind="circular-reference",
            )
        if name not in self._found:
            self._found[name] = self._work(name, self.parts.cpu(name), (*on_the_way, name))
        return self._found[name]

    def _work(self, name: str, cpu: Cpu, on_the_way: tuple[str, ...]) -> tuple[float, float] | None:
        if cpu.work is not None:
            return cpu.work.input.value, cpu.work.output.value
        if cpu.like is not None:
            other, theirs = self.parts.cpu(cpu.like), self.of(cpu.like, on_the_way)
            if theirs is None or cpu.clock is None or other.clock is None:
                return None
            slower = other.clock.value / cpu.clock.value
            return theirs[0] * slower, theirs[1] * slower
        if cpu.seen is None:
            return None
        if cpu.seen.phase is not None:
            output = self._phase(cpu) * cpu.seen.cores_busy.value
            if cpu.whole_like is None:
                raise GordonError(
                    f"cpu.{name}: `whole_like` is missing: `seen` covers a single phase of the "
                    "sort",
                    "whole_like = NAME, a processor whose `seen` covers a whole sort",
                    kind="missing-key",
                )
            # Straight from the run of the other: its division would come from here.
            return self._total(self.parts.cpu(cpu.whole_like)) - output, output
        total, share = self._total(cpu), self._output_share(on_the_way)
        return total * (1 - share), total * share

    def _seen(self, cpu: Cpu) -> tuple[System, float]:
        """The system that a processor was seen on, and the gigabytes of its measured row."""
        assert cpu.seen is not None
        system = model.named(self.parts.all.system, cpu.seen.system, "system")
        records = self.parts.all.records.value
        if system.measured is not None and system.measured.records is not None:
            records = system.measured.records
        return system, records * self.parts.all.record_bytes.value / GB

    def _total(self, cpu: Cpu) -> float:
        """The work of a whole run for a gigabyte, by its measured time."""
        if cpu.seen is None:
            raise GordonError(
                "`whole_like` names a processor without `seen`",
                "a processor whose `seen` covers a whole sort",
                kind="missing-key",
            )
        system, size = self._seen(cpu)
        if system.measured is None or system.measured.time is None:
            raise GordonError(
                f"system.{cpu.seen.system}: the measured time is missing; the work of a processor "
                "is derived from it",
                kind="missing-key",
            )
        return cpu.seen.cores_busy.value * system.measured.time.value / size

    def _phase(self, cpu: Cpu) -> float:
        """The work of a phase for a gigabyte, by its time as the drives allow."""
        assert cpu.seen is not None
        system, size = self._seen(cpu)
        records = system.measured.records if system.measured else None
        demand = demand_of(self.parts, system, None, records)
        for phase in demand.phases:
            if phase.name == cpu.seen.phase:
                return model.phase(self.parts, system, phase).time_s / size
        raise unknown("phase", str(cpu.seen.phase), [p.name for p in demand.phases])

    def _output_share(self, on_the_way: tuple[str, ...]) -> float:
        for name, cpu in self.parts.all.cpu.items():
            if cpu.seen is not None and cpu.seen.phase is not None:
                found = self.of(name, on_the_way)
                assert found is not None
                return found[1] / sum(found)
        raise GordonError(
            "the work of the two phases is unknown: no processor has `seen` with a phase",
            "seen = { system, phase, cores_busy } of one processor",
            kind="missing-key",
        )


def demand_of(
    parts: Parts, system: System, work: tuple[float, float] | None, records: int | None = None
) -> demand.Demand:
    """The paper's sort on a system, in the passes that its memory allows: of `records`, or of the
    number that the file has."""
    if records is None:
        records = int(parts.all.records.value)
    size = int(parts.all.record_bytes.value)
    assert system.memory is not None
    passes = system.passes or demand.passes(system.memory.value, float(records * size))
    if passes > 2:
        raise GordonError(
            f"passes: the model covers one or two passes, not {passes}",
            "passes = 2, or more memory",
            kind="bad-value",
        )
    gb = records * size / GB
    core_s = (work[0] * gb, work[1] * gb) if work else None
    return demand.of_sort(records, size, passes, core_s)


@dataclass(frozen=True)
class Base:
    """A board's own power: what is left of the measured rows, and the rows it is the mean of."""

    watts: float | None
    by_system: dict[str, float]

    def without(self, system: str) -> float | None:
        """Fitted to the other rows; none where there is no other."""
        others = [left for name, left in self.by_system.items() if name != system]
        return float(np.mean(others)) if others else None


def bases(parts: Parts, left: dict[str, tuple[str, float]]) -> dict[str, Base]:
    """Least squares of one number a board over what each measured system leaves for it; `left` is
    by system: its board, and watts. What a file sets is taken as it is, and no row is fitted to if
    its board is `like` another one."""
    found: dict[str, Base] = {}
    for name, board in parts.all.board.items():
        own = {system: watts for system, (of, watts) in left.items() if of == name}
        if board.base is not None:
            found[name] = Base(board.base.value, {})
        elif board.like is not None:
            continue
        elif own:
            column = np.ones((len(own), 1))
            best = np.linalg.lstsq(column, np.array(list(own.values())), rcond=None)[0]
            found[name] = Base(float(best[0]), own)
        else:
            found[name] = Base(None, {})
    for name, board in parts.all.board.items():
        if name not in found:
            assert board.like is not None
            watts = model.named(found, board.like, "board with its own power").watts
            cards = board.cards.value if board.cards else 0.0
            found[name] = Base(None if watts is None else watts + cards, {})
    return found
