"""What an installation costs and can do: a petabyte of storage, and its parts.

    import gordon.cost
    gordon.cost.petabyte()["media"][0]["total_cost"]

`petabyte` is the cost model of section 6.2 of the Gordon paper. Each result that the paper prints is next to the computed one. A failure raises
`gordon.GordonError`, whose args are (message, hint).
"""

from gordon.cost.petabyte import petabyte

__all__ = ["petabyte"]
