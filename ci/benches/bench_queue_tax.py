"""queue-tax: what passing the queue costs, against bypassing it."""

import argparse

from . import arguments, plugin, queue_tax_plan, runner, testfile
from .errors import BenchError

NAME = "queue-tax"
SUMMARY = "queue=fast and queue=classic against bypass=all, on the null device: the queue's price"

EPILOG = """\
Cases are named tax/above/randread-d32-j2/fast: kind of figure, limits, workload (depth, jobs), arm.
Limits: above never bind; bind lets 16 I/Os go at once; mixed lets 8 reads and 8 writes go. tax/ are
ratios of IOPS to bypass=all (more is better), instr/ of instructions per I/O (less is better). More
jobs than processors measure the scheduler too.

Exit status: 0 every bar met, 1 a run failed, 2 a bar missed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add(parser, NAME)
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


HOW = """\
{engine} on its null device, which completes at the next poll: no I/O, so what is left is the path
both sides run with --thread, depth {depth} a job, on one leaf
tax: {pairs} ABBA-interleaved pairs of {seconds:g} s, one seed a pair; judged as
  harness/STATISTICS.md says; A/A: bypass=all against itself
instr: user-space instructions only (callgrind), (X(2N) - X(N)) / N, median of {repeats}"""


def run(args: argparse.Namespace) -> int:
    settings = arguments.settings_of(args)
    with plugin.held(args.sluice_engine) as engine:
        sections = queue_tax_plan.sections(settings, engine.engine)
        if not sections:
            raise BenchError(f"no case matches {args.case!r} (-h says how cases are named)")
        words = HOW.format(
            engine=args.sluice_engine, depth=queue_tax_plan.DEPTH, **vars(settings)
        ).splitlines()
        print("\n".join(words), flush=True)
        head = runner.head_of(
            NAME,
            settings,
            how=words,
            sluice={"engine": args.sluice_engine, "sha256": engine.sha256},
        )
        # Never opened: the null device has no file. But fio wants a size and a name.
        file = testfile.prepared(settings.path, settings.size)
        return runner.run(sections, file, head, args.json)
