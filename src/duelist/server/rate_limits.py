"""How many requests: a bucket for each who asks, which fills again with time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_MOST: Final = 20_000
"""RateLimiter that are remembered; the one that was used longest ago is forgotten first."""


class RateLimiter:
    """So many requests a second for each, and up to `burst` at once.

    >>> buckets = RateLimiter(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [buckets.wait("ana") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, who: str, cost: float = 1.0) -> float:
        """Take one; 0, or the seconds until there is one again."""
        now = self._clock()
        left, since = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        enough = left >= cost
        self._left[who] = (left - cost if enough else left), now
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0.0 if enough else (cost - left) / self._rate

    def is_empty(self, who: str) -> bool:
        """Whether the next one would have to wait; nothing is taken."""
        return self.wait(who, cost=0.0) > 0.0 or self._left[who][0] < 1.0
