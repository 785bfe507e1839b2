"""An axis or a fixed option, looked up where it is defined: the engine's table, or fio."""

from __future__ import annotations

from collections.abc import Callable

from sluice import permitted
from sluice.describe import Table
from sluice.errors import SluiceError, near
from sluice.fiocli import Fio, FioOption
from sluice.knobs import names, values
from sluice.model import Axis, Role, Value
from sluice.sweepspec import AxisSpec
from sluice.units import parse_size, parse_time_ns

Numbers = Callable[[str], float]


class Options:
    """All options that a sweep with one engine may set."""

    def __init__(self, fio: Fio, table: Table | None, engine: str) -> None:
        """`table` is the engine's own one; None for an engine that only fio knows."""
        self._fio = fio
        self._table = table
        self._engine = engine

    def axis(self, spec: AxisSpec) -> Axis:
        """Resolve an axis. SluiceError when there is no such option or a value doesn't fit.
        (Whether this machine has a knob, `knobbed` finds.)"""
        if names.is_knob(spec.name):
            return _knob_axis(spec)
        for text in spec.values:
            self.check(spec.name, text, spec.where)
        tunable = self._table.tunables.get(spec.name) if self._table else None
        if tunable is not None:
            numbers = None if not tunable.numeric else tunable.number
            unit = "bytes" if tunable.type == "size" else tunable.unit
            if tunable.type == "time":
                bare = tunable.unit or "ns"
                numbers, unit = (lambda text: parse_time_ns(text, bare=bare)), "ns"
            usual = Role.MEASURED if tunable.scope == "job" else None  # a leaf's is everybody's
            role = spec.role if spec.jobs else usual
            return _axis(spec, "engine", numbers, unit, tunable.default, tunable.help, role)
        option = self._option(spec.name, spec.where)
        fio_numbers, unit = _fio_numbers(option, spec.values)
        role = spec.role if spec.jobs else Role.MEASURED
        return _axis(spec, "fio", fio_numbers, unit, option.default, option.help, role)

    def check(self, name: str, text: str, where: str) -> None:
        """SluiceError when the engine or fio has no option `name`, or the engine refuses `text`.
        (What fio refuses, `Fio.check_job` finds, with fio's own words.)"""
        tunable = self._table.tunables.get(name) if self._table else None
        if tunable is None:
            self._option(name, where)
            return
        try:
            tunable.check(text)
        except SluiceError as error:
            raise SluiceError(f"{where}: {error}") from error

    def aliases(self, name: str) -> tuple[str, ...]:
        """Every name under which a job may have set the option already."""
        if self._table and name in self._table.tunables:
            return (name,)
        option = self._fio.option(name)
        return option.aliases if option else (name,)

    @property
    def of_engine(self) -> frozenset[str] | None:
        """Options of the engine that a job may have; None: a library of others, so nobody knows."""
        if self._table:
            return frozenset(self._table.tunables)
        return None if self._engine.startswith("external:") else permitted.BUILT_IN

    def _option(self, name: str, where: str) -> FioOption:
        option = self._fio.option(name)
        if option is None and self._engine in self._fio.engines:
            option = self._fio.option(name, self._engine)
        if option is None:
            engine = "sluice" if self._table else self._engine
            known = list(self._table.tunables) if self._table else []
            hint = (
                near(name, known)
                if len(known) > 16 or not known
                else near(name, known).replace("known:", f"of {engine}:")
            )
            raise SluiceError(
                f"{where}: neither {engine} nor fio {self._fio.version} has an "
                f"option '{name}'{hint}"
            )
        return option


def _knob_axis(spec: AxisSpec) -> Axis:
    numbers: Numbers | None = values.number
    try:
        for text in spec.values:
            values.number(text)
    except ValueError:
        numbers = None
    unit = "bytes" if any(text[-1:].isalpha() for text in spec.values) else ""
    return _axis(spec, "knob", numbers, unit, None, "a knob of the kernel", None)


def _axis(
    spec: AxisSpec,
    scope: str,
    numbers: Numbers | None,
    unit: str,
    default: str | None,
    help_text: str,
    role: Role | None,
) -> Axis:
    numeric = numbers is not None and spec.nominal is not True
    values = tuple(
        Value(text, numbers(text) if numeric and numbers else None) for text in spec.values
    )
    if numeric and numbers:
        seen: dict[float | None, str] = {}
        for value in values:
            if value.number in seen:
                raise SluiceError(
                    f"{spec.where}: '{seen[value.number]}' and '{value.text}' are "
                    "the same value: delete one"
                )
            seen[value.number] = value.text
        default = _same(default, values, numbers)
    return Axis(
        spec.name, values, scope, numeric, unit if numeric else "", default, help_text, role
    )


def _same(default: str | None, values: tuple[Value, ...], numbers: Numbers) -> str | None:
    """The default in the sweep's spelling, when it is among the values (``64M`` = 67108864)."""
    try:
        number = numbers(default) if default else None
    except ValueError:
        return default
    return next((value.text for value in values if value.number == number), default)


def _fio_numbers(option: FioOption, texts: tuple[str, ...]) -> tuple[Numbers | None, str]:
    """How to read the values of one of fio's options as numbers, and their unit; None: names."""
    if not option.numeric:
        return None, ""

    def time_ns(text: str) -> float:
        return parse_time_ns(text, bare="us" if "usec" in option.help else "s")

    numbers: Numbers = time_ns if option.is_time else parse_size
    try:
        for text in texts:
            numbers(text)
    except ValueError:
        return None, ""  # e.g. bs=4k-8k: fio takes it, but it is no point on a line
    if option.is_time:
        return numbers, "ns"
    return numbers, "bytes" if any(text[-1:].isalpha() for text in texts) else ""
