"""What queue-tax plans and which bars hold, with made-up runs in fio's place."""

import argparse

import pytest

from benches import arguments, bench_queue_tax, fio, paired_iops, queue_tax_plan

PLUGIN = "external:/x/sluice.so"


def planned(*argv):
    parser = argparse.ArgumentParser()
    bench_queue_tax.add_arguments(parser)
    return queue_tax_plan.sections(arguments.settings_of(parser.parse_args(argv)), PLUGIN)


def test_each_limit_runs_with_one_two_and_four_jobs():
    iops, counted = planned()
    names = {group.name for group in iops._groups}
    assert len(names) == 9
    assert "tax/bind/randread-d32-j4" in names
    assert {group.name for group in counted._groups} == {
        "instr/above/randread-d32-j1",
        "instr/bind/randread-d32-j1",
        "instr/mixed/randrw-d32-j1",
    }


def test_the_arms_differ_in_the_queue_alone():
    (iops,) = planned("--case", "tax/bind/randread-d32-j2/*")
    sides = iops._groups[0].sides
    assert set(sides["fast"].options) ^ set(sides["classic"].options) == {
        "--queue=fast",
        "--queue=classic",
    }
    assert "--bypass=all" in sides["base"].options


@pytest.mark.parametrize(("kept", "verdict"), [(0.95, "ok"), (0.5, "MISSED")])
def test_a_queue_that_costs_too_much_misses_its_bar(monkeypatch, kept, verdict):
    def run(job):
        share = kept if "--queue=fast" in job.arm.options else 1.0
        # A little scatter, or nothing could be judged.
        iops = 1e6 * share * (1 + job.seed % 7 / 1000)
        return fio.FioRun(
            ios=1000,
            iops=iops,
            runtime_ms=1000,
            clat_mean_ns=0.0,
            clat_p50_ns=0.0,
            clat_p99_ns=0.0,
            job_cpu_s=1.0,
            job_switches=0,
            process_cpu_s=1.0,
            process_switches=0,
            peak_rss_kib=None,
            seconds=1.0,
        )

    monkeypatch.setattr(paired_iops.fio, "run", run)
    (iops,) = planned("--case", "tax/above/randread-d32-j2/fast")
    for step in iops.steps():
        step.action()
    (case,) = iops.cases()
    assert case.bar == 0.90
    assert case.verdict == verdict
