"""Runs of distributed jobs: nodes, agents that trace them, and the folder of a run."""

from gordon.run.folder import is_run, read, traces

__all__ = ["is_run", "read", "traces"]
