"""The decisions: an append-only log on disk."""
