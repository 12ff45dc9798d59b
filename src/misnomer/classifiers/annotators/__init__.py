"""Classifiers of rows that several people have labeled."""
