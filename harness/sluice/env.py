"""What the machine is, as flat text: taken before and after each session of runs.

Only facts that change results or tell two machines apart. A fact that can't be read is left out;
guessing would be worse than not knowing. What a difference means, `fingerprint` knows. Keys that
begin with ``now.`` differ from one moment to the next by nature.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import resource
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from sluice import __version__, block
from sluice.fiocli import Fio
from sluice.model import Environment

_SYSCTLS = (
    "vm.dirty_ratio",
    "vm.dirty_background_ratio",
    "vm.swappiness",
    "vm.dirty_bytes",
    "vm.dirty_background_bytes",
    "kernel.numa_balancing",
    "kernel.nmi_watchdog",
    "kernel.io_uring_disabled",
    "kernel.perf_event_paranoid",
)


def capture(
    when: str,
    fio: Fio,
    target: Path,
    plugin: Path | None,
    commit: str = "",
    more: Mapping[str, str] | None = None,
) -> Environment:
    """The machine now. `target` is what the jobs work on; `plugin` the engine's library, if the
    sweep loads one, and `commit` what it was built from, if that is known; `more` are facts that
    the caller knows (of the job, of the tuning)."""
    values: dict[str, str] = {}
    for source in (
        _machine(),
        cpu_facts(),
        _kernel(),
        _interrupts(),
        _limits(),
        _tools(fio, plugin, commit),
        block.facts(target),
        _load(),
        (more or {}).items(),
    ):
        values |= {key: text for key, text in source if text}
    return Environment(when, time.time(), dict(sorted(values.items())))


def with_more(taken: Environment, more: Mapping[str, str]) -> Environment:
    """The same moment with facts that somebody else knows."""
    return Environment(taken.when, taken.taken_at, dict(sorted({**taken.values, **more}.items())))


def read(path: str | Path) -> str:
    """A small file's text without the line end; '' when it can't be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip().strip("\0")
    except OSError:
        return ""


def virtual() -> str:
    """What this machine runs under, e.g. ``kvm``, ``docker``; ``none`` on bare metal; '' unknown.

    systemd's detection when it is there, else the CPU's hypervisor bit and the DMI strings."""
    said = ask("systemd-detect-virt")
    if said:
        return said.splitlines()[0]
    if " hypervisor" in f" {_cpuinfo('flags')} ":
        vendor = read("/sys/class/dmi/id/sys_vendor")
        return vendor.split()[0].lower() if vendor else "hypervisor"
    return "" if platform.machine() != "x86_64" else "none"


def ask(*command: str) -> str:
    """What a program says on stdout, whatever its exit code; '' when it isn't there or hangs."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def governors() -> list[str]:
    """The frequency governors in use; empty when the kernel sets no frequency here."""
    found = {
        read(path)
        for path in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    }
    return sorted(found - {""})


def idle_states() -> list[str]:
    """The idle states that the first processor may enter; empty when the kernel has none here."""
    states = sorted(Path("/sys/devices/system/cpu/cpu0/cpuidle").glob("state[0-9]*"))
    return [read(one / "name") for one in states if read(one / "disable") in ("", "0")]


def process_of(name: str) -> int | None:
    """The id of a process of that name, if one runs."""
    for folder in Path("/proc").glob("[0-9]*"):
        if read(folder / "comm") == name:
            return int(folder.name)
    return None


def file_hash(path: Path) -> str:
    """First 16 hex digits of a file's SHA-256; '' when it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def _machine() -> Iterator[tuple[str, str]]:
    # Hashed: it only has to tell machines apart, and reports are passed on.
    identity = read("/etc/machine-id")
    yield "machine.id", hashlib.sha256(identity.encode()).hexdigest()[:12] if identity else ""
    yield "machine.virtual", virtual()
    yield "machine.product", read("/sys/class/dmi/id/product_name")
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            yield "machine.memory", f"{int(line.split()[1]) // 1024} MiB"


def cpu_facts() -> Iterator[tuple[str, str]]:
    """What the processors are and how they are set."""
    cpu = Path("/sys/devices/system/cpu")
    yield "cpu.model", _cpuinfo("model name")
    yield "cpu.count", str(os.cpu_count() or "")
    yield "cpu.allowed", str(len(os.sched_getaffinity(0)))
    yield "cpu.affinity", _status("Cpus_allowed_list")
    yield "cpu.numa_nodes", read("/sys/devices/system/node/online")
    yield "cpu.microcode", _cpuinfo("microcode")
    yield "cpu.governor", ",".join(governors())
    yield "cpu.smt", read(cpu / "smt/control")
    no_turbo = read(cpu / "intel_pstate/no_turbo")
    boost = read(cpu / "cpufreq/boost")
    turbo = {"0": "on", "1": "off"}.get(no_turbo) or {"1": "on", "0": "off"}.get(boost)
    yield "cpu.turbo", turbo or ""
    yield "cpu.idle_states", ",".join(idle_states())
    vulnerabilities = sorted((cpu / "vulnerabilities").glob("*"))
    text = "; ".join(f"{path.name}: {read(path)}" for path in vulnerabilities)
    yield "cpu.mitigations", hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


def _kernel() -> Iterator[tuple[str, str]]:
    yield "kernel.release", platform.release()
    yield "kernel.version", platform.version()
    yield "kernel.config", _kernel_config()
    yield "kernel.cmdline", read("/proc/cmdline")
    yield (
        "kernel.clocksource",
        read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    )
    yield "kernel.thp", read("/sys/kernel/mm/transparent_hugepage/enabled")
    yield "boot.id", read("/proc/sys/kernel/random/boot_id")
    for name in _SYSCTLS:
        yield f"sysctl.{name}", read(f"/proc/sys/{name.replace('.', '/')}")


def _kernel_config() -> str:
    """A hash of the options that the kernel was built with."""
    try:
        with gzip.open("/proc/config.gz") as file:
            text = file.read()
    except (OSError, EOFError):
        text = read(f"/boot/config-{platform.release()}").encode()
    options = sorted(line for line in text.splitlines() if line.startswith(b"CONFIG_"))
    return hashlib.sha256(b"\n".join(options)).hexdigest()[:12] if options else ""


def _interrupts() -> Iterator[tuple[str, str]]:
    """Which processors take which interrupt, as a hash: somebody who moves them moves figures."""
    layout = [
        f"{folder.name} {read(folder / 'smp_affinity_list')}"
        for folder in sorted(Path("/proc/irq").glob("[0-9]*"))
    ]
    yield (
        "irq.layout",
        hashlib.sha256("\n".join(layout).encode()).hexdigest()[:12] if layout else "",
    )
    yield "irq.balance", "running" if process_of("irqbalance") else "not running"


def _limits() -> Iterator[tuple[str, str]]:
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    yield "limit.memlock", "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
    yield "limit.cpu.max", read("/sys/fs/cgroup/cpu.max")
    yield "limit.io.max", read("/sys/fs/cgroup/io.max")


def _tools(fio: Fio, plugin: Path | None, commit: str) -> Iterator[tuple[str, str]]:
    yield "harness.version", __version__
    yield "python.version", platform.python_version()
    yield "fio.version", fio.version
    yield "fio.sha256", file_hash(Path(fio.program))
    if plugin is not None:
        yield "engine.sha256", file_hash(plugin)
        yield "engine.commit", commit


def _load() -> Iterator[tuple[str, str]]:
    """What else was going on; differs from one moment to the next by nature."""
    yield "now.load", read("/proc/loadavg").rsplit(" ", 2)[0]
    for path in sorted(Path("/sys/class/thermal").glob("thermal_zone*/temp")):
        text = read(path)
        if text.lstrip("-").isdigit():  # a zone that is switched off can't be read
            yield f"now.temperature.{path.parent.name}", f"{int(text) / 1000:.1f}"


def _status(key: str) -> str:
    """A line of what the kernel says about this process, whose children inherit it."""
    for line in read("/proc/self/status").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return value.strip()
    return ""


def _cpuinfo(key: str) -> str:
    for line in read("/proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
