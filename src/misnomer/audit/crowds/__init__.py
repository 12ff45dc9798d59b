"""Several annotators, and groups of rows that err in their own way."""
