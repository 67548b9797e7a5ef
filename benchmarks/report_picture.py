"""docs/report.png: the first screen of a report about made-up flights. Needs Chromium, and Pillow (with matplotlib)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

import tunamh

PICTURE = Path(__file__).parent.parent / "docs" / "report.png"
COLUMNS = ["Intercept", "distance", "departure hour", "rain", "wind", "snow", "visibility", "full flight", "old plane"]
EFFECTS = [-1.4, 0.02, 0.34, 0.31, 0.12, 0.22, -0.17, 0.06, -0.03]


def flights(n_rows: int = 20_000, airports: int = 120) -> tunamh.MixedModel:
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(n_rows), rng.standard_normal((n_rows, len(COLUMNS) - 1))])
    airport = rng.integers(airports, size=n_rows)
    eta = X @ EFFECTS + 0.4 * rng.standard_normal(airports)[airport]
    late = rng.random(n_rows) < 1 / (1 + np.exp(-eta))
    groups = tunamh.GroupEffects(airport, name="airport")
    return tunamh.MixedModel(pd.DataFrame(X, columns=COLUMNS), late, tunamh.Logistic(), groups=groups)


def main() -> None:
    posterior = tunamh.sample(flights(), draws=2000, rng=1)
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "shot.png"
        tunamh.report(posterior, page, title="Which airports are late?")
        browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=900,1000")
        subprocess.run([browser, *options, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True)
        Image.open(shot).convert("RGB").quantize(64).save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
