"""How many labels are wrong, which ones, and why.

Light on purpose: the package binds ``misnomer.audit`` to the function as it is imported, lest this
folder of the same name hide it; whatever is heavy is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from misnomer.audit.run import audit

if TYPE_CHECKING:
    from misnomer.audit.files.folder import load_audit, save_audit
    from misnomer.audit.numbers import Fitted
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation

__all__ = ["Audit", "Explanation", "Fitted", "audit", "load_audit", "save_audit"]

_HOMES = {
    "Audit": "audit.result",
    "Explanation": "evidence",
    "Fitted": "audit.numbers",
    "load_audit": "audit.files.folder",
    "save_audit": "audit.files.folder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'misnomer.audit' has no attribute {name!r}")
    return getattr(import_module(f"misnomer.{_HOMES[name]}"), name)
