"""Benchmarks: always a ratio to a peer in the same run."""
