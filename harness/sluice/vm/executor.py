"""Makes a sweep's runs in guests: a guest for each block, another one after a crash."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from sluice import executor, fiojson, process
from sluice.errors import SluiceError
from sluice.executor import JOB, OUTPUT, Order, Outcome
from sluice.model import Role, Sample, Status
from sluice.vm import console, measured, planned
from sluice.vm.channel import Event, File, Word
from sluice.vm.guest import Boot, End, Ending, Guest
from sluice.vm.planned import Planned
from sluice.vm.run import failure

CONSOLE = "console.txt"
"""In the folder of a run in which the guest ended: all that its console showed."""
_BOOT_S = 120.0
_OFF_S = 10.0
_VIRTUAL_S = 60.0
"""Real seconds that a second of the virtual clock may take; 4 are usual."""


class GuestExecutor:
    """An `executor.Executor` whose fio runs in guests. Used as a context."""

    def __init__(
        self,
        runs: Sequence[Planned],
        boot: Callable[[Sequence[Planned]], Boot],
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        """`boot` makes the guest for some runs of one block."""
        self._runs = {one.number: one for one in runs}
        self._boot = boot
        self._show = show
        self._guest: Guest | None = None
        self._events: Iterator[Event] = iter(())
        self._next: list[int] = []
        self._kernel = ""
        self._virtual = False
        self.facts: dict[str, str] = {}
        """What the guest that runs says that it is."""
        self.booted_s = 0.0
        """From power on until its first run could begin, of the last guest."""
        self.accelerator = ""
        self.base = ""
        """Which initramfs, of the last guest."""

    def __enter__(self) -> GuestExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def prime(self) -> None:
        """Boot the first guest. SluiceError when it can't do what the sweep wants of it."""
        if self._runs:
            self._start(min(self._runs))

    def run(self, order: Order) -> Outcome:
        """See :class:`sluice.executor.Executor`. The run is the one whose number the folder has."""
        number = int(order.folder.name.partition("-")[0])
        one = self._runs[number]
        (order.folder / JOB).write_text(one.order.job_text, encoding="utf-8")
        if self._guest is None or self._next[:1] != [number]:
            self._start(number)
        self._next.pop(0)
        outcome = self._one(one, order)
        if not self._next or self._guest is None:
            self._finish()
        return outcome

    def _start(self, number: int) -> None:
        self._leave()
        block = self._runs[number].block
        batch = [one for one in self._runs.values() if one.block == block and one.number >= number]
        batch.sort(key=lambda one: one.number)
        boot = self._boot(batch)
        self._kernel = boot.kernel.name
        self._virtual = boot.machine.virtual
        self.accelerator, self.base = boot.accelerator, boot.base.name.partition(".")[0]
        guest = Guest(boot, _BOOT_S, self._show)
        self._guest = guest.__enter__()
        self._events = self._guest.events()
        self._next = [one.number for one in batch]
        for event in self._events:
            if isinstance(event, File) and event.name == "facts":
                self.facts = _facts(event.data)
            if isinstance(event, Word) and event.name == "prepared":
                self.booted_s = guest.now_s
                return
        end = self._guest.end()
        self._leave()
        words = ""
        if end.kind is not Ending.REFUSED and not end.trace:
            words = " / ".join(console.tail(end.console, 3).splitlines())
        raise SluiceError(failure(end, self._kernel) + (f" ({words})" if words else ""))

    def _one(self, one: Planned, order: Order) -> Outcome:
        """Listen to one run."""
        assert self._guest is not None
        begin = time.monotonic()
        limit = one.order.timeout_s * (_VIRTUAL_S if self._virtual else 1)
        self._guest.extend(limit)
        damaged = ""
        for event in self._events:
            if isinstance(event, File):
                (order.folder / Path(event.name).name).write_bytes(event.data)
            elif isinstance(event, Word) and event.name == "damaged":
                damaged = f"{event.rest} was damaged on the way out of the guest"
            elif isinstance(event, Word) and event.name == "done":
                outcome = self._outcome(one, order, int(event.rest), time.monotonic() - begin)
                if damaged:
                    return dataclasses.replace(outcome, status=Status.FAILED, reason=damaged)
                return outcome
        end = self._guest.end()
        self._leave()
        (order.folder / CONSOLE).write_text(end.console, encoding="utf-8")
        return _broken(end, self._kernel, time.monotonic() - begin)

    def _outcome(self, one: Planned, order: Order, code: int, seconds: float) -> Outcome:
        """What fio left, judged as on a host."""
        folder = order.folder
        output = fiojson.split(executor.text_of(folder / OUTPUT))
        words = executor.words_of(folder, output)
        samples = fiojson.samples(output.last, order.roles, order.latency) if output.last else ()
        ended = process.Ended(code, seconds, False)
        status, reason = executor.judge(ended, order.timeout_s, output, samples, words)
        warnings = tuple(words[:5]) if status is Status.OK else ()
        if status is Status.OK and self._virtual:
            samples = _with_counts(samples, folder)
        return Outcome(
            status,
            reason,
            seconds,
            samples,
            executor.stats_of(folder / executor.STATS),
            warnings,
            ("fio", "--output-format=json+", f"--output={OUTPUT}", JOB),
        )

    def _finish(self) -> None:
        """The block's last run is made: let the guest power off."""
        if self._guest is not None:
            self._guest.extend(_OFF_S)
            for _ in self._events:
                pass
        self._leave()

    def _leave(self) -> None:
        if self._guest is not None:
            self._guest.__exit__(None, None, None)
        self._guest, self._next = None, []


def _broken(end: End, kernel: str, seconds: float) -> Outcome:
    """The outcome of a run in which the guest ended."""
    if end.kind is Ending.TIMEOUT:
        tail = console.tail(end.console, 3).replace("\n", " / ")
        reason = f"guest {kernel} hung: {end.reason}" + (f": {tail}" if tail else "")
        return Outcome(Status.TIMEOUT, reason, seconds)
    reason = f"guest {kernel} crashed: {end.reason}; its console is in {CONSOLE}"
    return Outcome(Status.FAILED, "\n".join(filter(None, (reason, end.trace))), seconds)


def _with_counts(samples: Sequence[Sample], folder: Path) -> tuple[Sample, ...]:
    """The samples, with the instructions for each I/O. Where a neighbour runs beside, nobody can
    tell whose they were."""
    shorter, longer = (
        dataclasses.replace(
            measured.counted(*(executor.text_of(folder / name) for name in counts)),
            ios=_ios(folder / output),
        )
        for counts, output in ((planned.BEFORE, planned.SHORT), (planned.AFTER, OUTPUT))
    )
    each = measured.difference(longer, shorter).per_io
    if each is None or any(one.role is not Role.MEASURED for one in samples):
        return tuple(samples)
    return tuple(
        dataclasses.replace(one, values={**one.values, "instr": each})
        if one.total and one.direction == "all"
        else one
        for one in samples
    )


def _ios(path: Path) -> int:
    """I/Os that fio's JSON counts, of all its jobs."""
    document = fiojson.split(executor.text_of(path)).last or {}
    found = fiojson.samples(document, {})
    return int(sum(one.values["ios"] for one in found if one.total and one.direction == "all"))


def _facts(data: bytes) -> dict[str, str]:
    pairs = (line.partition("=") for line in data.decode("utf-8", "replace").splitlines())
    return {key: text.strip() for key, _, text in pairs if text.strip()}
