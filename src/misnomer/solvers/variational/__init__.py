"""Variational Bayes: a distribution over the parameters in place of one value."""
