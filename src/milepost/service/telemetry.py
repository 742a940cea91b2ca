"""Prometheus metrics of a service. They depend on private data only through released answers."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Telemetry:
    """The metrics of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["route", "method", "status"]
        self._requests = Counter(
            "milepost_requests", "Requests that the service answered.", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "milepost_request_seconds",
            "Seconds until the service sent the response.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._late = Counter(
            "milepost_late_answers", "Answers of sessions that left after their moment.", registry=self._registry
        )
        self._sessions = Gauge("milepost_open_sessions", "Open sessions.", registry=self._registry)
        self._jobs = Gauge("milepost_waiting_jobs", "Jobs that wait or run.", registry=self._registry)
        self._spent = Gauge(
            "milepost_budget_spent", "Spent share of the cap of a dataset.", ["dataset"], registry=self._registry
        )

    def record_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request and its time."""
        method_label = method if method in ("GET", "POST", "PUT", "DELETE") else "other"
        self._requests.labels(route or "none", method_label, str(status)).inc()
        self._seconds.labels(route or "none").observe(seconds)

    def late(self) -> None:
        """Count an answer that took longer than a period of the clock."""
        self._late.inc()

    def render(self, sessions: int, jobs: int, spent: dict[str, float]) -> bytes:
        """Return all metrics in the Prometheus text format."""
        self._sessions.set(sessions)
        self._jobs.set(jobs)
        for dataset, share in spent.items():
            self._spent.labels(dataset).set(share)
        return generate_latest(self._registry)
