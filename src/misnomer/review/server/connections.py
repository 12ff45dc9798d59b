"""Connections that say nothing are closed: a page asks, and whoever only holds a line is gone."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SILENCE = 30.0  # seconds in which a request must have come in


class Patient(H11Protocol):
    """HTTP as uvicorn speaks it, with a limit to how long a request may take to arrive."""

    silence = SILENCE
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came in; a request that is complete is waited for no more."""
        super().data_received(data)
        if not self._is_due():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._waiting is not None:
            self._waiting.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = self.loop.call_later(self.silence, self._silent)

    def _is_due(self) -> bool:
        """Tell whether a request is still to come, in whole or in part."""
        cycle = self.cycle
        return cycle is None or cycle.more_body

    def _silent(self) -> None:
        """Close, unless an answer is being made."""
        if self._is_due() or self.cycle.response_complete:
            self.transport.close()
        else:
            self._wait()
