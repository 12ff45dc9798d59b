"""The command line: parse, call, render. Everything heavy is imported when it is needed."""

from misnomer.cli.commands import app, main

__all__ = ["app", "main"]
