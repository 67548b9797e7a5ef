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
COLUMNS = ["distance", "hour", "rain", "wind", "snow", "visibility", "full", "old"]
EFFECTS = [0.02, 0.34, 0.31, 0.12, 0.22, -0.17, 0.06, -0.03]


def flights(n_rows: int = 20_000, airports: int = 120) -> tunamh.Target:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.standard_normal((n_rows, len(COLUMNS))), columns=COLUMNS)
    airport = rng.integers(airports, size=n_rows)
    table["airport"] = [f"A{k:03}" for k in airport]
    eta = -1.4 + table[COLUMNS].to_numpy() @ EFFECTS + 0.4 * rng.standard_normal(airports)[airport]
    table["late"] = rng.random(n_rows) < 1 / (1 + np.exp(-eta))
    return tunamh.regression(f"late ~ {' + '.join(COLUMNS)} + (1 | airport)", table, family=tunamh.Logistic())


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
