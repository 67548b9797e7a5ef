"""What a person sees of a result: the table, the names in it and in warnings, and ArviZ's pictures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tunamh
from conftest import logistic_data


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(2000), rng.standard_normal(2000)])
    town = rng.integers(30, size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-X @ [0.5, 1.0] - rng.standard_normal(30)[town]))
    import pandas as pd

    table = pd.DataFrame(X, columns=["ones", "x"])
    return tunamh.MixedModel(table, y, tunamh.Logistic(), groups=tunamh.GroupEffects(town, name="town"))


def test_a_mixed_model_is_summed_up_without_its_effects(grouped):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tunamh.ConvergenceWarning)
        tree = tunamh.sample(grouped, draws=200, rng=1)
    table = tunamh.summary(tree)
    assert list(table.index) == ["theta[ones]", "theta[x]", "group_scale[town]"]
    assert "\n30 group effects are left out: tunamh.summary(posterior, var_names" in repr(table)
    assert len(tunamh.summary(tree, var_names=["group_effect"])) == 30
    assert "left out" not in repr(tunamh.summary(tree, var_names=["theta"]))


def test_warnings_name_parameters_as_summaries_do(grouped):
    with pytest.warns(tunamh.ConvergenceWarning) as told:
        tree = tunamh.sample(grouped, draws=100, tune=10, chains=2, rng=1)
    names = list(tunamh.summary(tree, var_names=["theta", "group_scale", "group_effect"]).index)
    said = " ".join(str(warning.message) for warning in told)
    assert any(f"for {name} (" in said or f"of {name} (" in said for name in names), said
    assert grouped.reported == names


def tree_of(draws: np.ndarray):
    import xarray

    values = xarray.Dataset({f"x{k}": (("chain", "draw"), own) for k, own in enumerate(draws)})
    return xarray.DataTree.from_dict({"posterior": values})


def test_numbers_have_the_digits_that_monte_carlo_error_supports():
    rng = np.random.default_rng(0)
    draws = np.array([1.0, 1000.0, 1e-4])[:, None, None] * (1 + rng.standard_normal((3, 4, 1000)))
    tree = tree_of(draws)  # standard errors of 0.016, 16 and 1.6e-6
    table, full = tunamh.summary(tree), tunamh.summary(tree, round_to="none")
    for name in ("mean", "sd", "eti89_lb", "eti89_ub"):
        wanted = [round(value, places) for value, places in zip(full[name], (2, -1, 6), strict=True)]
        assert table[name].tolist() == pytest.approx(wanted, abs=0)
    shown = repr(table).splitlines()
    assert [len(line.split()[1].partition(".")[2]) for line in shown[1:]] == [2, 0, 6]
    assert len({len(line) for line in shown[:4]}) == 1  # one column below the other


def test_a_slowly_mixing_parameter_shows_fewer_digits():
    rng = np.random.default_rng(1)
    fast, slow = rng.standard_normal((4, 1000)), np.repeat(rng.standard_normal((4, 10)), 100, axis=1)
    table = tunamh.summary(tree_of(np.stack([fast, slow])))
    assert table.attrs["decimals"]["mean"] == [2, 1]


def test_what_is_cut_out_of_a_summary_shows_all_columns():
    import pandas as pd

    table = tunamh.summary(tree_of(np.random.default_rng(0).standard_normal((3, 4, 200))))
    with pd.option_context("display.width", 30):
        for cut in (table, table.head(1), table.sort_values("mean").head(1)):
            assert "r_hat" in repr(cut)
            assert "..." not in repr(cut)


def test_a_summary_without_errors_has_three_digits_of_the_standard_deviation():
    draws = np.random.default_rng(2).standard_normal((1, 4, 500))
    assert tunamh.summary(tree_of(draws), kind="stats").attrs["decimals"]["mean"] in ([2], [3])
    assert "ess_bulk" in repr(tunamh.summary(tree_of(draws))[["ess_bulk"]])  # what is cut out is a plain table


def test_a_parameter_that_never_moved_has_a_line():
    table = tunamh.summary(tree_of(np.full((1, 4, 200), 2.5)))
    assert table["mean"].tolist() == [2.5]
    assert "NaN" in repr(table) or "nan" in repr(table)


def test_arviz_draws_our_results():
    arviz_plots = pytest.importorskip("arviz_plots")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    tree = tunamh.sample(tunamh.LogisticRegression(*logistic_data(2000, 2)), draws=100, rng=1)
    for plot in (arviz_plots.plot_trace, arviz_plots.plot_forest):
        plot(tree, backend="matplotlib")
    pyplot.close("all")


@pytest.mark.parametrize("given", ["target", "name", "dict", "nothing"])
def test_a_summary_of_no_draws_says_what_is_wanted(given):
    wrong = {
        "target": tunamh.LogisticRegression([[0.0], [1.0]], [0, 1]),
        "name": "run.nc",
        "dict": {"posterior": {"theta": [1.0]}},
        "nothing": None,
    }
    with pytest.raises(TypeError, match=r"tunamh.summary needs draws: pass the result of tunamh.sample\(target\).*got"):
        tunamh.summary(wrong[given])


def test_laplace_has_a_summary_of_its_own():
    approximation = tunamh.laplace(tunamh.GLM(np.ones((40, 1)), np.arange(40.0), tunamh.Gaussian(9.0)), check=False)
    with pytest.raises(TypeError, match=r"call \.summary\(\) on it"):
        tunamh.summary(approximation)
