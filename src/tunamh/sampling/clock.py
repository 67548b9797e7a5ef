"""The time that a run takes, and the end of a set-up for which there is none left."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..compiled.compiler import seconds_compiling
from ..errors import NoDraws
from ..process.progress import Progress
from ..process.stages import Report

_PASSES_OF_A_SET_UP, _PASSES_FORESEEN = 8.0, 6.0


class Clock:
    """Measures the seconds of a run, without compiling, and says whether the time limit of the user is over."""

    def __init__(self, max_seconds: float | None):
        self.limit = np.inf if max_seconds is None else max_seconds
        self._started, self._compiled = time.monotonic(), seconds_compiling()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started - (seconds_compiling() - self._compiled)

    @property
    def compiling(self) -> float:
        """Return the seconds that compiling has taken since the clock was made."""
        return seconds_compiling() - self._compiled

    @property
    def over(self) -> bool:
        return self.seconds >= self.limit


class SetUp:
    """Watches the passes of a set-up: shows them, stops them when the time is over, and records what they cost.

    About eight passes over all rows are expected. After the sixth, the number of remaining passes is unknown.
    """

    def __init__(self, n_rows: int, clock: Clock, progress: Progress):
        self.n_rows, self.clock, self.progress = max(n_rows, 1), clock, progress
        self._report, self._seconds, self._until = Report("", 0, 0.0, 0), dict[str, float](), clock.seconds

    @property
    def cost(self) -> dict[str, Any]:
        """Return the seconds of every stage so far, without compiling, the number of passes begun, and of rows read."""
        self._note(self._report)
        stages = {stage or "looking at the data": round(seconds, 4) for stage, seconds in self._seconds.items()}
        return {"stages": stages, "passes": self._report.passes, "rows": self._report.rows}

    def _note(self, report: Report) -> None:
        """The time since the last report belongs to the stage that was announced then."""
        now, stage = self.clock.seconds, self._report.stage
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._until
        self._report, self._until = report, now

    def __call__(self, report: Report) -> None:
        self._note(report)
        if self.clock.over:
            doing = f" ({report.doing})" if report.stage else ""
            raise NoDraws(
                f"max_seconds={self.clock.limit:g} ran out during set-up{doing}, in pass {report.passes} over the "
                "rows, before the first draw; allow more time"
            )
        done = report.rows / self.n_rows
        stage = f"{report.doing}, " if report.stage else ""
        share = None if done > _PASSES_FORESEEN else done / _PASSES_OF_A_SET_UP
        self.progress.update(share, f"{stage}pass {report.passes}, {report.share:.0%}")
