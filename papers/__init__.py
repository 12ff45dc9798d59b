"""The papers' tables beside ours: one folder per paper, `python -m papers` runs them all."""
