"""The benches behind ci/bench.

Every module named `bench_*.py` here is one subcommand. It has NAME, SUMMARY,
`add_arguments(parser)` and `run(args)`, which returns the exit status; a new bench is a new file,
nothing else has to know of it. The rest are the parts that benches share: running fio (`job`,
`fio`, `process`), the order of runs (`blocks`), sections of cases (`step`, `group`, `paired_iops`,
`per_io_counts`, `memory`), the judging (`ratios`, `verdict`), counting (`callgrind`, `enters`), the
file that is read and written (`testfile`), and what is printed and stored (`progress`, `report`).
Standard library only, and the harness's statistics.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "harness"))
