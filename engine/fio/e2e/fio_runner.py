"""Runs the real fio with the engine and tells what came of it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# SLUICE_PLUGIN: another build of the plugin, e.g. with a sanitizer.
PLUGIN = Path(os.environ.get("SLUICE_PLUGIN", ROOT / "build" / "lib" / "sluice.so")).resolve()
DESCRIBE = ROOT / "build" / "bin" / "sluice-describe"

MIB = 1 << 20
DEVICES = ("auto", "model", "null")
BYPASSES = ("all", "off")
THREADS_NOTE = "sluice: note: jobs run as threads (thread=1), since they share one stack"

Option = Any  # str, int, float, bool or Path
Json = dict[str, Any]


def documents(text: str) -> list[Json]:
    """The JSON documents in fio's output, whatever fio put before and between them."""
    decoder = json.JSONDecoder()
    found: list[Json] = []
    at = 0
    while True:
        start = 0 if at == 0 and text.startswith("{") else text.find("\n{", at) + 1
        if start == 0 and not (at == 0 and text.startswith("{")):
            return found
        document, at = decoder.raw_decode(text, start)
        found.append(document)


@dataclass(frozen=True)
class Run:
    """How one fio ended."""

    argv: Sequence[str]
    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The last JSON document."""
        found = documents(self.out)
        assert found, f"no JSON\n{self}"
        return found[-1]

    @property
    def jobs(self) -> list[Json]:
        """fio's figures, job by job."""
        jobs: list[Json] = self.json["jobs"]
        return jobs

    @property
    def words(self) -> str:
        """All that fio said, on both streams."""
        return self.out + self.err

    def lines(self, *needles: str) -> list[str]:
        """The lines that hold all of the needles."""
        return [line for line in self.words.splitlines() if all(n in line for n in needles)]

    def __str__(self) -> str:
        return f"{shlex.join(self.argv)}\nexit {self.code}\n{self.out[-4000:]}\n{self.err[-4000:]}"


def options(**given: Option) -> list[str]:
    """`--name=value` of each; True is 1."""
    return [f"--{k}={int(v) if isinstance(v, bool) else v}" for k, v in given.items()]


class Fio:
    """fio in a folder of its own. Kills all that it started when a run takes too long."""

    def __init__(self, folder: Path, plugin: Path = PLUGIN) -> None:
        self.folder = folder
        self.plugin = plugin

    @property
    def engine(self) -> str:
        """The value of ioengine=."""
        return f"external:{self.plugin}"

    def start(self, *args: str, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
        """A fio that runs by itself; the caller ends it."""
        return subprocess.Popen(
            [*prefix, "fio", *args],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def raw(
        self, *args: str, ok: bool | None = True, timeout: float = 60, prefix: Sequence[str] = ()
    ) -> Run:
        """Runs fio with these arguments only. ok: must succeed / must fail / either."""
        process = self.start(*args, prefix=prefix)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            hung = Run([*prefix, "fio", *args], -1, out, err)
            raise AssertionError(f"no end within {timeout} s\n{hung}") from None
        run = Run([*prefix, "fio", *args], process.returncode, out, err)
        assert run.code >= 0, f"fio crashed\n{run}"
        if ok is not None:
            assert (run.code == 0) == ok, run
        return run

    def job(
        self,
        *flags: str,
        ok: bool | None = True,
        timeout: float = 60,
        prefix: Sequence[str] = (),
        ioengine: str = "",
        **given: Option,
    ) -> Run:
        """One job through the engine, 4 MiB of a file `F` in 4 KiB blocks unless told otherwise."""
        all_of: dict[str, Option] = {"filename": "F", "size": "4M", "bs": "4k"} | given
        for absent in [name for name, value in all_of.items() if value == ""]:
            del all_of[absent]
        args = ["--output-format=json", *flags, f"--ioengine={ioengine or self.engine}"]
        args += ["--name=a", *options(**all_of)]
        return self.raw(*args, ok=ok, timeout=timeout, prefix=prefix)

    def modes(self, *flags: str, ok: bool | None = True, **given: Option) -> Run:
        """job() twice in one fio, side by side: with bypass=all and with bypass=off."""
        both: dict[str, Option] = {"size": "4M", "bs": "4k"} | given
        for absent in [name for name, value in both.items() if value == ""]:
            del both[absent]
        named = "filename" not in both and "nrfiles" not in both
        args = ["--output-format=json", *flags]
        for mode in BYPASSES:
            args += [f"--name={mode}", f"--ioengine={self.engine}", f"--bypass={mode}"]
            args += options(**both) + ([f"--filename=F.{mode}"] if named else [])
        return self.raw(*args, ok=ok)

    def file(
        self,
        text: str,
        *flags: str,
        ok: bool | None = True,
        timeout: float = 60,
        prefix: Sequence[str] = (),
        **given: Option,
    ) -> Run:
        """A job file; the keywords go before its [global] section's own lines."""
        head = [f"ioengine={self.engine}", *(option[2:] for option in options(**given))]
        path = self.folder / "jobs.fio"
        path.write_text("\n".join(["[global]", *head, text, ""]), encoding="utf-8")
        args = ["--output-format=json", *flags, str(path)]
        return self.raw(*args, ok=ok, timeout=timeout, prefix=prefix)


Runner = Callable[..., Run]


def stats(path: Path) -> Json:
    """What stats_json= wrote."""
    document: Json = json.loads(path.read_text(encoding="utf-8"))
    return document


def class_sums(document: Json, what: str) -> dict[str, int]:
    """A counter of all jobs by class, where it isn't 0."""
    sums: dict[str, int] = {}
    for job in document["jobs"]:
        for name, values in job["classes"].items():
            if values[what]:
                sums[name] = sums.get(name, 0) + int(values[what])
    return sums


def sha256(path: Path) -> str:
    """A file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def blocks(path: Path) -> int:
    """Bytes that a file occupies."""
    return path.stat().st_blocks * 512
