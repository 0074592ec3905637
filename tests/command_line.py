"""Run the command line in this process; returns output and exit code."""

from functools import cache

import typer.testing
from typer.main import get_command

from napari_shape_ensembles.cli import app

# Typer's runner makes the command anew at every call, which takes as long as many a command itself.
typer.testing._get_command = cache(get_command)
COMMAND = get_command(app)


def run(*arguments):
    return typer.testing.CliRunner().invoke(app, [str(argument) for argument in arguments])
