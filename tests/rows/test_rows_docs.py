"""The code of docs/tall-data.md runs, on small files, with threads and a local frame in the place of a cluster."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import tunamh

PAGE = Path(__file__).parents[2] / "docs" / "tall-data.md"


def flights(n, rng):
    late = rng.random(n) < 0.3
    return {
        "late": late,
        "n": rng.integers(1, 4, n),
        "distance": rng.integers(100, 3000, n),
        "hour": rng.integers(24, size=n),
        "minutes": rng.normal(90, 20, n),
        "carrier": rng.choice(["AA", "UA"], n),
        "arrival_delay": pa.array(np.where(late, 30.0, 0.0), mask=rng.random(n) < 0.1),
    }


def test_the_page_on_tall_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    Path("flights").mkdir()
    for k in range(2):
        pq.write_table(pa.table(flights(1500, rng)), f"flights/{k}.parquet")
    dates = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 150 * 24 * 60, 4000), unit="min")
    delays = np.where(rng.random(4000) < 0.3, 40, 0)
    pq.write_table(
        pa.table({"date": dates, "delay": delays, "distance": rng.integers(100, 3000, 4000)}), "flights-3m.parquet"
    )
    frame = dd.from_pandas(pd.read_parquet("flights/0.parquet"), npartitions=2)
    names = {
        "tunamh": tunamh,
        "np": np,
        "pa": pa,
        "pc": pc,
        "concurrent": SimpleNamespace(futures=SimpleNamespace(ProcessPoolExecutor=ThreadPoolExecutor)),
        "distributed": SimpleNamespace(Client=lambda address: address),
        "dask": SimpleNamespace(dataframe=SimpleNamespace(read_parquet=lambda path: frame)),
    }
    rows = []
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M):
        exec(block, names)
        rows.append(names["flights"].n_rows)
    assert rows[0] == 3000
    assert names["mixed"].groupings[0].levels == ["AA", "UA"]
    assert 2500 < rows[2] < 2900  # without missing delays
    assert rows[3:] == [3000, 1500, 4000]
    assert names["target"].names[:3] == ["one", "distance", "hour"]
