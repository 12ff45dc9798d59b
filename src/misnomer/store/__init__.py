"""Models on disk: numbers as safetensors, words as JSON; loading runs no code."""

from misnomer.store.models import load_model, save_model
from misnomer.store.writing import write_bytes, write_text

__all__ = ["load_model", "save_model", "write_bytes", "write_text"]
