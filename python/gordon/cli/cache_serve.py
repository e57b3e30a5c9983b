"""`gordon cache serve`, `stat`, `purge`, `check`, `warm`."""

import sys
from typing import Any

import click

from gordon.cli import options
from gordon.errors import GordonError
from gordon.options import command, only_given
from gordon.options.serving import Content, Control, Memories, Purge, Service


@click.command(cls=command.Command)
@command.of(Content, Memories, Service)
@options.json_out
@options.on_linux
def serve(json_path: str | None, **given: Any) -> None:
    """Serve the files of a folder, or the responses of another server, from a cache.

    Runs until SIGTERM or Ctrl-C: requests in flight are finished, and the cache is closed. SIGHUP
    opens the access log and reads the certificate again. HTTP/1.1 and HTTP/2. The pages /-/cache
    (dashboard), /-/stats and /-/metrics are for clients on this machine.
    """
    from gordon.cache import live
    from gordon.cli import allocator, output, serve_view, terminal

    files = ("root", "origin_ca", "tls_certificate", "tls_key", "access_log", "trace", "socket")
    output.check(json_path, used=[given[name] for name in files])
    if (given["root"] is None) == (given["origin"] is None):
        raise click.UsageError("exactly one of --root DIR and --origin URL is needed")
    if (given["tls_certificate"] is None) != (given["tls_key"] is None):
        raise click.UsageError("--tls-certificate and --tls-key need each other")
    if given["follow_symlinks"] and given["root"] is None:
        raise click.UsageError("--follow-symlinks needs --root")
    if given["origin_ca"] is not None and given["origin"] is None:
        raise click.UsageError("--origin-ca needs --origin")
    if given["origin_timeout"] is not None and given["origin"] is None:
        raise click.UsageError("--origin-timeout needs --origin")
    if given["endurance"] is not None and given["lifetime"] is None:
        raise click.UsageError("--endurance needs --lifetime")
    console = terminal.messages()
    source = given["root"] or given["origin"]
    allocator.share_arenas(given["threads"] or Service.threads)
    stats = live.serve(
        ready=lambda where: serve_view.ready(console, source, where),
        reloaded=serve_view.reloaded,
        **only_given(given),
    )
    output.finish(lambda _: serve_view.stopped(console, stats), [(json_path, stats)])


@click.command(cls=command.Command)
@command.of(Control)
@options.json_out
@options.on_linux
def stat(socket: str, json_path: str | None) -> None:
    """Show the statistics of a cache that serves."""
    from gordon.cache import live
    from gordon.cli import output, serve_view

    output.check(json_path)
    found = live.stat(socket)
    output.finish(
        lambda console: serve_view.stats(console, found), [(json_path, found)], is_quiet=True
    )


@click.command(cls=command.Command)
@click.argument("path")
@command.of(Purge, Control)
@options.json_out
@options.on_linux
def purge(path: str, prefix: bool, socket: str, json_path: str | None) -> None:
    """Remove PATH, as /news/1.html, from a cache that serves.

    It stays removed after a crash. A fetch of it that is under way is not stored. With --prefix,
    objects in flash are removed but not counted.
    """
    from gordon.cache import live
    from gordon.cli import output, serve_view
    from gordon.cli.progress import Waiting

    output.check(json_path)
    # After many prefixes, one takes a read of the flash.
    with Waiting(f"purging {path}"):
        done = live.purge(socket, path, prefix=prefix)
    output.finish(
        lambda console: serve_view.purged(console, path, prefix, done), [(json_path, done)]
    )


@click.command(cls=command.Command)
@command.of(Control)
@options.json_out
@click.pass_context
@options.on_linux
def check(ctx: click.Context, socket: str, json_path: str | None) -> None:
    """Verify every object in flash of a cache that serves.

    Damaged objects are removed. Exit status 1 if there were any.
    """
    from gordon.cache import live
    from gordon.cli import output, serve_view
    from gordon.cli.progress import Waiting

    output.check(json_path)
    with Waiting("checking the flash"):
        found = live.check(socket)
    output.finish(
        lambda console: serve_view.checked(console, found), [(json_path, found)], is_quiet=True
    )
    ctx.exit(1 if found["damaged"] else 0)


@click.command(cls=command.Command)
@click.argument("paths", nargs=-1, required=True)
@command.of(Control)
@options.json_out
@options.on_linux
def warm(paths: tuple[str, ...], socket: str, json_path: str | None) -> None:
    """Bring PATHS into a cache that serves. `-` reads them from stdin, one in a line."""
    from gordon.cache import live
    from gordon.cli import output, serve_view

    output.check(json_path)
    wanted = [path for word in paths for path in (_lines() if word == "-" else [word])]
    done = live.warm(socket, wanted)
    output.finish(lambda console: serve_view.warmed(console, done), [(json_path, done)])


def _lines() -> list[str]:
    try:
        return [line.strip() for line in sys.stdin if line.strip()]
    except UnicodeDecodeError:
        raise GordonError(
            "-: standard input is not text in UTF-8", "a path in each line", kind="not-text"
        ) from None
