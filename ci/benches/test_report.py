import json

from benches import report
from benches.verdict import Case

CASES = [
    Case(
        "iops/x/all",
        0.95,
        0.01,
        1.0,
        True,
        aa_spread=0.02,
        cpu_ratio=1.1,
        interval=(0.93, 0.97),
        said="regressed",
        note="a -> b",
    ),
    Case("memory/x/all", 1.5, 0.1, 8.0, False, 0.0, unit="MiB"),
]


def test_one_line_a_case():
    lines = report.table(CASES).splitlines()
    assert len(lines) == 3
    assert lines[1].split() == [
        "iops/x/all",
        "0.950",
        "[0.930,",
        "0.970]",
        "regressed",
        "±0.020",
        "1.100",
        ">=",
        "1.000",
        "MISSED",
        "a",
        "->",
        "b",
    ]
    assert "+1.50 MiB" in lines[2] and "<= 8.000" in lines[2]
    assert report.summary(CASES) == "1 of 2 bars met"


def test_stored_with_verdicts_and_raw_values(tmp_path):
    path = tmp_path / "deep" / "out.json"
    report.stored(path, {"bench": "x"}, CASES, {"iops": [{"iops": 5}]})
    document = json.loads(path.read_text())
    assert document["cases"][0]["verdict"] == "MISSED"
    assert document["raw"] == {"iops": [{"iops": 5}]}
