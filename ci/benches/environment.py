"""What the figures depend on and a reader of the JSON will ask for."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def described(root: Path, file: Path) -> dict:
    folder = next(parent for parent in file.parents if parent.exists())
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _said("git", "-C", str(root), "describe", "--always", "--dirty"),
        "fio": _said("fio", "--version"),
        "valgrind": _said("valgrind", "--version"),
        "kernel": platform.release(),
        "cpu": _first(r"model name\s*: (.*)", Path("/proc/cpuinfo")),
        "cpus": os.cpu_count(),
        "virtual": "hypervisor" in _first(r"flags\s*: (.*)", Path("/proc/cpuinfo")).split(),
        "governor": _first(r"(.*)", Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "load_average": os.getloadavg(),
        "file_system": _said("stat", "-f", "-c", "%T", str(folder)),
        "device": _said("findmnt", "-n", "-o", "SOURCE", "--target", str(folder)),
    }


def _said(*argv: str) -> str:
    try:
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=10, check=False
        ).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _first(pattern: str, path: Path) -> str:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return ""
    return found[1] if found else ""
