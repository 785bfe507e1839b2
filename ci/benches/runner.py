"""What every bench does with its sections: run the steps, judge the cases, print and store."""

import shutil
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import environment, report
from .errors import BenchError
from .progress import Progress
from .settings import Settings
from .step import Section
from .verdict import MISSED

ROOT = Path(__file__).resolve().parents[2]


def head_of(bench: str, settings: Settings, **more: Any) -> dict[str, Any]:
    """The head of the JSON. Taken before the first run: the load average is then the machine's."""
    plain = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in asdict(settings).items()
    }
    return {
        "bench": bench,
        "environment": environment.described(ROOT, settings.path),
        "settings": plain,
        **more,
    }


def run(
    sections: list[Section],
    prepared: AbstractContextManager[Any],
    head: dict[str, Any],
    json_path: Path,
) -> int:
    """Runs every step within `prepared`; returns the exit status."""
    _check_tools({"fio", *(tool for section in sections for tool in section.tools)})
    steps = [step for section in sections for step in section.steps()]
    progress = Progress(sum(step.expected_s for step in steps), len(steps))
    try:
        with prepared:
            for step in steps:
                progress.step(step.what, step.expected_s)
                step.action()
    finally:
        progress.done()
    cases = [case for section in sections for case in section.cases()]
    notes = [note for section in sections for note in section.notes()]
    raw = {section.name: section.raw() for section in sections}
    report.stored(json_path, {**head, "notes": notes}, cases, raw)
    print(report.table(cases), *notes, sep="\n")
    print(f"{report.summary(cases)}; raw values: {json_path}")
    return 2 if any(case.verdict == MISSED for case in cases) else 0


def _check_tools(names: set[str]) -> None:
    """Now, and not after ten minutes of other runs."""
    missing = sorted(name for name in names if not shutil.which(name))
    if missing:
        raise BenchError(f"not installed: {', '.join(missing)} (ci/setup bench installs them)")
