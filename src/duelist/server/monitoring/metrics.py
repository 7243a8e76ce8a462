"""Prometheus metrics: requests, worker tasks, event streams and the size of studies."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from duelist.study import Storage

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Metrics of a server process."""

    def __init__(self, storage: Storage) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "duelist_requests", "Requests, by status.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "duelist_request_seconds",
            "Duration of requests.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.listening = Gauge("duelist_event_streams", "Open event streams.", registry=self.registry)
        self.connections = Gauge("duelist_connections", "Open connections.", registry=self.registry)
        self.connections_closed = Counter(
            "duelist_connections_closed",
            "Connections that the server closed, by the deadline or limit that they exceeded.",
            ("reason",),
            registry=self.registry,
        )
        self.worker_seconds = Histogram(
            "duelist_worker_seconds",
            "Duration of tasks and queries of the background worker.",
            ("task",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.registry.register(_StudyCollector(storage))

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        return generate_latest(self.registry)


class _StudyCollector(Collector):
    """Collects counts of votes, duels and arms per study on request."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def describe(self) -> Iterator[GaugeMetricFamily]:
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        rows = self._storage.list_studies()
        for what in ("votes", "duels", "arms"):
            family = GaugeMetricFamily(f"duelist_study_{what}", f"{what.capitalize()} per study.", labels=("study",))
            for row in rows:
                family.add_metric([str(row.id)], getattr(row.counters, f"n_{what}"))
            yield family
