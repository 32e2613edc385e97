"""What is counted, for Prometheus: names of operations and how they ended, never content."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from shiyi.core.errors import ShiyiError

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)


class Metrics:
    """The counters of one daemon, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "shiyi_calls", "Calls that ended, by operation and code.", ["operation", "code"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "shiyi_call_seconds", "How long calls took.", ["operation"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._refused = Counter(
            "shiyi_refused", "Requests that the door refused, by code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        self._going = Gauge("shiyi_calls_going", "Calls being done.", registry=self._registry)

    @contextmanager
    def call(self, operation: str) -> Iterator[None]:
        """Count what is done in the block."""
        start, code = time.perf_counter(), "ok"
        self._going.inc()
        try:
            yield
        except BaseException as error:
            code = error.code if isinstance(error, ShiyiError) else "internal"
            raise
        finally:
            self._going.dec()
            self._calls.labels(operation, code).inc()
            self._seconds.labels(operation).observe(time.perf_counter() - start)

    def refused(self, code: str) -> None:
        """Count a request that came to no operation."""
        self._refused.labels(code).inc()

    def text(self) -> bytes:
        """Return them in the form that Prometheus reads."""
        return generate_latest(self._registry)
