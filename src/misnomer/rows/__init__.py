"""Anything with rows and columns -> a Schema and compact blocks."""

from misnomer.rows.read import grown, read, read_like

__all__ = ["grown", "read", "read_like"]
