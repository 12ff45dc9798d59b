"""Files of many formats, near or far, in memory or by batches."""
