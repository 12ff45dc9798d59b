"""From sums to a model: each solver takes a Task and returns a Fit."""
