"""The kernel packages that apt offers, by way of a cache and lists of our own.

The machine's own configuration, keys and package lists are read, never changed: whatever apt writes
here lies in our cache folder. So no root is needed either.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import SluiceError
from sluice.vm import cache

PREFIX = "linux-image-"
_PATTERN = r"^linux-image-[0-9][^ ]*-cloud-amd64$"
_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Package:
    """A package as apt describes it."""

    name: str
    version: str
    sha256: str


def offered() -> list[str]:
    """Names of the kernel packages on offer; none without apt. Meta-packages are left out: the
    kernels that they stand for are on the list themselves."""
    if shutil.which("apt-cache") is None:
        return []
    for lists in (_own_lists(), None):
        said = _apt(["apt-cache", "search", "--names-only", _PATTERN], lists)
        names = [line.split()[0] for line in said.stdout.splitlines() if line.strip()]
        names = [name for name in names if re.search(r"\d\.\d+\.\d", name)]
        if names:
            return names
    return []


def update() -> str:
    """Read the package lists anew, into our cache; what apt complained of."""
    lists = cache.folder("apt", "lists")
    (lists / "partial").mkdir(exist_ok=True)
    done = _apt(["apt-get", "update", "-o", "Acquire::Retries=1"], lists)
    return _complaint(done.stderr + done.stdout)


def download(name: str, into: Path) -> tuple[Package, Path]:
    """Fetch a package; apt checks it against the signed lists. SluiceError in apt's own words."""
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise SluiceError(
                f"{name}: no {tool} here to fetch it: give a kernel of yours with "
                "--kernel VMLINUZ --modules FOLDER"
            )
    complaint = ""
    for attempt in range(2):
        for lists in (_own_lists(), None):
            done = _apt(["apt-get", "download", name], lists, into)
            found = list(into.glob("*.deb"))
            if done.returncode == 0 and found:
                return describe(name, lists), found[0]
            complaint = _complaint(done.stderr) or complaint
        if attempt == 0:
            complaint = update() or complaint
    raise SluiceError(
        f"{name}: apt can't fetch it: {complaint or 'no reason given'}: mend the machine's apt "
        "sources or network, take a cached kernel (`sluice vm list`), or give one with "
        "--kernel VMLINUZ --modules FOLDER"
    )


def describe(name: str, lists: Path | None) -> Package:
    """Version and hash of a package's newest version."""
    said = _apt(["apt-cache", "show", "--no-all-versions", name], lists).stdout
    fields = dict(re.findall(r"^(Version|SHA256): (\S+)", said, re.MULTILINE))
    return Package(name, fields.get("Version", ""), fields.get("SHA256", ""))


def _own_lists() -> Path | None:
    """Our package lists, if they were ever read."""
    lists = cache.folder("apt", "lists")
    return lists if any(lists.glob("*_Packages*")) else None


def _apt(
    command: Sequence[str], lists: Path | None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    own = cache.folder("apt", "cache")
    (own / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    options = [
        "-oAPT::Sandbox::User=root",  # the user that apt drops to may not enter our folders
        f"-oDir::Cache={own}",
        "-oAPT::Update::Pre-Invoke::=",
        "-oAcquire::http::Timeout=30",
        "-oAcquire::https::Timeout=30",
    ]
    if lists is not None:
        options.append(f"-oDir::State::lists={lists}")
    try:
        return subprocess.run(
            [command[0], *options, *command[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            cwd=folder,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SluiceError(
            f"{command[0]} doesn't run ({error}): mend apt, or use --kernel"
        ) from error


def _complaint(text: str) -> str:
    """apt's first error, without its address: a line is for people."""
    errors = [line[2:].strip() for line in text.splitlines() if line.startswith("E:")]
    return errors[0] if errors else ""
