"""R-hat and effective draws: the numbers of ArviZ, and what a person is told."""

import pickle
import sys
import warnings

import numpy as np
import pytest
import xarray
from arviz_stats.base import array_stats

import tunamh
from conftest import logistic_data
from tunamh import MH, LogisticRegression, RandomWalk, sample
from tunamh.errors import for_shell
from tunamh.results.convergence import _suspects, diagnose, in_the_tails, judge, r_hat_limit
from tunamh.results.layout import plain_layout
from tunamh.results.tree import posterior_of
from tunamh.results.until import Until

X, Y = logistic_data(2000, 3)


def autoregressive(rng, chains, draws, d, rho):
    x = rng.standard_normal((chains, draws, d))
    for k in range(1, draws):
        x[:, k] = rho * x[:, k - 1] + np.sqrt(1 - np.square(rho)) * x[:, k]
    return x


@pytest.mark.parametrize("draws", [100, 101, 250, 1003])
@pytest.mark.parametrize("chains", [2, 4])
def test_the_numbers_of_arviz(rng, chains, draws):
    """Over slow, antithetic, shifted, heavy-tailed, discrete and often repeated draws."""
    x = autoregressive(rng, chains, draws, 8, np.array([0.0, 0.5, 0.9, 0.99, -0.5, -0.95, 0.3, 0.3]))
    x[0, :, 0] += 0.3
    x[0, :, 1] *= 2.0
    x[:, :, 2] **= 3
    x[:, :, 6] = np.round(x[:, :, 6])
    x[:, 1::2] = x[:, : draws - 1 : 2]
    values = np.ascontiguousarray(x.transpose(2, 0, 1))
    r_hat, ess = diagnose(values)
    for j, one in enumerate(values):
        assert r_hat[j] == pytest.approx(array_stats.rhat(one, chain_axis=0, draw_axis=1), rel=1e-6)
        assert ess[j] == pytest.approx(array_stats.ess(one, chain_axis=0, draw_axis=1), rel=1e-6)


def test_tails_that_are_hardly_visited_are_told(rng):
    """The numbers of ArviZ; and a middle that mixes at once does not hide a tail that a chain stays in for long."""
    x = rng.standard_normal((4, 2000, 2))
    away = autoregressive(rng, 4, 2000, 1, 0.995)[:, :, 0] > 1.4
    x[:, :, 1] += 4 * away
    values = np.ascontiguousarray(x.transpose(2, 0, 1))
    for j, found in enumerate(in_the_tails(values)):
        assert found == pytest.approx(
            array_stats.ess(values[j], chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95)), rel=1e-6
        )
    assert judge(x[:, :, :1]).complaint(["a"], 2000) is None
    assert "effective draws in the tails of b" in judge(x)._replace(r_hat=1.0, ess=1e4).complaint(["a", "b"], 2000)


def test_the_worst_of_many_parameters_and_draws_is_found(rng):
    x = autoregressive(rng, 4, 3000, 300, 0.2)
    x[:, :, 77] = autoregressive(rng, 4, 3000, 1, 0.97)[:, :, 0]
    x[2, :, 211] += 0.15
    found = judge(x)
    r_hat, ess = diagnose(np.ascontiguousarray(x.transpose(2, 0, 1)))
    assert (found.r_hat_of, found.ess_of) == (r_hat.argmax(), ess.argmin())
    assert (found.r_hat, found.ess) == pytest.approx((r_hat.max(), ess.min()))
    assert found.complaint([f"parameter {j}" for j in range(300)], 3000).count("parameter 77") >= 1


def test_good_chains_are_not_accused(rng):
    for _ in range(20):
        x = autoregressive(rng, 4, 1000, 20, 0.3)
        assert judge(x).complaint([str(j) for j in range(20)], 1000) is None


def test_many_parameters_and_few_draws_are_not_accused_by_chance(rng):
    """Independent draws of 34 parameters: the largest R-hat of short chains is above 1.01 in one run of three."""
    runs = [judge(rng.standard_normal((4, 200, 34))) for _ in range(40)]
    assert sum(run.r_hat > 1.01 for run in runs) > 5
    names = [f"x{j}" for j in range(34)]
    assert sum("R-hat" in (run.complaint(names, 200) or "") for run in runs) <= 3
    assert r_hat_limit(1000, 4, 34) == 1.01
    assert 1.015 < r_hat_limit(200, 4, 34) < 1.016


def test_a_slow_walk_is_told_by_name():
    target = LogisticRegression(X, Y)
    with pytest.warns(tunamh.ConvergenceWarning, match=r"have not converged: R-hat \d\.\d+ for theta\[\d\].*longer"):
        sample(target, test=MH(), proposal=RandomWalk(0.004), draws=400, tune=200, rng=1)


def test_a_r_hat_of_two_percent_is_enough(monkeypatch):
    module = sys.modules["tunamh.sampling.completion"]
    honest = module.judge
    monkeypatch.setattr(module, "judge", lambda draws: honest(draws)._replace(r_hat=1.02, r_hat_of=1))
    with pytest.warns(tunamh.ConvergenceWarning, match=r"R-hat 1\.020 for theta\[1\]"):
        sample(LogisticRegression(X, Y), draws=1000, rng=1)


def test_too_few_effective_draws_are_told():
    """R-hat alone would not notice: 120 independent draws in two chains, of which 70 % are repeated."""
    x = autoregressive(np.random.default_rng(1), 4, 120, 1, 0.0)
    for k in range(1, 120):
        x[:, k] = x[:, k - 1] if k % 3 else x[:, k]
    assert "effective draws of slope" in judge(x).complaint(["slope"], 120)


def test_chains_that_never_move_are_named():
    target = LogisticRegression(X, Y)
    with pytest.warns(tunamh.ConvergenceWarning, match=r"chains 0, 1, 2, 3 \(of 4.*\) never moved: 4,000 identical"):
        tree = sample(target, test=MH(), proposal=RandomWalk(1e6), draws=4000, tune=0, rng=1)
    assert not tree.sample_stats["accepted"].any()
    x = np.random.default_rng(1).standard_normal((4, 500, 2))
    x[2] = x[2, 0]
    assert judge(x).complaint(["a", "b"], 500).startswith("chain 2 (of 4, counted from 0) never moved: 500")


def test_a_parameter_that_never_moved_is_named(rng):
    """Beside others that move, in all chains alike or in one of them."""
    x = autoregressive(rng, 4, 500, 3, 0.0)
    x[:, :, 1] = 2.1
    found = judge(x)
    assert found.frozen == [1]
    assert "slope never moved (500 identical draws" in found.complaint(["a", "slope", "c"], 500)
    assert not Until(ess=50).holds(lambda rows, which: x[:, rows, which], 4, 500, 3)
    x[1:, :, 1] = rng.standard_normal((3, 500))
    assert "slope never moved" in judge(x).complaint(["a", "slope", "c"], 500)
    many = autoregressive(rng, 4, 300, 200, 0.3)
    many[:, :, 50:90] = 1.0
    assert "parameter 50," in judge(many).complaint([f"parameter {j}" for j in range(200)], 300)


def test_the_summary_of_a_parameter_that_never_moved_has_no_diagnostics(rng):
    x = autoregressive(rng, 4, 200, 2, 0.0)
    x[:, :, 0] = 2.1
    tree = xarray.DataTree.from_dict({"posterior": posterior_of(x, plain_layout([("theta", ["frozen", "moving"])]))})
    table = tunamh.summary(tree)
    assert table.loc["theta[frozen]", ["r_hat", "ess_bulk", "ess_tail"]].isna().all()
    assert table.loc["theta[moving]", ["r_hat", "ess_bulk", "ess_tail"]].notna().all()


def test_short_runs_and_good_runs_are_quiet():
    target = LogisticRegression(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(target, test=MH(), proposal=RandomWalk(0.004), draws=99, tune=0, rng=1)
        sample(target, draws=1000, rng=1)


def test_the_old_name_still_catches_it():
    assert tunamh.ChainsDisagree is tunamh.ConvergenceWarning
    assert issubclass(tunamh.ConvergenceWarning, UserWarning)


def test_the_shell_names_its_own_options():
    found = judge(np.random.default_rng(0).standard_normal((2, 200, 1)).cumsum(axis=1))
    warning = tunamh.ConvergenceWarning(found.complaint(["slope"], 200))
    assert str(warning).endswith("Run longer (draws=, thin=); tunamh.summary(posterior) shows the parameters.")
    assert for_shell(warning).endswith("Run longer (--draws).")
    assert for_shell(pickle.loads(pickle.dumps(warning))) == for_shell(warning)
    assert for_shell(ValueError("as it is")) == "as it is"


def test_who_mixes_slowly_in_a_long_run_is_found():
    """Draws twenty steps apart are independent in all of these chains; only neighbours tell them apart."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 20_000, 60))
    for i in range(1, x.shape[1]):
        x[:, i, 37] = 0.6 * x[:, i - 1, 37] + 0.8 * x[:, i, 37]
    found = judge(x)
    assert found.ess_of == 37
    assert found.ess == pytest.approx(2 * 20_000 / 4, rel=0.25)


def test_parameters_that_never_move_are_found_among_many_that_do(rng):
    """Few draws are looked at first: a parameter that moves between these only is not frozen."""
    x = rng.standard_normal((2, 400, 60))
    x[0, :, 7] = 3.0
    x[1, :, 9] = 1.0
    x[1, 399, 9] = 2.0
    found = judge(x)
    assert found.frozen == [7]
    assert found.stuck == []


def test_rules_that_choose_parameters_are_those_of_all_draws_at_once(rng):
    x = autoregressive(rng, 3, 997, 400, 0.5)
    x[1, :, 30:50] += np.linspace(0, 1, 20)
    x[:, :, 60:80] += np.linspace(0, 2, 997)[:, None]
    x[:, :, 100:120] = x[:, :, 100:120].cumsum(axis=1)
    values = x.transpose(2, 0, 1)
    spread, pieces = values.var(axis=(1, 2)), 997 // 30
    rules = [-np.square(np.diff(values, axis=2)).mean(axis=(1, 2)) / spread]
    for k in (2, pieces):
        means = values[:, :, : 997 // k * k].reshape(400, 3 * k, -1).mean(axis=2)
        rules.append((997 // k) * means.var(axis=1) / spread)
    assert set(_suspects(x)) == {j for rule in rules for j in np.argsort(rule)[-16:].tolist()}


def test_a_large_variable_is_a_part_of_all_draws(rng):
    layout = plain_layout([("theta", ["a", "b"]), ("group_effect", [str(j) for j in range(998)])])
    few, many = rng.standard_normal((1, 10, 1000)), rng.standard_normal((1, 1200, 1000))
    for draws, shared in ((few, False), (many, True)):
        found = posterior_of(draws, layout)
        assert np.shares_memory(found["group_effect"].values, draws) == shared
        assert not np.shares_memory(found["theta"].values, draws)
        np.testing.assert_array_equal(found["group_effect"].values, draws[..., 2:])
        np.testing.assert_array_equal(found["theta"].values, draws[..., :2])
