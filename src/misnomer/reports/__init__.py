"""One audit, several renderings: text for the terminal, JSON for programs, HTML for people."""
