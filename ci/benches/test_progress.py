import io

from benches.progress import Progress


def test_eta_follows_the_pace():
    now = [0.0]
    stream = io.StringIO()
    progress = Progress(100, 2, stream, clock=lambda: now[0])
    progress.step("first", 50)
    now[0] = 100.0  # twice as slow as planned
    progress.step("second", 50)
    assert stream.getvalue() == "[1/2] first  ETA 1m40s\n[2/2] second  ETA 1m40s\n"


def test_a_log_is_not_flooded():
    stream = io.StringIO()
    progress = Progress(10, 100, stream, clock=lambda: 0.0)
    for index in range(100):
        progress.step(str(index), 0.1)
    assert stream.getvalue().count("\n") == 1
