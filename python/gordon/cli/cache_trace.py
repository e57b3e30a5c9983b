"""Options of a trace that is replayed through a cache."""

from gordon.options import command
from gordon.options.caches import Objects
from gordon.options.loads import TraceLoad

of_trace = command.of(Objects, TraceLoad, without=["repeat"])
