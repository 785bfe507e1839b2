"""Questions to the fio that is installed: its release, its engines, its options, a job's syntax.

Everything is asked of fio itself (``--version``, ``--enghelp``, ``--cmdhelp``, ``--parse-only``),
so a check agrees with what a run would do, in this release and in the next.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from sluice.errors import SluiceError

_COMPLAINT = re.compile(
    r"out of range|failed parsing|bad option|not within|bad float|too large", re.IGNORECASE
)
_FIELD = re.compile(r"^\s*(?P<key>alias|type|default|range|valid values|min|max):\s*(?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class FioOption:
    """What fio says about one of its options."""

    name: str
    type: str
    """fio's words, e.g. ``integer value (opt=100)``."""
    default: str | None
    values: tuple[str, ...]
    help: str
    aliases: tuple[str, ...] = ()
    """Every name of the option, its proper one first."""

    @property
    def numeric(self) -> bool:
        """Whether its values are points on a line (booleans are names: on and off)."""
        kind = self.type.split("(")[0]
        return (
            any(word in kind for word in ("integer", "float", "time", "double")) and not self.values
        )

    @property
    def is_time(self) -> bool:
        """Whether a bare number is a time."""
        return "time" in self.type


class Fio:
    """One fio program."""

    def __init__(self, program: str = "fio") -> None:
        """SluiceError when there is no such program."""
        found = shutil.which(program)
        if found is None:
            raise SluiceError(
                f"fio: no program '{program}' on PATH: install it "
                "(Debian: apt install fio), or name one with --fio PATH"
            )
        self.program = str(Path(found).absolute())

    @cached_property
    def version(self) -> str:
        """Release without the word fio, e.g. ``3.33``. SluiceError when it isn't fio."""
        text = self._ask("--version").strip()
        match = re.fullmatch(r"fio-(\d+\.\S+)", text.splitlines()[-1] if text else "")
        if match is None:
            raise SluiceError(
                f"{self.program}: answers '{text[:60]}' to --version, which is no "
                "fio 3: name the right program with --fio PATH"
            )
        return match[1]

    def require(self, wanted: str) -> None:
        """SluiceError unless the release is `wanted` (``3.33`` also takes ``3.33-dirty``)."""
        if self.version != wanted and not self.version.startswith(wanted + "-"):
            raise SluiceError(
                f"fio: {self.program} is {self.version}, the sweep asks for {wanted}: "
                "install that release, name it with --fio, or change 'fio'"
            )

    @cached_property
    def engines(self) -> frozenset[str]:
        """Names of the built-in engines."""
        lines = self._ask("--enghelp").splitlines()
        return frozenset(line.strip() for line in lines if line.startswith(("\t", " ")))

    @lru_cache(maxsize=256)  # noqa: B019  one Fio lives as long as the process
    def option(self, name: str, engine: str = "") -> FioOption | None:
        """What fio knows about `name`, of fio itself or of a built-in engine; None: no such
        option."""
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            return None
        text = self._ask(f"--enghelp={engine},{name}" if engine else f"--cmdhelp={name}")
        return parse_option(name, text)

    def check_job(self, text: str, folder: Path | None = None) -> list[str]:
        """fio's complaints about a job; empty when it takes it. Runs nothing, opens no file."""
        with tempfile.TemporaryDirectory(prefix="sluice-check-") as scratch:
            job = Path(scratch) / "job.fio"
            job.write_text(text, encoding="utf-8")
            done = self._call(["--parse-only", str(job)], folder or Path(scratch))
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines()]
        words = [line for line in lines if line and not line.startswith("fio: job ")]
        if done.returncode:
            return words or [f"exit code {done.returncode}"]
        # 3.33 says "min value out of range", ignores the option, and ends with 0.
        return [line for line in words if _COMPLAINT.search(line)]

    def check_engine(self, library: Path) -> str:
        """Why fio can't load an external engine, in its own words; '' when it can.

        ``--parse-only`` passes over a library that doesn't load, and ``--enghelp`` says no more
        than "not loadable", so this lays out a file of 4 KiB with it in a scratch folder."""
        with tempfile.TemporaryDirectory(prefix="sluice-check-") as scratch:
            done = self._call(
                [
                    "--name=probe",
                    f"--ioengine=external:{library}",
                    "--size=4k",
                    "--filename=probe",
                    "--create_only=1",
                ],
                Path(scratch),
            )
        words = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        return "" if done.returncode == 0 else (words or [f"exit code {done.returncode}"])[0]

    def _ask(self, *arguments: str) -> str:
        done = self._call(list(arguments), None)
        return done.stdout + done.stderr

    def _call(
        self, arguments: Sequence[str], folder: Path | None
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [self.program, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=30,
                check=False,
                cwd=folder,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise SluiceError(
                f"{self.program}: doesn't run ({error}): name a working fio with --fio PATH"
            ) from error


def parse_option(name: str, text: str) -> FioOption | None:
    """Read the answer to ``--cmdhelp=NAME`` or ``--enghelp=ENGINE,NAME``."""
    fields: dict[str, str] = {}
    values: list[str] = []
    proper, summary, current = name, "", ""
    for line in text.splitlines():
        match = _FIELD.match(line)
        if match:
            current = match["key"]
            fields[current] = match["rest"].strip()
        elif not fields and ":" in line:
            proper, summary = (part.strip() for part in line.split(":", 1))
        elif current == "valid values" and line.strip().startswith(":"):
            values.append(line.strip(" :\t"))
    if "type" not in fields:
        return None
    if "valid values" in fields:
        values.insert(0, fields["valid values"])
    default = fields.get("default")
    names = {proper: None, fields.get("alias", proper): None, name: None}
    return FioOption(
        name=name,
        type=fields["type"],
        default=None if default in (None, "no default", "") else default,
        values=tuple(value.split()[0] for value in values if value.split()),
        help=summary,
        aliases=tuple(names),
    )
