"""fio job files as text: parsed, changed, written back. Knows the grammar, not the options.

Grammar (fio's HOWTO, "Job file format"): ``[section]``, ``key=value`` or a bare key, comments
behind ``;`` or ``#``, also behind a value. Options of ``[global]`` hold for the sections below
it; a later line wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from sluice.errors import SluiceError

GLOBAL = "global"
_COMMENT = re.compile("[;#]")


@dataclass(slots=True)
class Section:
    """One ``[name]`` with its options in order; a bare key has the value ''."""

    name: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class JobFile:
    """A parsed job file. A second ``[global]`` stays where it is: it only holds for what
    follows."""

    sections: list[Section] = field(default_factory=list)

    @property
    def jobs(self) -> list[Section]:
        """The sections that run."""
        return [section for section in self.sections if section.name != GLOBAL]

    def effective(self, job: Section) -> dict[str, str]:
        """The options of a job with those of the global sections above it."""
        merged: dict[str, str] = {}
        for section in self.sections:
            if section is job:
                break
            if section.name == GLOBAL:
                merged |= section.options
        return merged | job.options

    def remove(self, *names: str) -> bool:
        """Take options out of every section; whether any was there."""
        found = False
        for section in self.sections:
            for name in names:
                found = section.options.pop(name, None) is not None or found
        return found

    def flattened(self) -> JobFile:
        """The same jobs with every global option copied into them, so that a job can be moved into
        another file without changing what it means."""
        return JobFile([Section(job.name, self.effective(job)) for job in self.jobs])

    def render(self) -> str:
        """The text that fio reads."""
        parts = []
        for section in self.sections:
            lines = [f"[{section.name}]"]
            lines += [f"{key}={value}" if value else key for key, value in section.options.items()]
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"


def parse(text: str, origin: str = "job") -> JobFile:
    """Parse a job file. SluiceError names `origin` and the line."""
    job = JobFile()
    for number, line in enumerate(text.splitlines(), 1):
        bare = _COMMENT.split(line, maxsplit=1)[0].strip()
        if not bare:
            continue
        if bare.startswith("["):
            if not bare.endswith("]") or len(bare) < 3:
                raise SluiceError(f"{origin}:{number}: '{bare}' is no section: write [name]")
            job.sections.append(Section(bare[1:-1].strip()))
            continue
        if bare.startswith("include"):  # what fio asks; no option begins so
            raise SluiceError(
                f"{origin}:{number}: include isn't supported in a sweep's job, "
                "because the store keeps the whole job: paste the file's text"
            )
        if not job.sections:
            raise SluiceError(
                f"{origin}:{number}: '{bare}' stands before any section: put [global] above it"
            )
        key, _, value = bare.partition("=")
        section = job.sections[-1].options
        section.pop(key.strip(), None)
        section[key.strip()] = value.strip()
    if not job.jobs:
        raise SluiceError(f"{origin}: no job in it: add a section such as [reader]")
    return job


def read(path: Path) -> JobFile:
    """Parse a job file from disk."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise SluiceError(f"{path}: no text file ({error.reason})") from error
    except OSError as error:
        raise SluiceError(
            f"{path}: can't be read ({error.strerror}): "
            "check the path, which is relative to the sweep file"
        ) from error
