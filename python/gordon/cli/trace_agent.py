"""`gordon trace agent`: captures traces for a coordinator, over stdin and stdout."""

import sys

import click

from gordon.cli import options, say


@click.command()
@options.on_linux
def agent() -> None:
    """Capture traces for a coordinator.

    The coordinator (`gordon workload run`, `gordon trace --nodes`) starts an agent on each host. It
    sends requests to stdin and receives replies on stdout, one JSON object a line. The agent
    completes its traces and ends when stdin is closed.
    """
    from gordon.run.agent import serve

    for folder in serve(sys.stdin.buffer, sys.stdout.buffer):
        say(f"the traces in {folder} were not removed", kind="warning")
