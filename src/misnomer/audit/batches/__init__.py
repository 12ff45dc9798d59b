"""Rows read by batches, here or on a cluster."""
