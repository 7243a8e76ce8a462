"""Rate limits: one token bucket per key."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_MAX_KEYS: Final = 20_000
"""Maximum number of buckets; the least recently used is dropped first."""


class RateLimiter:
    """Allows each key `rate` requests per second, and bursts of up to `burst`.

    >>> limiter = RateLimiter(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [limiter.acquire("ana") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def acquire(self, key: str, cost: float = 1.0) -> float:
        """Take a request from the bucket and return 0, or return the seconds to wait."""
        now = self._clock()
        left, since = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        enough = left >= cost
        self._buckets[key] = (left - cost if enough else left), now
        if len(self._buckets) > _MAX_KEYS:
            self._buckets.popitem(last=False)
        return 0.0 if enough else (cost - left) / self._rate
