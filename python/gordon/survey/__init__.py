"""A job on every design of a space: which node is fastest, which takes the fewest joules."""

from gordon.survey.run import run

__all__ = ["run"]
