"""The code of docs/tall-data.md runs, on small files, with threads and a local frame in the place of a cluster."""

import concurrent.futures
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PAGE = Path(__file__).parents[2] / "docs" / "tall-data.md"


def test_the_page_on_tall_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    dates = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 150 * 24 * 60, 4000), unit="min")
    delays = np.where(rng.random(4000) < 0.3, 40, 0)
    pq.write_table(
        pa.table({"date": dates, "delay": delays, "distance": rng.integers(100, 3000, 4000)}), "flights-3m.parquet"
    )
    frame = dd.from_pandas(pd.DataFrame({"late": rng.random(1500) < 0.3}), npartitions=2)
    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(dd, "read_parquet", lambda path: frame)
    names, rows = {}, []
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M):
        exec(block.replace('distributed.Client("scheduler:8786")', "None"), names)
        rows.append(names["flights"].n_rows)
    assert rows[:2] == [20_000, 20_000]
    assert names["mixed"].groupings[0].levels == ["AA", "UA"]
    assert 17_500 < rows[2] < 18_500  # without missing delays
    assert rows[3:] == [20_000, 1500, 4000]
    assert names["target"].names[:3] == ["one", "distance", "hour"]
