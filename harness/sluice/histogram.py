"""Latency histograms from json+ bins: merged exactly, percentiles by fio's own rule.

fio's bins are ``{midpoint in ns: count}`` with 64 linear steps to each power of two, so a value is
right to 0.8 %, and the last group collects everything above 2^34 ns (17.2 s). Bins of one release
fall on the same midpoints in every job and run, so merging loses nothing; averaging percentiles of
jobs would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Bins = dict[int, int]


def parse_bins(raw: Mapping[str, object]) -> Bins:
    """Bins of a json+ object; whatever isn't a pair of whole numbers is left out."""
    bins: Bins = {}
    for key, count in raw.items():
        if isinstance(count, int) and not isinstance(count, bool) and count > 0 and key.isdigit():
            bins[int(key)] = bins.get(int(key), 0) + count
    return bins


def merge(parts: Iterable[Bins]) -> Bins:
    """The sum of histograms."""
    total: Bins = {}
    for part in parts:
        for midpoint, count in part.items():
            total[midpoint] = total.get(midpoint, 0) + count
    return total


def quantiles(bins: Bins, wanted: Sequence[float]) -> list[float | None]:
    """The midpoint of the first bin at which the running count reaches ``q * N``, for each q
    (fio's calc_clat_percentiles). None for every q when there are no completions."""
    total = sum(bins.values())
    if total == 0:
        return [None] * len(wanted)
    found: dict[float, float] = {}
    pending = sorted(set(wanted))
    running = 0
    for midpoint in sorted(bins):
        running += bins[midpoint]
        while pending and running >= pending[0] * total:
            found[pending.pop(0)] = float(midpoint)
    last = float(max(bins))
    return [found.get(q, last) for q in wanted]
