"""Rows that a person has checked: how to draw them, and what they say whatever the noise."""
