"""What drop-in plans and how a case is judged, with made-up runs in fio's place."""

import argparse

import pytest

from benches import arguments, bench_dropin, dropin_plan, fio, paired_iops, sides
from benches.group import Group
from benches.job import Workload

PLUGIN = "external:/x/sluice.so"


def parsed(*argv):
    parser = argparse.ArgumentParser()
    bench_dropin.add_arguments(parser)
    return parser.parse_args(argv)


def planned(*argv):
    args = parsed(*argv)
    return dropin_plan.sections(arguments.settings_of(args), "io_uring", PLUGIN, args.tuned)


def seconds(sections):
    return sum(step.expected_s for section in sections for step in section.steps())


def test_planned_times():
    assert seconds(planned()) < 20 * 60
    assert seconds(planned("--quick")) < 2 * 60


def test_a_glob_runs_only_what_its_cases_need():
    sections = planned("--case", "iops/randread-d32-j1/all", "--pairs", "2")
    assert [section.name for section in sections] == ["iops"]
    runs = [step.what for step in sections[0].steps() if "pair" in step.what]
    assert [what.split("/")[2].split()[0] for what in runs] == [
        "all",
        "base",
        "again",
        "again",
        "base",
        "all",
    ]
    assert planned("--case", "no-such-case") == []


@pytest.mark.parametrize(
    "glob, names",
    [
        ("instr/*", ["ring set-up", "instructions"]),
        ("enter/*", ["enters"]),
        ("memory/*", ["memory"]),
    ],
)
def test_sections_by_glob(glob, names):
    assert [section.name for section in planned("--case", glob)] == names


def test_sluice_gets_its_options_and_a_stand_in_does_not():
    assert sides.on_file("io_uring", PLUGIN).off.options == ("--bypass=off",)
    assert sides.on_null(PLUGIN).all.options == ("--device=null", "--bypass=all")
    assert sides.on_file("io_uring", "libaio").off.options == ()
    assert sides.on_null("libaio").all.engine == "null"


def run_of(iops, cpu_s=1.0):
    return fio.FioRun(
        ios=1000,
        iops=iops,
        runtime_ms=1000,
        clat_mean_ns=1,
        clat_p50_ns=1,
        clat_p99_ns=1,
        job_cpu_s=cpu_s,
        job_switches=1,
        process_cpu_s=cpu_s,
        process_switches=1,
        peak_rss_kib=None,
        seconds=1,
    )


def judged(monkeypatch, figure_of):
    """The case of `all` with figure_of(engine label, index of the run) in the place of fio."""
    count = iter(range(10000))
    monkeypatch.setattr(fio, "run", lambda job, **_: figure_of(job.arm, next(count)))
    settings = arguments.settings_of(parsed())
    group = Group(
        "iops",
        Workload("randread", 1),
        sides.on_file("io_uring", PLUGIN),
        ("all",),
        dropin_plan.IOPS_BARS,
    )
    section = paired_iops.PairedIops(settings, [group])
    for step in section.steps():
        step.action()
    return section.cases()[0]


def test_a_drift_of_the_machine_favours_nobody(monkeypatch):
    case = judged(monkeypatch, lambda arm, index: run_of(100 * (1 + 0.01 * index)))
    assert case.figure == pytest.approx(1, abs=0.011)


def test_a_slower_sluice_misses_and_cpu_is_told(monkeypatch):
    def figure(arm, _):
        return run_of(90, 1.2) if arm.name == "all" else run_of(100, 1.0)

    case = judged(monkeypatch, figure)
    assert case.figure == pytest.approx(0.9)
    assert case.verdict == "MISSED"
    assert case.said == "regressed"
    assert case.interval == pytest.approx((0.9, 0.9), abs=1e-4)
    assert case.aa_spread == 0


def test_start_up_is_taken_off_the_cpu(monkeypatch):
    def figure(arm, index):
        startup = index < 6
        return run_of(100, 0.5 if startup else (2.5 if arm.name == "all" else 1.5))

    assert judged(monkeypatch, figure).cpu_ratio == pytest.approx(2)
