"""The metrics that a run yields: names, units, which way is better, and what change matters.

Margins are judgements (a smaller change is no change to most users), meant to be overridden in a
sweep file: throughput 3 %, median 5 %, p99 10 %, p99.9 20 %.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of figures."""

    name: str
    label: str
    unit: str
    higher_is_better: bool
    margin: float
    """Relative change that would matter."""
    quantile: float | None = None
    """Of a percentile: 0 < q < 1."""


_ALL = (
    Metric("iops", "IOPS", "I/O/s", True, 0.03),
    Metric("bw", "Bandwidth", "B/s", True, 0.03),
    Metric("lat_mean", "Mean latency", "ns", False, 0.05),
    Metric("lat_p50", "p50 latency", "ns", False, 0.05, 0.5),
    Metric("lat_p99", "p99 latency", "ns", False, 0.10, 0.99),
    Metric("lat_p999", "p99.9 latency", "ns", False, 0.20, 0.999),
    Metric("lat_max", "Longest latency", "ns", False, 0.50),
    Metric("cpu_us", "CPU per I/O (usr + sys)", "us", False, 0.05),
    Metric("cpu_usr_us", "User CPU per I/O", "us", False, 0.05),
    Metric("cpu_sys_us", "System CPU per I/O", "us", False, 0.05),
    Metric("ctx", "Context switches per I/O", "1", False, 0.10),
    Metric("ios", "I/Os completed", "1", True, 0.03),
    Metric("errors", "I/Os failed", "1", False, 0.0),
    Metric("jain", "Fairness between jobs (Jain's index)", "1", True, 0.05),
    # Of a guest with a virtual clock only.
    Metric("instr", "Instructions per I/O", "1", False, 0.02),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""In the order in which tables show them."""

MIN_IOS_BEYOND = 100
"""A percentile is shown only where at least this many I/Os lie beyond it; fewer, and it is the
luck of a handful of I/Os."""


def percentile_supported(metric: str, ios: float) -> bool:
    """Whether `ios` completions carry `metric`. Always true for what is no percentile."""
    known = METRICS.get(metric)
    if known is None or known.quantile is None:
        return True
    beyond = ios * (1.0 - known.quantile)
    return beyond >= MIN_IOS_BEYOND - 1e-6  # 100,000 * (1 - 0.999) is 99.99999999999991
