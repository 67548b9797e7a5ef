"""Formulas without groups of which a cache keeps all rows: these are the rows of a fresh run, and so are the draws."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from days import counted_reads, killed_after, living, table_of_day, write_day

import tunamh
from tunamh.formula import living_model

FORMULA, SETTINGS = "cost ~ a + b + carrier", {"rng": 3, "draws": 60, "tune": 60, "chains": 2, "progressbar": False}


def table_with_costs(day, rows=300):
    table, rng = table_of_day(day, rows), np.random.default_rng(day)
    costs = 2 + np.array(table["a"]) + rng.normal(size=rows)
    columns = {"cost": costs, "time": rng.exponential(size=rows), "ended": rng.integers(2, size=rows)}
    columns["hour"] = rng.choice(["am", "pm"], rows)
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def write(folder, day):
    path = folder / f"{day:03d}.parquet"
    pq.write_table(table_with_costs(day), path)
    return path


def night(folder, formula=FORMULA, family=None, rows=None, **how):
    opened = tunamh.open_rows(str(folder / "*.parquet"), cache=folder / "cache.tunamh", **(rows or {}))
    return tunamh.regression(formula, opened, family=family, **how)


def whole(folder, formula=FORMULA, family=None, keep=None, **how):
    """The same model of the rows as they are in the files."""
    table = pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])
    return tunamh.regression(formula, table if keep is None else table.filter(keep(table)), family=family, **how)


def assert_same_draws(one, other):
    assert one.fingerprint == other.fingerprint
    found, expected = (tunamh.sample(target, **SETTINGS).posterior for target in (one, other))
    assert list(found.data_vars) == list(expected.data_vars)
    for name in found.data_vars:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.fixture
def days(tmp_path):
    for day in range(3):
        write(tmp_path, day)
    night(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("formula", "family", "how", "because"),
    [
        (FORMULA, None, {}, "the default family has an unknown scale"),
        (FORMULA, tunamh.Gaussian(), {"weights": "w"}, "the scale of Gaussian is unknown"),
        ("cost ~ a", tunamh.StudentT(), {}, "the scale of StudentT"),
        ("cost ~ a", tunamh.StudentT(scale=1.0), {}, "may have several modes"),
        ("late ~ scale(a) + b", "logistic", {}, "scale(a) needs numbers from all rows"),
        ("late ~ s(a)", "logistic", {}, "s(a) needs the range of all rows"),
        ("late ~ a + b + carrier", "logistic", {"prior": tunamh.priors.Ridge()}, "the scales of the prior are unknown"),
        ("late ~ a + b", "logistic", {"prior": tunamh.priors.Horseshoe()}, "the scales of the prior"),
        ("cost ~ a", "gaussian", {"predictors": {"scale": "~ b"}}, "several predictors need all rows"),
        ("carrier ~ a", "categorical", {}, "predictor for every class"),
        ("late ~ a + carrier:hour", "logistic", {}, "products of factors"),
        ("time | cens(ended) ~ a", tunamh.Weibull(), {}, "times to event"),
        ("late ~ a", "negative-binomial", {}, "the dispersion of"),
    ],
)
def test_models_that_need_all_rows(tmp_path, formula, family, how, because):
    for day in range(3):
        table = table_with_costs(day)
        pq.write_table(table.append_column("w", pa.array(np.linspace(1, 2, 300))), tmp_path / f"{day}.parquet")
        if day == 1:
            night(tmp_path, formula, family, **how)
    target, expected = night(tmp_path, formula, family, **how), whole(tmp_path, formula, family, **how)
    assert target.set_up_told.startswith(
        "1 new file of 3 read; set up from all 900 rows, which the cache keeps because "
    )
    assert because in target.set_up_told
    assert target.variables == expected.variables
    assert_same_draws(target, expected)


def test_a_new_file_is_read_alone(days, monkeypatch):
    new = write(days, 3)
    with counted_reads(monkeypatch) as read:
        target = night(days)
        result = tunamh.sample(target, **SETTINGS)
    assert [os.path.basename(path) for path in read] == [new.name]
    assert "1 new file of 4 read; set up from all 1,200 rows" in result.posterior.attrs["choice"]
    with counted_reads(monkeypatch) as read:
        night(days)
    assert read == []


def test_what_only_the_rows_tell_is_found_out_once(days, monkeypatch):
    """Products of factors are seen when files are looked at; later nights do not look again."""
    night(days, "late ~ a + carrier:hour", "logistic")
    new, look = write(days, 3), living_model.model_of
    monkeypatch.setattr("tunamh.formula.living_tables.model_of", lambda *given: pytest.fail(f"asked again: {look}"))
    with counted_reads(monkeypatch) as read:
        night(days, "late ~ a + carrier:hour", "logistic")
    assert [os.path.basename(path) for path in read] == [new.name]


def test_rows_of_a_file_that_is_gone_are_gone(days, monkeypatch):
    (days / "001.parquet").unlink()
    with counted_reads(monkeypatch) as read:
        target = night(days)
    assert read == []
    assert "1 left out that is gone" in target.set_up_told
    assert_same_draws(target, whole(days))
    assert len(list(days.glob("cache.tunamh/model-*/columns-*"))) == 2


def test_forgotten_rows_are_deleted_at_once(days):
    persons = [set(pq.read_table(path)["person"].to_pylist()) for path in sorted(days.glob("*.parquet"))]
    one = next(iter(set.intersection(*persons)))
    assert tunamh.forget(days / "cache.tunamh", where=f"person == {one}").rows > 0
    assert not list(days.glob("cache.tunamh/model-*/columns-*"))
    assert_same_draws(night(days), whole(days, keep=lambda table: pc.not_equal(table["person"], one)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_after_a_kill_the_next_night_is_right(days, tmp_path):
    write(days, 3)
    expected, killed = whole(days), 0
    for writes in range(4):
        copy = shutil.copytree(days, tmp_path / f"copy{writes}", copy_function=shutil.copy2)
        killed += killed_after(writes, night, copy)
        found = night(copy)
        assert found.fingerprint == expected.fingerprint
        np.testing.assert_array_equal(found.modes[0].point, expected.modes[0].point)
        assert len(tunamh.history(copy / "cache.tunamh")["night"].unique()) == 2
    assert killed >= 2


def test_the_history_has_the_scale_too(days):
    target = night(days)
    last = tunamh.history(days / "cache.tunamh").groupby("night").get_group(0).set_index("coefficient")
    assert set(last.index) == {"Intercept", "a", "b", "carrier[BB]", "carrier[CC]", "scale"} or len(last) == 6
    tree = tunamh.sample(target, rng=1, draws=1000, progressbar=False)
    found = tunamh.summary(tree)
    np.testing.assert_allclose(np.sort(last["mean"]), np.sort(found["mean"].astype(float)), atol=0.05)
    assert tunamh.audit(days / "cache.tunamh")["rows"].sum() == 900


def test_rows_must_fit_into_memory(days):
    with pytest.raises(tunamh.NotApplicable, match=r"keeps all rows \(the default family has an unknown scale\) need"):
        night(days, rows={"memory": "1kB"})


def test_the_reference_stays_when_a_level_comes_before_it(days):
    table = table_with_costs(3).set_column(2, "carrier", pa.array(["A0", "BB", "CC"] * 100))
    pq.write_table(table, days / "003.parquet")
    assert night(days).formula.side.levels["carrier"][0] == "AA"
    pq.write_table(table.set_column(2, "carrier", pa.array(["ZZ"] * 300)), days / "004.parquet")
    with pytest.raises(tunamh.FormulaError, match="new_levels"):
        night(days, rows={"new_levels": "refuse"})


def energy_of_your_own(eta, y):
    return np.log1p(np.exp(eta)) - y * eta


def twice_the_energy(eta, y):
    return 2 * np.log1p(np.exp(eta)) - 2 * y * eta


def test_nothing_is_kept_that_the_functions_of_your_own_family_computed(tmp_path):
    """They may change from night to night, and have the same name."""
    for day in range(2):
        write_day(tmp_path, day)
    families = [tunamh.family(one, convex=True, name="own") for one in (energy_of_your_own, twice_the_energy)]
    once, twice = (living(tmp_path, tmp_path / "cache", "late ~ a", own) for own in families)
    assert "the functions of family(own) are your own" in twice.set_up_told
    ratio = [np.sqrt(np.diag(one.modes[0].expansion.plain_hessian)) for one in (once, twice)]
    np.testing.assert_allclose(ratio[1] / ratio[0], np.sqrt(2), rtol=0.05)
