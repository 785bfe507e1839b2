"""What a guest's console tells about a kernel that broke."""

from __future__ import annotations

import re

_BROKEN = re.compile(
    r"Kernel panic - not syncing.*|Oops: .*|BUG: .*|kernel BUG at .*|general protection fault.*|"
    r"Out of memory and no killable processes.*|"
    r"Unable to handle kernel .*"
)
_STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
_MAX_LINES = 60


def text(raw: bytes) -> str:
    """The console as lines that a person can read: without terminal codes."""
    plain = re.sub(rb"\x1b(\[[0-9;?]*[A-Za-z]|[c()].?)|\r|\0", b"", raw)
    return plain.decode("utf-8", "replace")


def crash(console: str) -> str:
    """The kernel's own words on why it broke; '' when it didn't say that it did."""
    found = _BROKEN.search(console)
    return found[0].strip() if found else ""


def trace(console: str) -> str:
    """The lines from the crash on, without time stamps."""
    lines = [_STAMP.sub("", line) for line in console.splitlines()]
    for number, line in enumerate(lines):
        if _BROKEN.search(line):
            return "\n".join(lines[number : number + _MAX_LINES])
    return ""


def where(trace_text: str) -> str:
    """The function in which it happened, from ``RIP: 0010:name+0x12/0x34``; '' when unknown."""
    found = re.search(r"RIP: \w+:(\S+)\+0x", trace_text)
    return found[1] if found else ""


def tail(console: str, lines: int = 15) -> str:
    """The last lines, for a guest that failed without a word."""
    return "\n".join([line for line in console.splitlines() if line.strip()][-lines:])
