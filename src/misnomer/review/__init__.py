"""Going through the suspects: decisions that are never lost, a page for them, the clean file."""
