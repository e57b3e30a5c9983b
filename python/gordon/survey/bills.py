"""How machines are used and what designs are chosen by, as the core takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import get_args

from gordon import _core
from gordon.errors import GordonError
from gordon.grids import grid
from gordon.options.surveys import UseOptions
from gordon.parts import unknown
from gordon.quantity import parsed, value
from gordon.reports.survey import Objective, Operation
from gordon.survey.space import Space
from gordon.untyped import Config

#: Years for which a machine is kept, and hours of a year in which it runs jobs, of spaces that do
#: not say so: usual depreciation is 3 to 5 years, and half of the hours of a year.
YEARS = 4.0
HOURS_PER_YEAR = 4383.0
#: The grid of a space whose region is unknown.
WORLD = "WORLD"
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


@dataclass(frozen=True)
class Use:
    """How machines are used; see `gordon.options.surveys.UseOptions`."""

    years: float | None = None
    runs_per_day: float | None = None
    price_kwh: float = UseOptions.price_kwh
    pue: float = UseOptions.pue
    grid: str | float | None = None

    def operation(self, space: Space) -> Operation:
        """The use of the machines of a space. Raises GordonError for an unknown grid."""
        ownership = space.get("ownership", {})
        years = value(ownership.get("years", YEARS)) if self.years is None else self.years
        operation: Operation = {
            "years": years,
            "hours_per_year": value(ownership.get("hours_per_year", HOURS_PER_YEAR)),
            "price_per_kwh": self.price_kwh,
            "pue": self.pue,
            "grams_per_kwh": self._carbon(space)[0],
        }
        if self.runs_per_day is not None:
            operation["runs_per_day"] = self.runs_per_day
        return operation

    @property
    def given(self) -> list[str]:
        """The names of the options that are given."""
        names = {
            "years": self.years is not None,
            "runs-per-day": self.runs_per_day is not None,
            "price-kwh": self.price_kwh != UseOptions.price_kwh,
            "pue": self.pue != UseOptions.pue,
            "grid": self.grid is not None,
        }
        return [name for name, is_given in names.items() if is_given]

    def origins(self, space: Space) -> dict[str, str]:
        """Where the values of the operation come from, by key."""
        given, used = Use(), "given"
        ownership = space.get("ownership", {})
        origin = {"source": "", "assumed": "assumed: "}

        def of_space(key: str, default: str) -> str:
            field = ownership.get(key)
            if not isinstance(field, dict):
                return f"ownership.{key} of the space" if key in ownership else default
            return next((origin[how] + field[how] for how in origin if how in field), used)

        return {
            "years": used
            if self.years is not None
            else of_space("years", "assumed: usual depreciation is 3 to 5 years"),
            "hours_per_year": of_space("hours_per_year", "assumed: half of the hours of a year"),
            "price_per_kwh": used
            if self.price_kwh != given.price_kwh
            else "assumed: near what commercial customers in the USA paid in 2024 (EIA, Electric "
            "Power Monthly, table 5.6.B)",
            "pue": used
            if self.pue != given.pue
            else "Uptime Institute, Global Data Center Survey 2024: an average of 1.56",
            "grams_per_kwh": self._carbon(space)[1],
        }

    def _carbon(self, space: Space) -> tuple[float, str]:
        """Grams of a kWh, and where the number comes from."""
        given = self.grid
        if given is not None:
            try:
                grams = float(given)
            except ValueError:
                found = grid(str(given))
                return found.grams_per_kwh, f"{found.name}, {found.year}: {found.source}"
            if not isfinite(grams):
                raise GordonError(
                    f"--grid {given}: not a region and not a number of grams",
                    "a region of `gordon cost grids`, as DE, or grams of a kWh, as 380",
                    kind="bad-number",
                )
            return grams, "given"
        region = space.get("region")
        try:
            found = grid(region or WORLD)
        except GordonError:
            found = grid(WORLD)
        return found.grams_per_kwh, f"{found.name}, {found.year}: {found.source}"


@dataclass(frozen=True)
class Goals:
    """Goals by which designs are chosen; see `gordon.options.surveys.GoalOptions`."""

    objectives: tuple[Objective, ...] = ()
    deadline_s: float | None = None
    max_power_w: float | None = None
    max_price: float | None = None
    min_life_years: float | None = None

    @classmethod
    def of(
        cls,
        objective: str | Sequence[str],
        deadline: float | None,
        max_power: str | float | None,
        max_price: float | None,
        min_life: float | None,
    ) -> "Goals":
        """The goals of options. Raises GordonError for an unknown objective."""
        words = objective.split(",") if isinstance(objective, str) and objective else objective
        if words and not any(word.strip() for word in words):
            given = objective if isinstance(objective, str) else ",".join(objective)
            raise GordonError(
                f"--objective {given!r}: no objective",
                "--objective time,tco",
                kind="no-objective",
            )
        return cls(
            tuple(_objective(word.strip()) for word in words if word.strip()),
            deadline,
            parsed("--max-power", max_power, _core.parse_watts, "--max-power 500W")
            if isinstance(max_power, str)
            else max_power,
            max_price,
            min_life,
        )

    def config(self) -> Config:
        """The goals, as the core takes them."""
        return {
            "objectives": list(self.objectives),
            "deadline_s": self.deadline_s,
            "max_power_w": self.max_power_w,
            "max_price": self.max_price,
            "min_life_years": self.min_life_years,
        }

    @property
    def limits(self) -> str:
        """The limits in words; empty without one."""
        limits = (
            ("--max-power {:g} W", self.max_power_w),
            ("--max-price {:g}", self.max_price),
            ("--min-life {:g}", self.min_life_years),
        )
        given = [words.format(limit) for words, limit in limits if limit is not None]
        return " and ".join(given)

    @property
    def given(self) -> list[str]:
        """The names of the options that are given."""
        names = {
            "objective": self.objectives or None,
            "deadline": self.deadline_s,
            "max-power": self.max_power_w,
            "max-price": self.max_price,
            "min-life": self.min_life_years,
        }
        return [name for name, value in names.items() if value is not None]


def _objective(word: str) -> Objective:
    for known in OBJECTIVES:
        if word.lower() == known:
            return known
    raise unknown("objective", word, list(OBJECTIVES))
