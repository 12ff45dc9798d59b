"""The rows of an audit, in memory or on disk."""
