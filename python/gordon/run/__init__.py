"""Runs of distributed jobs: nodes, agents that trace them, and the folder of a run."""
