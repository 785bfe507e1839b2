"""null_blk devices: which attributes they have, and how they are written on the command line.

Attributes are those of the kernel's configfs interface (Documentation/block/null_blk.rst). Which of
them a kernel has, only that kernel knows: the guest says so when it sets them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sluice.errors import SluiceError, near

_NAMES = """
bad_blocks badblocks_once badblocks_partial_io blocking blocksize cache_size completion_nsec
discard fua home_node hw_queue_depth irqmode max_sectors mbps memory_backed no_sched poll_queues
queue_mode rotational shared_tag_bitmap shared_tags size submit_queues use_per_node_hctx
virt_boundary zone_append_max_sectors zone_capacity zone_full zone_max_active zone_max_open
zone_nr_conv zone_offline zone_readonly zone_size zoned
"""
ATTRIBUTES = frozenset(_NAMES.split())
_TEXT = frozenset({"bad_blocks", "zone_offline", "zone_readonly"})
DEFAULTS = {"size": "1024", "irqmode": "0", "queue_mode": "2"}
"""The kernel's own sizes are odd (250 GB); irqmode=0 completes in line, so that a run costs
instructions and no waiting."""


@dataclass(frozen=True, slots=True)
class NullBlk:
    """One device. Values are the texts that the kernel is given; ``size`` in MiB,
    ``completion_nsec`` in ns, ``blocksize`` in bytes."""

    attributes: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The value of an attribute; '0' when it isn't set (the kernel's default of most)."""
        return dict(self.attributes).get(name, "0")

    @property
    def polled(self) -> bool:
        """Whether it has poll queues."""
        return self.get("poll_queues") != "0"


def parse(text: str) -> NullBlk:
    """``irqmode=2,completion_nsec=10000,poll_queues=1``; an empty text is a device with defaults.
    SluiceError names the attribute."""
    given: dict[str, str] = {}
    for piece in filter(None, text.split(",")):
        name, equals, value = piece.partition("=")
        if name not in ATTRIBUTES:
            raise SluiceError(f"--null-blk {text}: no attribute '{name}'{near(name, ATTRIBUTES)}")
        fits = re.fullmatch(r"[\w+-]+" if name in _TEXT else r"\d+", value)
        if not equals or not fits:
            raise SluiceError(f"--null-blk {text}: {piece}: write {name}=NUMBER")
        given[name] = value
    return NullBlk(tuple(sorted((DEFAULTS | given).items())))
