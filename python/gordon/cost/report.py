"""The keys of the cost of a petabyte."""

from typing import TypedDict

from gordon.cost.paper import Item
from gordon.parameters import Parameter


class Named(TypedDict):
    """A file of inputs."""

    name: str
    summary: str


class PartPrice(TypedDict):
    """The price and the power of a part, and the capacity of a medium."""

    part: str
    summary: str
    capacity_bytes: float | None
    price: float
    active_w: float


class MediumCost(TypedDict):
    """The figures of a medium."""

    medium: str
    summary: str
    media: int
    slots: float
    servers: int
    processors: float
    server_cost: float
    server_power_w: float
    media_cost: float
    nonmedia_cost: float
    total_cost: float
    nonmedia_cost_share: float
    media_power_w: float
    nonmedia_power_w: float
    total_power_w: float
    nonmedia_power_share: float
    cost_per_gb: float
    power_per_tb_w: float


class ByProcessors(MediumCost):
    """The figures of a medium with a number of processors of a server."""

    is_chosen: bool


class Array(TypedDict):
    """An array of some bandwidth."""

    array: str
    part: str
    parts: float
    bandwidth_mb_s: float
    cost: float
    cost_per_mb_s: float
    active_w: float


class Petabyte(TypedDict):
    """The cost and power of storing data on each medium."""

    version: str
    inputs: Named
    #: Year of the prices of media, if they are not those of the inputs.
    year: int | None
    currency: str
    capacity_bytes: float
    parts: list[PartPrice]
    media: list[MediumCost]
    by_processors: list[ByProcessors]
    bandwidth: list[Array]
    items: list[Item]
    parameters: list[Parameter]
