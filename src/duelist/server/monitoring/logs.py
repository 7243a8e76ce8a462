"""Logs as JSON lines, without secrets: token ids instead of tokens, and neither queries nor bodies."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import Any, Final

LOGGER: Final = logging.getLogger("duelist.server")
_OURS: Final = "fields"


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, _OURS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_event(event: str, level: int = logging.INFO, exc_info: bool = False, **fields: Any) -> None:
    """Log an event with its fields."""
    LOGGER.log(level, event, extra={_OURS: fields}, exc_info=exc_info)


def log_to_stderr(level: str = "info") -> None:
    """Write the logs of this server, of its libraries, and all warnings and uncaught errors to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    logging.getLogger().handlers = [handler]  # warnings of other libraries
    for name in ("duelist.server", "uvicorn.error", "asyncio", "concurrent.futures", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    threading.excepthook = _log_error_of_thread


def _log_error_of_thread(error: threading.ExceptHookArgs) -> None:
    if error.exc_value is not None and not isinstance(error.exc_value, SystemExit):
        LOGGER.error("a thread failed", exc_info=error.exc_value)
