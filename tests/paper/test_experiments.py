"""The experiments' data, measures and page."""

import json

import numpy as np
import pytest
from paper.claims import AGREES, DIFFERS, OPEN, judge
from paper.claims_posterior import table_1

import tunamh
from paper import batch_sizes, make_mnist, mixture, mnist, page, run, runs, settings


@pytest.fixture(scope="module")
def digits() -> make_mnist.Digits:
    return make_mnist.load()


def test_digits_have_the_papers_shape_and_bounds(digits):
    assert digits.X.shape == (12214, 50)
    assert digits.X_test.shape == (2037, 50)
    assert (digits.y.sum(), digits.y_test.sum()) == (5949, 1009)
    assert np.linalg.norm(digits.X, axis=1).sum() == pytest.approx(71312.23, rel=1e-5)
    assert (np.diff(digits.X.var(axis=0)) < 0).all()  # principal components, in order
    np.testing.assert_allclose(digits.X.mean(axis=0), 0, atol=1e-4)


def test_digits_file_is_small():
    assert make_mnist.FEATURES.stat().st_size < 2.5e6


def test_batch_size_on_digits_is_the_papers(digits):
    target = tunamh.LogisticRegression(digits.X, digits.y)
    start = mnist.starting_point(1)
    result = runs.fixed_run(target, mnist.METHODS["TunaMH"], scale=1e-3, draws=2000, start=start, seed=1)
    assert result.batch.mean() == pytest.approx(504.07, rel=0.01)


def test_idx_files_are_checked(tmp_path):
    file = tmp_path / "train-labels-idx1-ubyte"
    file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]))
    with pytest.raises(ValueError, match="md5"):
        make_mnist.read_idx(file)


def test_symmetric_kl():
    p, q = np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])
    expected = 0.5 * (np.sum(p * np.log(p / q)) + np.sum(q * np.log(q / p)))
    assert mixture.symmetric_kl(p, q) == pytest.approx(expected)
    assert mixture.symmetric_kl(p, np.array([[1.0, 0.0]])) > 5  # an empty cell weighs


@pytest.mark.parametrize("point", [(0.8, -0.5), (0.1, 1.2)])
def test_expected_bright_rows_are_flymcs(point):
    """The formula against a chain whose steps are so short that it stays where it is."""
    x = mixture.mixture_data(2000, seed=1)
    target = tunamh.GaussianMixture(x, temper=0.05)
    result = runs.fixed_run(target, tunamh.FlyMC(q=0.5), scale=1e-7, draws=3000, start=point, seed=1, burn=100)
    expected = mixture.expected_bright(target, point[0], np.array(point[1:]), paper_bounds=False)
    assert result.bright.mean() == pytest.approx(expected[0], rel=0.02)
    assert mixture.expected_bright(target, point[0], np.array(point[1:]), paper_bounds=True) > 5 * expected


def test_effective_draws_by_jumps_are_those_of_an_autoregression():
    rng = np.random.default_rng(0)
    rho, n, thin = 0.999, 40_000, 5
    theta = np.empty((n, 8))
    theta[0] = rng.standard_normal(8)
    for t in range(1, n):
        theta[t] = rho * theta[t - 1] + np.sqrt(1 - rho**2) * rng.standard_normal(8)
    kept = theta[::thin]
    zeros = np.zeros(len(kept))
    chain = runs.Run(kept, zeros + 1, zeros, zeros, None, 0.0, thin, 1.0, "")
    expected = n * (1 - rho) / (1 + rho)
    assert runs.effective_draws_by_jumps(chain, np.ones(8)) == pytest.approx(expected, rel=0.05)


def test_a_claim_agrees_differs_or_stays_open():
    said = {"where": "", "claim": "", "paper": "", "ours": "", "why": "so", "unless": "not so"}
    assert [judge(holds=h, **said).outcome for h in (True, False, None)] == [AGREES, DIFFERS, OPEN]
    assert [judge(holds=h, **said).why for h in (True, False)] == ["so", "not so"]


def small_table() -> dict:
    def entry(task, name, ours):
        paper = settings.TABLE_PAPER[task][name]
        cell = {"paper": paper[0], "paper_error": paper[1], "ours": ours, "error": 0.1, "evaluated": ours}
        return {**cell, "acceptance": 0.6, "steps": settings.TABLE_STEPS[task][name], "stationary": 5000.0}

    papers = settings.TABLE_PAPER
    return {"runs": 3} | {task: {n: entry(task, n, v[0]) for n, v in papers[task].items()} for task in papers}


def test_a_wrong_batch_size_differs():
    table = small_table()
    assert {v.outcome for v in table_1(table)} == {AGREES}
    table["mixture"]["TunaMH"]["ours"] *= 1.02
    assert [v.claim for v in table_1(table) if v.outcome == DIFFERS] == ["Average batch size of TunaMH."]


def test_the_page_builds_from_what_exists(tmp_path):
    run.write_json(
        tmp_path / "table-1.json", run.plain({**run.circumstances(settings.QUICK, 1.0), "result": small_table()})
    )
    text = page.build(tmp_path).read_text()
    assert "504.07" in text
    assert "Not run yet: figure-1" in text
    assert "quick run" in text
    assert "http" not in text.replace("http://www.w3.org", "")  # self-contained


def test_theory_results_are_measured_drawn_and_judged(tmp_path):
    budget = settings.QUICK
    said = []
    result = run.EXPERIMENTS["theory"].measure(budget, lambda share, remark: said.append(share))
    assert said == sorted(said)
    run.write_json(tmp_path / "theory.json", run.plain({**run.circumstances(budget, 1.0), "result": result}))
    text = page.build(tmp_path).read_text()
    assert "Cor. 1" in text
    assert "data:image/svg+xml" in text
    assert (tmp_path / "theory.png").stat().st_size > 10_000


def test_results_are_plain_json(tmp_path):
    run.write_json(tmp_path / "x.json", run.plain({"a": float("nan"), "b": (1.23456789, None), "c": {"d": True}}))
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": None, "b": [1.23457, None], "c": {"d": True}}


def test_a_row_counts_as_the_paper_does():
    ones = np.ones(10)
    fly = runs.Run(ones[:, None], ones, 7 * ones, ones, 3 * ones, 0.0, 1, 1.0, "")
    assert batch_sizes.counted(fly) == 3
    assert batch_sizes.counted(fly._replace(bright=None)) == 7


def test_ctrl_c_ends_an_experiment_and_not_just_a_run(monkeypatch):
    target = tunamh.LogisticRegression(np.eye(3), [0, 1, 0])
    tree = tunamh.sample(
        target, test=tunamh.MH(), draws=5, tune=0, chains=1, init=np.zeros(3), rng=1, progressbar=False
    )
    assert len(runs.seen(tree).theta) == 5
    stopped = json.loads(tree.sample_stats.attrs["settings"]) | {"stopped": "interrupted"}
    tree.sample_stats.attrs["settings"] = json.dumps(stopped)
    with pytest.raises(KeyboardInterrupt):
        runs.seen(tree)


def test_after_ctrl_c_the_page_shows_what_was_finished(tmp_path, monkeypatch):
    def interrupted(budget, report):
        raise KeyboardInterrupt

    monkeypatch.setitem(run.EXPERIMENTS, "table-1", run.Experiment("Batch sizes", lambda budget, report: small_table()))
    monkeypatch.setitem(run.EXPERIMENTS, "appendix", run.Experiment("Appendix", interrupted))
    said = []
    page_file = run.reproduce(["table-1", "appendix", "theory"], quick=True, out=tmp_path, say=said.append)
    assert [path.name for path in tmp_path.glob("*.json")] == ["table-1.json"]
    assert "504.07" in page_file.read_text()
    assert "interrupted" in said[-1]
