"""Replays a log of dm-log-writes to each of its marks and has a command look at the device.

Runs in a guest (`log-writes check`), with an interpreter that has next to no library. Format of the
log: Linux, drivers/md/dm-log-writes.c, and Documentation/admin-guide/device-mapper/log-writes.rst.
The state is kept in memory, so the command may change the device as it likes.
"""

from __future__ import annotations

import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[int, int], bytes]
    Entry = tuple[int, int, int, bytes, str]

MAGIC, VERSION = 0x6A736677736872, 1
DISCARD, MARK = 1 << 2, 1 << 3
END = "dm-log-writes-end"
"""The mark that the kernel sets when the recording ends."""
CHUNK = 1 << 20


class Broken(Exception):
    """The log can't be replayed; one line says why."""


def entries(read: Read) -> Iterator[Entry]:
    """(offset, size, flags, data, mark) of each entry, in order.

    `read` takes offset and length."""
    magic, version, count, sector = struct.unpack_from("<QQQI", read(0, 512))
    if (magic, version) != (MAGIC, VERSION):
        raise Broken("no log of dm-log-writes on it: record first")
    position = sector
    for _ in range(count):
        head = read(position, sector)
        at, sectors, flags, length = struct.unpack_from("<QQQQ", head)
        position += sector
        if flags & MARK:
            name = head[32 : 32 + length].split(b"\0")[0].decode("utf-8", "replace")
            yield 0, 0, flags, b"", name
            continue
        size = sectors * sector
        data = b""
        if size and not flags & DISCARD:
            data = read(position, size)
            position += size
        yield at * sector, size, flags, data, ""


def states(read: Read, state: bytearray) -> Iterator[str]:
    """Brings `state` (a bytearray of the device's size) to each mark in turn; yields its name."""
    for at, size, flags, data, name in entries(read):
        if flags & MARK:
            yield name
        elif at + size > len(state):
            raise Broken(f"an entry at {at} lies behind the device's end: the devices are swapped?")
        elif size:
            state[at : at + size] = data if data else bytes(size)


def put(device: str, state: bytearray) -> None:
    """Write the whole state to the device, past what caches hold of it."""
    handle = os.open(device, os.O_WRONLY)
    try:
        view = memoryview(state)
        for at in range(0, len(state), CHUNK):
            part = view[at : at + CHUNK]
            while part:
                part = part[os.write(handle, part) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def main(device: str, log: str, *command: str) -> int:
    """Check every mark; 0 when the command found all of them in order."""
    handle = os.open(log, os.O_RDONLY)

    def read(at: int, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = os.pread(handle, size - len(data), at + len(data))
            if not more:
                raise Broken("the log is cut short: its device is too small")
            data += more
        return data

    target = os.open(device, os.O_RDONLY)
    state = bytearray(os.lseek(target, 0, os.SEEK_END))
    os.close(target)
    marks, failed = 0, 0
    for name in states(read, state):
        if name == END:
            continue
        marks += 1
        put(device, state)
        environment = {**os.environ, "MARK": name, "LOGGED": device}
        try:
            pid = os.posix_spawnp(command[0], command, environment)
        except OSError as error:
            raise Broken(f"{command[0]}: {error.strerror}") from error
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(f"mark {name}: {'ok' if code == 0 else f'FAILED ({code})'}", flush=True)
        failed += code != 0
    if not marks:
        raise Broken("the log has no mark: the recorded command has to set some (log-writes mark)")
    print(f"{marks} marks, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Broken as broken:
        sys.exit(f"log-writes: {sys.argv[2]}: {broken}")
    except MemoryError:
        sys.exit("log-writes: the device doesn't fit into the guest's memory: --mem, --nvme-size")
