"""fio's JSON, read as it really comes.

What fio does that a plain ``json.loads`` doesn't survive, and what is done about it:

* error and info lines stand before, between or after the documents, also with ``--output``
  (fio issues 1685, 731): text is skipped up to a line that is ``{``, or begins with ``{"``, and
  kept as words;
* ``--status-interval`` gives several documents one after another (672): the last complete one
  holds the totals of the whole run;
* a document is cut short when fio is killed or the disk is full, or a message looks like the
  beginning of one: it isn't used, and the next one is looked for behind it;
* keys are missing (``disk_util``, ``percentile``, disabled latencies) or twice (511), and a
  direction without completions has zeros that mean "nothing", not "fast".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sluice import histogram
from sluice.histogram import Bins
from sluice.metrics import METRICS
from sluice.model import Role, Sample

_BEGIN = re.compile(r'^\{(?:[ \t\r]*$|(?=[ \t]*"))', re.MULTILINE)
DIRECTIONS = ("read", "write", "trim")
_QUANTILES = {
    name: metric.quantile for name, metric in METRICS.items() if metric.quantile is not None
}


@dataclass(frozen=True, slots=True)
class Output:
    """What fio wrote: its documents, and the words around them."""

    documents: tuple[Mapping[str, Any], ...]
    words: tuple[str, ...]

    @property
    def last(self) -> Mapping[str, Any] | None:
        """The document with the whole run's totals."""
        return self.documents[-1] if self.documents else None


@dataclass(slots=True)
class _Tally:
    """Sums over one or more jobs, before division."""

    ios: float = 0.0
    iops: float = 0.0
    bw: float = 0.0
    errors: float = 0.0
    usr_us: float = 0.0
    sys_us: float = 0.0
    switches: float = 0.0
    has_cpu: bool = False
    lat_n: float = 0.0
    lat_sum: float = 0.0
    lat_max: float = 0.0
    bins: Bins | None = None


def split(text: str) -> Output:
    """Separate complete JSON objects, each of which begins a line (see above), from the words
    around them."""
    decoder = json.JSONDecoder()
    documents: list[Mapping[str, Any]] = []
    words: list[str] = []
    position = 0
    broken = False
    while position < len(text):
        found = _BEGIN.search(text, position)
        end = found.start() if found else len(text)
        lines = text[position:end].splitlines()
        words += [line.strip() for line in lines if line.strip() and not (broken and _json(line))]
        if found is None:
            break
        try:
            document, position = decoder.raw_decode(text, end)
            broken = False
        except (ValueError, RecursionError):
            position, broken = found.end(), True
            continue
        if "jobs" in document or "fio version" in document:
            documents.append(document)
    return Output(tuple(documents), tuple(words))


def _json(line: str) -> bool:
    """Whether a line behind a document's broken beginning is more of it: indented, or closing."""
    return line[0] in ' \t",{}[]'


def samples(
    document: Mapping[str, Any], roles: Mapping[str, Role], latency: str = "clat"
) -> tuple[Sample, ...]:
    """Figures of each job and of each role's sum, in each direction that had I/O and in all.

    `roles` maps fio job names; a job it doesn't name counts as measured. `latency` is the object
    that the ``lat_*`` metrics come from, ``clat`` or ``lat``.
    """
    found: list[Sample] = []
    tallies: dict[tuple[Role, str], list[_Tally]] = {}
    seen: dict[str, int] = {}
    for job in _objects(document.get("jobs")):
        name = str(job.get("jobname", "?"))
        role = roles.get(name, Role.MEASURED)
        index = seen.get(name, 0)
        seen[name] = index + 1
        for direction, tally in _directions(job, latency):
            tallies.setdefault((role, direction), []).append(tally)
            found.append(Sample(name, role, False, direction, _values([tally]), index))
    for (role, direction), parts in tallies.items():
        values = _values(parts)
        shares = [part.iops for part in parts]
        if len(shares) > 1 and max(shares) > 0:
            values["jain"] = jain(shares)
        found.append(Sample(role.value, role, True, direction, values))
    return tuple(found)


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all get the same, 1/n when one gets everything."""
    most = max(shares)
    parts = [share / most for share in shares]
    return sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))


def job_errors(document: Mapping[str, Any]) -> list[str]:
    """One line for each job that ended with an error, with its errno."""
    lines = []
    for job in _objects(document.get("jobs")):
        code = _number(job.get("error"))
        if code:
            lines.append(f"job {job.get('jobname', '?')} ended with error {int(code)}")
    return lines


def latency_bins(
    document: Mapping[str, Any],
    roles: Mapping[str, Role],
    role: Role,
    direction: str = "all",
    latency: str = "clat",
) -> Bins:
    """The merged histogram of a role's jobs; empty when json+ or the percentiles were off."""
    wanted = DIRECTIONS if direction == "all" else (direction,)
    parts = []
    for job in _objects(document.get("jobs")):
        if roles.get(str(job.get("jobname", "?")), Role.MEASURED) is role:
            for one in wanted:
                figures = _object(_object(job.get(one)).get(f"{latency}_ns"))
                parts.append(histogram.parse_bins(_object(figures.get("bins"))))
    return histogram.merge(parts)


def _directions(job: Mapping[str, Any], latency: str) -> list[tuple[str, _Tally]]:
    """The directions of a job that completed I/O, and their sum. CPU and switches belong to the
    job, so they stand with the sum, and with the direction when there is only one."""
    parts = []
    for direction in DIRECTIONS:
        tally = _tally(_object(job.get(direction)), latency)
        if tally.ios > 0:
            parts.append((direction, tally))
    whole = _add([tally for _, tally in parts])
    whole.errors = _number(job.get("total_err"))
    runtime_us = 1e3 * _number(job.get("job_runtime"))
    whole.has_cpu = runtime_us > 0 and "usr_cpu" in job and "sys_cpu" in job
    whole.usr_us = _number(job.get("usr_cpu")) / 100.0 * runtime_us
    whole.sys_us = _number(job.get("sys_cpu")) / 100.0 * runtime_us
    whole.switches = _number(job.get("ctx"))
    if len(parts) == 1:
        parts = [(parts[0][0], whole)]
    return [*parts, ("all", whole)]


def _tally(figures: Mapping[str, Any], latency: str) -> _Tally:
    times = _object(figures.get(f"{latency}_ns"))
    count = _number(times.get("N"))
    return _Tally(
        ios=_number(figures.get("total_ios")),
        iops=_number(figures.get("iops")),
        bw=_number(figures.get("bw_bytes")) or 1024.0 * _number(figures.get("bw")),
        lat_n=count,
        lat_sum=_number(times.get("mean")) * count,
        lat_max=_number(times.get("max")) if count else 0.0,
        bins=histogram.parse_bins(_object(times.get("bins"))),
    )


def _add(parts: Iterable[_Tally]) -> _Tally:
    parts = list(parts)
    total = _Tally(bins=histogram.merge(part.bins or {} for part in parts))
    for part in parts:
        total.ios += part.ios
        total.iops += part.iops
        total.bw += part.bw
        total.errors += part.errors
        total.usr_us += part.usr_us
        total.sys_us += part.sys_us
        total.switches += part.switches
        total.lat_n += part.lat_n
        total.lat_sum += part.lat_sum
        total.lat_max = max(total.lat_max, part.lat_max)
    total.has_cpu = bool(parts) and all(part.has_cpu for part in parts)
    return total


def _values(parts: list[_Tally]) -> dict[str, float]:
    """Metrics of a sum. What had no completion has no latency and no cost for each I/O."""
    total = _add(parts)
    values = {"ios": total.ios, "iops": total.iops, "bw": total.bw, "errors": total.errors}
    if total.ios > 0 and total.has_cpu:
        values["cpu_usr_us"] = total.usr_us / total.ios
        values["cpu_sys_us"] = total.sys_us / total.ios
        values["cpu_us"] = values["cpu_usr_us"] + values["cpu_sys_us"]
        values["ctx"] = total.switches / total.ios
    if total.lat_n > 0:
        values["lat_mean"] = total.lat_sum / total.lat_n
        values["lat_max"] = total.lat_max
    figures = histogram.quantiles(total.bins or {}, list(_QUANTILES.values()))
    for name, figure in zip(_QUANTILES, figures, strict=True):
        if figure is not None:
            values[name] = figure
    return values


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float:
    """A finite number, or 0: fio prints ``nan`` and ``inf`` in odd cases (Python's reader takes
    NaN and Infinity)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    number = float(value)
    return number if number == number and abs(number) != float("inf") else 0.0
