"""Groups of commands in order, and the options of their outputs."""

import click

from gordon.options import command
from gordon.options.outputs import HtmlReport, Json


class InOrder(click.Group):
    """Lists its commands as they are written here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


json_out = command.of(Json)
report_out = command.of(HtmlReport)
