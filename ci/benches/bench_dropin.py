"""drop-in: is sluice in the place of fio's io_uring engine as fast, and as cheap?"""

import argparse

from . import arguments, dropin_plan, plugin, runner, testfile
from .errors import BenchError
from .settings import Settings
from .sides import is_plugin

NAME = "drop-in"
SUMMARY = "fio's io_uring engine against sluice in its place: IOPS, CPU, instructions, memory"

EPILOG = """\
Cases are named iops/randread-d32-j2/all: kind of figure, workload (depth, jobs), arm. Arms: all and
off are sluice with that bypass=; tuned is io_uring with registerfiles=1 fixedbufs=1, without a bar,
since sluice registers by itself. iops/ and null/ are ratios of IOPS (more is better), instr/ and
enter/ ratios of what an I/O takes (less is better), memory/ is MiB above the baseline's peak.

Exit status: 0 every bar met, 1 a run failed, 2 a bar missed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    arguments.add(parser, NAME)
    add = parser.add_argument
    add("--tuned", action="store_true", help="time the tuned arm too (it is always counted)")
    add(
        "--baseline",
        default="io_uring",
        metavar="ENGINE",
        help="default %(default)s; an older plugin will do",
    )


def run(args: argparse.Namespace) -> int:
    settings = arguments.settings_of(args)
    with plugin.held(args.sluice_engine) as sluice, plugin.held(args.baseline) as baseline:
        sections = dropin_plan.sections(settings, baseline.engine, sluice.engine, args.tuned)
        if not sections:
            raise BenchError(f"no case matches {args.case!r} (-h says how cases are named)")
        words = _words(args, settings)
        print("\n".join(words), flush=True)
        head = runner.head_of(
            NAME,
            settings,
            how=words,
            baseline={"engine": args.baseline, "sha256": baseline.sha256},
            sluice={"engine": args.sluice_engine, "sha256": sluice.sha256},
        )
        file = testfile.prepared(settings.path, settings.size)
        return runner.run(sections, file, head, args.json)


HOW = """\
{sluice} against fio's {baseline}
4 KiB O_DIRECT on {path} ({mib} MiB, all written)
both sides run with --thread, as sluice forces it
iops, null: {pairs} ABBA-interleaved pairs of {seconds:g} s, one seed a pair; figure: geometric mean
  of the pairs' ratios, with the interval and the verdict of harness/STATISTICS.md (all of them and
  the A/A pairs are one family, margin 3 %); a bar is missed when the whole interval is below it,
  open when only the figure is; A/A spread: half the 16-84 percentile range of the ratios of
  {baseline} (null: fio's null) to itself
CPU per I/O: ratio of usr + sys of the whole process, start-up taken off
instr: user-space instructions only (callgrind), all threads but fio's main one
enter: io_uring_enter calls under strace, above depth 1 with completions always there
  instr and enter: (X(2N) - X(N)) / N, median of {repeats}; ±: half their range, both sides', which
  is what a bar may be missed by
memory: MiB of peak resident memory above the baseline's"""


def _words(args: argparse.Namespace, settings: Settings) -> list[str]:
    """How the figures came about, for whoever reads the output alone."""
    how = HOW.format(
        sluice=args.sluice_engine,
        baseline=args.baseline,
        mib=settings.size >> 20,
        **vars(settings),
    )
    words = how.splitlines()
    if not is_plugin(args.sluice_engine):
        words.append(f"STAND-IN: {args.sluice_engine} runs in sluice's place; this is not sluice")
    return words
