"""One sweep's knobs, from the first setting to the last restoration."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sluice import block
from sluice.knobs import group, names, values
from sluice.knobs.journal import Entry, Journal, State
from sluice.knobs.kernel import Kernel
from sluice.knobs.names import Knob
from sluice.knobs.undo import undo
from sluice.process import Deferred

Setting = Mapping[str, str]
"""Knob -> text."""

_PAIRS = (
    ("vm.dirty_ratio", "vm.dirty_bytes"),
    ("vm.dirty_background_ratio", "vm.dirty_background_bytes"),
    ("vm.overcommit_ratio", "vm.overcommit_kbytes"),
)
"""Sysctls of which setting one clears the other."""
_RESET_BY_SCHEDULER = ("nr_requests", "wbt_lat_usec")


class KnobError(Exception):
    """A knob that isn't as it should be, in one line."""


class Refused(KnobError):
    """The kernel doesn't take the value, or takes another: the cell can't be."""


class Gone(KnobError):
    """The knob can't be read or isn't what it was set to: the run is worth nothing."""


@dataclass(frozen=True, slots=True)
class Disk:
    """The target's disk, as the kernel names it; empty when there is none."""

    name: str = ""
    number: str = ""
    """major:minor."""


def disk_of(path: Path) -> Disk:
    """The whole disk below a path."""
    folder = block.device_of(path)
    if folder is None:
        return Disk()
    try:
        return Disk(folder.name, (folder / "dev").read_text(encoding="ascii").strip())
    except OSError:
        return Disk(folder.name)


class Session:
    """Sets knobs, and puts back what they were when it is left in whatever way. Between, nobody
    else sets the same ones. With no knobs it does nothing."""

    def __init__(
        self,
        kernel: Kernel,
        state: State,
        disk: Disk,
        knobs: Iterable[str],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`knobs`: every knob that will be set. `say` is told what was put back, in one line."""
        self._kernel = kernel
        self._state = state
        self._disk = disk
        self._names = tuple(dict.fromkeys(knobs))
        self._say = say
        self._journal: Journal | None = None
        self._saved: frozenset[str] = frozenset()
        self._no_group = ""
        self.group: Path | None = None
        """The control group that fio shall be put into."""
        self.writes = 0
        """Values written so far, and :attr:`seconds` that setting and reading back took."""
        self.seconds = 0.0

    def __enter__(self) -> Session:
        if not self._names:
            return self
        controllers = [names.controller(name) for name in self._names]
        planned = group.plan(self._kernel, filter(None, controllers)) if any(controllers) else None
        entries = [*self._before(), *(planned.entries if planned else [])]
        self._saved = frozenset(entry.path for entry in entries)
        try:
            with Deferred():
                self._journal = self._state.begin(entries)
                if planned is not None:
                    try:
                        planned.make(self._kernel)
                        self.group = planned.path
                    except OSError as error:  # then every value of its files is refused
                        self._no_group = f"no control group can be made ({error.strerror})"
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        journal, self._journal = self._journal, None
        if journal is None:
            return
        with Deferred():  # a second Ctrl-C must not leave knobs as they are
            said = undo(self._kernel, journal.entries())
            if said.kept:
                journal.close()
                for line in said.kept:
                    self._say(f"{line}; once that is mended: sluice restore")
            else:
                journal.remove()

    def apply(self, setting: Setting) -> dict[str, str]:
        """Set every knob of `setting` that isn't so already and read all of them back; what they
        read. :class:`Refused` or :class:`Gone` say what is wrong; then some may be set."""
        begin = time.monotonic()
        try:
            knobs = names.ordered(self._locate(name) for name in setting)
            wrong: Refused | None = None
            for knob in knobs:
                try:
                    self._set(knob, setting[knob.name])
                except Refused as error:
                    wrong = wrong or error
            if wrong is not None:
                raise wrong
            return {knob.name: self._check(knob, setting[knob.name]) for knob in knobs}
        finally:
            self.seconds += time.monotonic() - begin

    def verify(self, setting: Setting) -> None:
        """:class:`Gone` unless every knob is still as it was set."""
        for name, text in setting.items():
            try:
                knob = self._locate(name)
                read = self._read(knob)
            except Refused as error:
                raise Gone(str(error)) from error
            if not values.same(knob, text, read):
                raise Gone(
                    f"{self.label(name)} was set to {text} and is {values.shown(knob, read)} after "
                    "the run: somebody else changed it"
                )

    def label(self, name: str) -> str:
        """How a person calls the knob."""
        return label(name, self._disk)

    def _set(self, knob: Knob, text: str) -> None:
        read = self._read(knob)
        try:
            if values.same(knob, text, read):
                return
            if not self._restorable(knob):
                raise Gone(f"{self.label(knob.name)} wasn't there when the sweep began")
            self.writes += 1
            self._kernel.write(knob.path, values.written(knob, text))
        except ValueError as error:
            raise Refused(f"{self.label(knob.name)} = {text}: {error}") from error
        except FileNotFoundError as error:
            raise Gone(f"{self.label(knob.name)} has vanished") from error
        except OSError as error:
            raise Refused(
                f"{self.label(knob.name)}: the kernel refuses {text} ({error.strerror})"
            ) from error
        self._check(knob, text)

    def _restorable(self, knob: Knob) -> bool:
        """Whether it is known what to put back, or it goes by itself: with its scheduler, or with
        the control group."""
        own = self.group is not None and knob.path.parent == self.group
        return own or knob.rank == 3 or str(knob.path) in self._saved

    def _check(self, knob: Knob, text: str) -> str:
        """What the knob reads, if it is `text`."""
        read = self._read(knob)
        shown = values.shown(knob, read)
        if not values.same(knob, text, read):
            raise Refused(f"{self.label(knob.name)}: set to {text}, the kernel made it {shown}")
        return shown

    def _read(self, knob: Knob) -> str:
        try:
            return self._kernel.read(knob.path)
        except FileNotFoundError as error:
            if knob.name.startswith("queue/iosched/"):
                raise Refused(
                    f"{self.label(knob.name)}: the scheduler that is chosen has no such attribute"
                ) from error
            raise Gone(f"{self.label(knob.name)} has vanished") from error
        except OSError as error:
            raise Gone(f"{self.label(knob.name)} can't be read ({error.strerror})") from error

    def _locate(self, name: str) -> Knob:
        try:
            return names.locate(name, self._disk.name, self._disk.number, self.group)
        except LookupError as error:
            reason = self._no_group if names.controller(name) and self._no_group else error
            raise Refused(f"{self.label(name)}: {reason}") from error

    def _before(self) -> Sequence[Entry]:
        """What is there now, of the knobs and of what setting them changes too."""
        paths: dict[Path, str] = {}
        located = []
        for name in self._names:
            if names.controller(name):
                continue
            try:
                located.append(names.locate(name, self._disk.name, self._disk.number, None))
            except LookupError:
                continue
        for knob in names.ordered(located):
            paths[knob.path] = self.label(knob.name)
            for companion in _companions(self._kernel, knob):
                paths.setdefault(companion.path, self.label(companion.name))
        entries = []
        for path, text in paths.items():
            try:
                value = block.chosen(self._kernel.read(path))
            except OSError:
                continue  # not there, or it can't be read: then it is never written either
            entries.append(Entry("value", str(path), value, text))
        return entries


def label(name: str, disk: Disk) -> str:
    """How a person calls a knob, e.g. ``queue/scheduler of nvme0n1``."""
    return f"{name} of {disk.name}" if name.startswith("queue/") and disk.name else name


def _companions(kernel: Kernel, knob: Knob) -> Iterable[Knob]:
    """Knobs that the kernel resets when this one is set."""
    if knob.name == "queue/scheduler":
        queue = knob.path.parent
        yield from (Knob(f"queue/{name}", queue / name) for name in _RESET_BY_SCHEDULER)
        for name in kernel.names(queue / "iosched"):
            yield Knob(f"queue/iosched/{name}", queue / "iosched" / name)
    for pair in _PAIRS:
        for one, other in (pair, pair[::-1]):
            if knob.name == f"sysctl:{one}":
                yield Knob(f"sysctl:{other}", Path("/proc/sys", *other.split(".")))
