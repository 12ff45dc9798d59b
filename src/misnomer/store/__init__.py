"""Models and audits on disk: numbers as safetensors, words as JSON; loading runs no code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misnomer.store.models import load_model, save_model
from misnomer.store.writing import write_bytes, write_text

__all__ = ["load_model", "save_model", "write_bytes", "write_text"]

if TYPE_CHECKING:
    load_audit: Any
    save_audit: Any


def __getattr__(name: str) -> Any:
    """Hand out load_audit and save_audit, too: they live with the audit, above this folder."""
    if name not in ("load_audit", "save_audit"):
        raise AttributeError(f"module 'misnomer.store' has no attribute {name!r}")
    return getattr(import_module("misnomer.audit"), name)
