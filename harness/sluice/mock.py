"""An executor that makes up plausible figures at once, so that everything around runs can be tested
without a device or a minute of time."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sluice.executor import JOB, Order, Outcome
from sluice.model import Cell, Role, Sample, Status


@dataclass(slots=True)
class MockExecutor:
    """Figures from a formula and a seed: the same order gives the same outcome.

    By default throughput follows the first number among the cell's values, with log-normal noise;
    `script` may answer for chosen orders, e.g. with a failure."""

    noise: float = 0.02
    script: Callable[[Order], Outcome | None] | None = None
    orders: list[Order] = field(default_factory=list)
    """Every order taken, for tests."""

    def run(self, order: Order) -> Outcome:
        """See :class:`Executor`."""
        self.orders.append(order)
        (order.folder / JOB).write_text(order.job_text, encoding="utf-8")
        scripted = self.script(order) if self.script else None
        if scripted is not None:
            return scripted
        begin = time.monotonic()
        source = random.Random(f"{order.cell.id}/{order.seed}/{order.folder.name}")
        base = _base_iops(order.cell)
        samples: list[Sample] = []
        for role in dict.fromkeys(order.roles.values()):
            names = [name for name, one in order.roles.items() if one is role]
            values = _made_up(base * math.exp(source.gauss(0, self.noise)), source)
            direction = "read" if role is Role.MEASURED else "write"
            for one in (direction, "all"):
                for name in names:
                    shared = {
                        key: value / len(names) if key in ("iops", "bw", "ios") else value
                        for key, value in values.items()
                    }
                    samples.append(Sample(name, role, False, one, shared))
                samples.append(Sample(role.value, role, True, one, values))
        return Outcome(
            Status.OK, "", time.monotonic() - begin, tuple(samples), None, (), ("mock-fio", JOB)
        )


def _base_iops(cell: Cell) -> float:
    numbers = [float(text) for text in cell.values.values() if text.isdigit()]
    names = "".join(text for text in cell.values.values() if not text.isdigit())
    shift = hashlib.sha256(names.encode()).digest()[0] / 255
    depth = numbers[0] if numbers else 1.0
    return 20_000 * depth / (1 + depth / 16) * (1 + 0.3 * shift)


def _made_up(iops: float, source: random.Random) -> dict[str, float]:
    median = 1e9 / iops * 4 * math.exp(source.gauss(0, 0.01))
    return {
        "ios": iops * 10,
        "iops": iops,
        "bw": iops * 4096,
        "errors": 0.0,
        "cpu_usr_us": 1.1,
        "cpu_sys_us": 3.2,
        "cpu_us": 4.3,
        "ctx": 0.4,
        "lat_mean": median * 1.2,
        "lat_max": median * 80,
        "lat_p50": median,
        "lat_p99": median * 4,
        "lat_p999": median * 15,
    }
