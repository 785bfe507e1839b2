"""The axis ``engine``: other builds of the engine, or other engines, interleaved in one campaign.

Two builds that are measured on two days differ by the day too; here each block holds both. Every
library is copied to the store when the campaign begins and used to its end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sluice import env, snapshot
from sluice.describe import STATS_OPTIONS
from sluice.errors import SluiceError
from sluice.fiocli import Fio
from sluice.model import Axis, Value
from sluice.sweepspec import AxisSpec

__all__ = ["AXIS", "SCOPE", "Build", "asked", "axis", "facts", "kept", "labels", "resolve"]

AXIS = "engine"
"""Name of the axis."""
SCOPE = "build"
EXTERNAL = "external:"


@dataclass(frozen=True, slots=True)
class Build:
    """One value of the axis."""

    argument: str
    """What stands behind ``ioengine=``."""
    own: bool
    """Whether it is this project's engine, of whatever age."""

    @property
    def library(self) -> Path | None:
        """The file that fio loads, if any."""
        if self.argument.startswith(EXTERNAL):
            return Path(self.argument.removeprefix(EXTERNAL))
        return None


def labels(engines: list[str], where: str) -> dict[str, str]:
    """A short name for each engine, fit for the name of a cell: of a library its file's name.
    SluiceError when two have the same."""
    found: dict[str, str] = {}
    for engine in engines:
        label = Path(engine).name if engine.startswith(EXTERNAL) else engine
        if label in found:
            raise SluiceError(
                f"{where}: '{found[label]}' and '{engine}' would both be called '{label}': name "
                f"them, e.g. values = {{ old = '{found[label]}', new = '{engine}' }}"
            )
        found[label] = engine
    return found


def axis(spec: AxisSpec) -> Axis:
    """The axis. Its first value is what the others are compared with."""
    return Axis(
        AXIS,
        tuple(Value(text) for text in spec.values),
        SCOPE,
        numeric=False,
        help="Which engine, or which build of it.",
    )


def resolve(spec: AxisSpec, find: Callable[[str], tuple[str, bool]]) -> dict[str, Build]:
    """The builds of an axis by label. `find`: an engine's ``ioengine=``, and whether it is known to
    be this project's (SluiceError when there is no such engine)."""
    pairs = zip(spec.values, spec.engines, strict=True)
    return {label: Build(*find(engine)) for label, engine in pairs}


def asked(builds: Mapping[str, Build], fio: Fio) -> dict[str, Build]:
    """The same, with libraries of other names asked whether they are builds of this project's: an
    older one may be called anything."""
    found = {}
    for label, build in builds.items():
        own = build.own
        if build.library is not None and not own:
            own = any(fio.option(name, str(build.library)) for name in STATS_OPTIONS)
        found[label] = dataclasses.replace(build, own=own)
    return found


def kept(
    builds: Mapping[str, Build], store: Path, known: Mapping[str, str] | None = None
) -> dict[str, Build]:
    """The same from the copies in the store, which are made; or, for a campaign that goes on, those
    that its environment `known` has."""
    found = {}
    for label, build in builds.items():
        if build.library is None:
            found[label] = build
            continue
        if known is None:
            copy = snapshot.keep(build.library, store)
        else:
            copy = snapshot.find(known.get(_key(label), ""), store)
            if not copy.is_file():
                copy = build.library
        found[label] = dataclasses.replace(build, argument=f"{EXTERNAL}{copy}")
    return found


def facts(builds: Mapping[str, Build]) -> Iterator[tuple[str, str]]:
    """Which builds they are, for the environment."""
    for label, build in builds.items():
        if build.library is not None:
            yield _key(label), env.file_hash(build.library)


def _key(label: str) -> str:
    return f"engine.{label}.sha256"
