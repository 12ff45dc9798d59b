"""Thousands of labels: nothing is rows times classes."""
