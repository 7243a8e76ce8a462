"""What Prometheus is told: requests and how long they took, readings, events that are listened to, and how far studies have come."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from duelist.study import Storage

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """The numbers of one server process."""

    def __init__(self, storage: Storage) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "duelist_requests", "Requests that were answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "duelist_request_seconds",
            "How long answers took.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.listening = Gauge("duelist_event_streams", "Dashboards that listen.", registry=self.registry)
        self.readings = Histogram(
            "duelist_reading_seconds", "How long readings took.", ("reading",), buckets=_SECONDS, registry=self.registry
        )
        self.registry.register(_StudyCollector(storage))

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)


class _StudyCollector(Collector):
    """How far studies have come, looked up when somebody asks."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def describe(self) -> Iterator[GaugeMetricFamily]:
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        rows = self._storage.list_studies()
        for what in ("votes", "duels", "arms"):
            family = GaugeMetricFamily(f"duelist_study_{what}", f"{what.capitalize()} of a study.", labels=("study",))
            for row in rows:
                family.add_metric([str(row.id)], getattr(row.counters, f"n_{what}"))
            yield family
