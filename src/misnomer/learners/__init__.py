"""Whoever can score the classes of a row: the head asks each of them, and listens to some."""
