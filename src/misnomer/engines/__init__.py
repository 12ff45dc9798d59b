"""Who adds the sums: in memory, streaming, on a cluster."""
