"""The clean table, and other tools' files."""
