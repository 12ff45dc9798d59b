"""Closed forms from means and products of columns, and the algebra of two mixtures."""
