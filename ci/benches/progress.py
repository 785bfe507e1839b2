"""One line on stderr that says what runs and how long it will take still."""

import sys
import time


class Progress:
    """Steps have expected durations; the ETA scales what is left by how the past compared."""

    def __init__(self, expected_s: float, steps: int, stream=sys.stderr, clock=time.monotonic):
        self._left_s = expected_s
        self._steps = steps
        self._step = 0
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._spent_expected_s = 0.0
        self._printed_at = float("-inf")
        self._width = 0

    def step(self, what: str, expected_s: float) -> None:
        """Call before each step begins."""
        self._step += 1
        text = f"[{self._step}/{self._steps}] {what}  ETA {self._eta()}"
        self._left_s -= expected_s
        self._spent_expected_s += expected_s
        if self._stream.isatty():
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        elif self._clock() - self._printed_at >= 15:
            self._stream.write(text + "\n")
            self._printed_at = self._clock()
        self._stream.flush()

    def done(self) -> None:
        """Leaves the terminal's line empty for what is printed next."""
        if self._stream.isatty() and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _eta(self) -> str:
        pace = 1.0
        if self._spent_expected_s > 0:
            pace = (self._clock() - self._started) / self._spent_expected_s
        left = max(0, round(self._left_s * pace))
        return f"{left // 60}m{left % 60:02d}s"
