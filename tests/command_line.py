"""Run the command line in this process; returns output and exit code."""

from functools import cache

import typer.testing
from typer.main import get_command

from napari_shape_ensembles.cli import app

# Typer's test runner rebuilds the command at every call, which takes as long as running many of the commands.
typer.testing._get_command = cache(get_command)
COMMAND = get_command(app)


def run(*arguments):
    return typer.testing.CliRunner().invoke(app, [str(argument) for argument in arguments])
