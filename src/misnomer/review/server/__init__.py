"""The page, and the server that shows it."""
