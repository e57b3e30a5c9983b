"""A search that is steered by the telemetry of a served device.

From the telemetry of the best point, the table of `advice` picks the few changes that may help,
which are tried first. The blind search then tries all other settings, with the same noise,
confirmation, budget and alternating comparison, so that settings that the table does not name are
found as well.
"""

import os
from collections.abc import Callable
from typing import Any, TypedDict

from gordon import block
from gordon.errors import GordonError
from gordon.sort.tune import telemetry
from gordon.sort.tune.advice import LAST, Advice, Machine, advise
from gordon.sort.tune.point import Point
from gordon.sort.tune.search import Facts, Measure, Search, Space
from gordon.sort.tune.telemetry import Export, Telemetry, Watch
from gordon.sort.tune.trial import Trials

#: Of the output, at least: less, and it is elsewhere (assumed: requests at the ends of a trial).
SEEN = 0.9


class TriedPoint(TypedDict):
    """A trial of settings that were advised."""

    what: str
    trial: int
    cost: float | None


class Step(TypedDict):
    """The advice for a phase of a point, and what came of it."""

    at: str
    phase: str
    rule: str
    why: str
    tried: list[TriedPoint]
    #: The settings that were kept, if any.
    kept: str | None


class Steered(Search):
    """The search with the device's advice first."""

    def __init__(self, trials: Trials, space: Space, *, export: str, **given: Any) -> None:
        self.export = answering(export)
        self.steps: list[Step] = []
        super().__init__(watched(trials, lambda: telemetry.watch(export)), space, **given)
        self._machine = Machine(
            processors=len(os.sched_getaffinity(0)),
            lanes=self.export["lanes"],
            erase_groups=(self.export["erase_group_bytes"], self.export["super_block_bytes"]),
            most_transfer=self._space.most_transfer,
            may_overwrite=self._space.may_overwrite,
        )

    def _advised(self) -> None:
        """Follows the advice from best point to best point until it proposes nothing better."""
        while self._step():
            pass

    def _step(self) -> bool:
        """Tries what is advised for the phases of the best point; returns whether one is better."""
        base = self.best
        for advice in advise(self.facts_of(base), base, self._machine):
            step: Step = {
                "at": base.label(),
                "phase": advice.phase,
                "rule": advice.rule,
                "why": advice.why,
                "tried": [],
                "kept": None,
            }
            if not any(
                one["at"] == step["at"] and one["phase"] == advice.phase for one in self.steps
            ):
                self.steps.append(step)
            for change in advice.changes:
                if self._follow(base.to(**change), advice, step):
                    return True
        return False

    def _follow(self, point: Point, advice: Advice, step: Step) -> bool:
        """Tries a point unless it was tried before; returns whether it is the best now."""
        if point == self.best:
            return False
        count = len(self.trials)
        self._try(point, f"steer: {advice.rule}")
        for trial in self.trials[count:]:
            step["tried"].append({"what": point.label(), "trial": trial.number, "cost": trial.cost})
        step["kept"] = point.label() if self.best == point else None
        return self.best == point

    def facts_of(self, point: Point) -> Facts:
        """The facts of the last trial of a point."""
        return next(t.facts for t in reversed(self.trials) if t.point == point and t.facts)


def answering(export: str) -> Export:
    """The properties of an export. Raises GordonError if it is served at full speed."""
    about = telemetry.about(block.stat(export).report)
    if not about["timed"]:
        raise GordonError(
            f"{export} is served at full speed, so its telemetry has no busy times and no queues",
            "gordon block serve --timing real",
            kind="untimed-export",
        )
    return about


def watched(trials: Trials, watch: Callable[[], Watch]) -> Measure:
    """Its `measure`, with the telemetry of the export as `device` of its facts."""

    def run(point: Point, role: str) -> tuple[float, Facts]:
        seen, found = watch(), list[tuple[float, Facts]]()
        seen.run(lambda: found.append(trials.measure(point, role)))
        ((cost, facts),) = found
        device = telemetry.by_phase(seen.samples, trials.began, facts["phases"])
        _is_there(device, facts)
        facts["device"] = device
        return cost, facts

    return run


def _is_there(device: Telemetry, facts: Facts) -> None:
    """The sort's files are on the export: its output at least, for that is durable."""
    wrote = sum(phase["bytes_written"] for phase in facts["phases"] if phase["name"] in LAST)
    seen = device["whole"]["host_bytes_written"]
    if seen < SEEN * wrote:
        raise GordonError(
            f"the sort wrote {wrote} bytes, but the export received only {seen:.0f}: the files are "
            "on another device",
            "--folder and --temp on the file system of that export",
            kind="other-device",
        )
