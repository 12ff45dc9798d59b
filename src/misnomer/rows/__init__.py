"""Anything with rows and columns -> a Schema and compact blocks."""

from misnomer.rows.read import read, read_like

__all__ = ["read", "read_like"]
