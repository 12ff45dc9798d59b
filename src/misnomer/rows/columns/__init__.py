"""What the columns of a table are, and their compact form."""
