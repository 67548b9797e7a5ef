"""Parts and sources of one's own: the page docs/extend.md, run as a file of a user's."""

import importlib.util
import itertools
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import MH, MHSS, TunaMH, check_bounds, extend
from tunamh.extend import NO_FAULT, NO_ROWS, failure, sum_of_rises, verdict
from tunamh.process.stages import watching
from tunamh.rows.passes import ROWS_AT_ONCE
from tunamh.targets.families.registry import as_family
from tunamh.theory import FiniteProblem, acceptance, detailed_balance_error, transition_matrix

PAGE = Path(__file__).parent.parent / "docs" / "extend.md"
X, _ = logistic_data(300, 2)
Y = X @ [0.5, -0.25] + np.random.default_rng(4).standard_t(3, 300)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The page's blocks, one after the other, as a module."""
    file = tmp_path_factory.mktemp("own") / "own_parts.py"
    file.write_text("\n\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)))
    spec = importlib.util.spec_from_file_location("own_parts", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def moments(draws):
    theta = draws.posterior["theta"].values.reshape(-1, 2)
    return np.concatenate([theta.mean(axis=0), theta.std(axis=0)])


def by_quadrature(log_density, centre, width):
    """Means and standard deviations of a density of two parameters, by the midpoint rule."""
    axes = [np.linspace(c - w, c + w, 161) for c, w in zip(centre, width, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    values = np.array([log_density(point) for point in grid])
    mass = np.exp(values - values.max())
    mass /= mass.sum()
    mean = mass @ grid
    return np.concatenate([mean, np.sqrt(mass @ (grid - mean) ** 2)])


def log_cosh_posterior(theta, scale=2.0, prior_scale=np.inf):
    r = (Y - X @ theta) / scale
    return -np.sum(np.logaddexp(r, -r)) - 2 * np.sum(np.log(np.cosh(theta / (2 * prior_scale))))


def test_a_family_has_the_posterior_of_quadrature(own):
    target = tunamh.GLM(X, Y, own.LogCosh(2.0))
    assert target.own_bounds
    assert 0.5 < check_bounds(target, rng=1) <= 1
    truth = by_quadrature(log_cosh_posterior, [0.5, -0.25], [1.2, 1.2])
    for given in ({}, {"test": TunaMH()}, {"test": MHSS(), "control": tunamh.Taylor(order=1)}):
        draws = tunamh.sample(target, draws=4000, thin=1 if not given else 10, rng=2, **given)
        assert moments(draws) == pytest.approx(truth, abs=0.06 * truth[2:].max()), given


def test_a_family_may_leave_out_all_that_is_optional(own):
    """And says the same when it says more of itself."""

    class Known(own.LogCosh):
        convex = True

        def guess(self, y):
            return y

        def rises(self, y):
            return np.ones(y.shape, bool), np.ones(y.shape, bool)

        def suprema_near(self, y, eta, radius):
            return self.suprema(y)

    assert not vars(own.LogCosh).keys() & {"convex", "guess", "rises", "suprema_near"}
    both = [tunamh.GLM(X, Y, family(2.0)) for family in (own.LogCosh, Known)]
    modes = [target.modes[0].point for target in both]
    assert modes[0] == pytest.approx(modes[1], abs=1e-3)  # standard deviations are 0.15
    assert [target.convex for target in both] == [False, True]


def test_a_family_of_a_plain_class_serves_too(own):
    """The base class says what is missing; it need not be there."""

    class Plain:
        energy, rise, hyper = own.log_cosh_energy, own.log_cosh_rise, (2.0,)
        check = staticmethod(lambda y: None)
        derivatives = own.LogCosh(2.0).derivatives
        suprema = own.LogCosh(2.0).suprema

    plain, based = (tunamh.GLM(X, Y, family) for family in (Plain(), own.LogCosh(2.0)))
    one, other = (tunamh.sample(target, draws=50, chains=1, rng=3).posterior["theta"] for target in (plain, based))
    assert (one.values == other.values).all()


class Squares:
    """A plain class, which other processes can find."""

    energy = rise = derivatives = suprema = None
    hyper = (3.0,)


def test_a_plain_family_can_be_sent_to_other_processes():
    given = as_family(Squares())
    assert (given.hyper, given.convex, given.predictors) == ((3.0,), False, 1)
    again = pickle.loads(pickle.dumps(given))
    assert again.hyper == (3.0,)
    assert type(again).__name__ == "Squares"


def test_names_of_before_warn(own):
    with pytest.warns(DeprecationWarning, match="slope_constants is now called second_order_constants"):

        class Old(own.LogCosh):
            def slope_constants(self, y, eta, radius):
                return self.suprema(y).third

    y = np.zeros(3)
    assert (Old(1.0).second_order_constants(y, y, y) == Old(1.0).suprema(y).third).all()
    for name in ("WellKnownFamily", "FamilyWithLowerBound"):
        with pytest.warns(DeprecationWarning, match=f"{name} is an old name"):
            assert getattr(extend, name) is extend.Family


def test_a_family_that_lacks_something_says_what(own):
    class Without(extend.Family):
        energy, rise = own.log_cosh_energy, own.log_cosh_rise

    with pytest.raises(TypeError, match=r"derivatives.*suprema"):
        Without()


def test_a_prior_is_part_of_the_posterior(own):
    target = tunamh.GLM(X, Y, own.LogCosh(2.0), prior=own.LogisticPrior(0.05))
    truth = by_quadrature(lambda theta: log_cosh_posterior(theta, prior_scale=0.05), [0.4, -0.2], [1.2, 1.2])
    without = by_quadrature(log_cosh_posterior, [0.5, -0.25], [1.2, 1.2])
    assert abs(truth - without).max() > 0.2 * truth[2:].max()  # else the comparison would show nothing
    for given in ({}, {"test": MH(), "thin": 20}):
        draws = tunamh.sample(target, draws=4000, rng=2, **given)
        assert moments(draws) == pytest.approx(truth, abs=0.06 * truth[2:].max()), given
    assert "LogisticPrior(scale=0.05)" in draws.posterior.attrs["settings"]


def test_a_proposals_ratio_is_that_of_its_densities(own, rng):
    """The mean of ``1{there in cell} q(here|there) / q(there|here)`` is the integral of ``q(here|.)`` over the cell."""
    step, width, here = 0.7, 0.5, np.array([0.8])
    knobs, there = extend.fixed([step, width]), np.empty(1)
    edges = np.linspace(-1, 4, 11)
    found, squares, n = np.zeros(10), np.zeros(10), 200_000
    for _ in range(n):
        ratio = np.exp(own.asinh_walk(rng, here, there, knobs))
        cell = np.searchsorted(edges, there[0]) - 1
        if 0 <= cell < 10:
            found[cell] += ratio
            squares[cell] += ratio**2
    points = np.linspace(-1, 4, 10_001)
    middle = 0.5 * (points[1:] + points[:-1])
    z = (np.arcsinh(here / width) - np.arcsinh(middle / width)) / step
    back = np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * step * np.hypot(width, here))
    expected = (back * np.diff(points)).reshape(10, -1).sum(axis=1)
    error = np.sqrt(squares) / n
    assert np.abs((found / n - expected) / error).max() < 4


def test_a_proposal_is_tuned_and_keeps_the_posterior(own):
    target = tunamh.GLM(X, Y, own.LogCosh(2.0))
    draws = tunamh.sample(target, test=MH(), proposal=own.AsinhWalk(), draws=4000, thin=10, rng=5)
    truth = by_quadrature(log_cosh_posterior, [0.5, -0.25], [1.2, 1.2])
    assert moments(draws) == pytest.approx(truth, abs=0.06 * truth[2:].max())
    assert 0.15 < float(draws.sample_stats["acceptance_rate"].mean()) < 0.4


def finite_problem():
    rng = np.random.default_rng(3)
    energies = 0.4 * rng.standard_normal((4, 5))
    c = np.abs(np.diff(energies, axis=1)).max(axis=1)
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)
    walk = np.diag(np.full(5, 0.5))
    for k in range(5):
        neighbours = [m for m in (k - 1, k + 1) if 0 <= m < 5]
        walk[k, neighbours] = 0.5 / len(neighbours)
    return FiniteProblem(energies, c, distance, walk, np.zeros(5)), tunamh.FiniteWalk(table=energies, c=c)


def test_a_test_is_exact_by_enumeration(own):
    problem, _ = finite_problem()
    transition = transition_matrix(problem, own.Barker())
    assert detailed_balance_error(transition, problem.posterior()) < 1e-15
    assert transition[0, 1] < transition_matrix(problem, MH())[0, 1]


def test_a_tests_compiled_code_has_its_acceptance_probabilities(own):
    problem, target = finite_problem()
    tree = tunamh.sample(target, test=own.Barker(), draws=200_000, tune=0, chains=1, init=[0.0], rng=1)
    states = tree.posterior["theta"].values[0, :, 0].astype(int)
    for here, there in itertools.pairwise(states[:200]):
        assert here == there or acceptance(problem, own.Barker(), here, there) > 0
    for here in range(5):
        after = states[1:][states[:-1] == here]
        for there in (here - 1, here + 1):
            if 0 <= there < 5:
                chance = problem.proposal[here, there] * acceptance(problem, own.Barker(), here, there)
                error = np.sqrt(chance * (1 - chance) / len(after))
                assert abs(np.mean(after == there) - chance) < 4 * error
    assert "Barker" in tree.posterior.attrs["settings"]


def all_rows(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work):
    if log_rho == -np.inf:
        return verdict(rng, log_rho, 0, False, np.nan, np.nan)
    total, worst, fault = sum_of_rises(theta, prop, model, work, distance)
    return verdict(rng, log_rho - total, model.n_rows, True, worst, np.nan) if fault == NO_FAULT else failure(fault)


def test_a_test_with_the_arguments_of_before_is_called_and_warned_of(own):
    with pytest.warns(DeprecationWarning, match="ten arguments that a test had in tunamh 0.1"):
        decide = extend.part(extend.Decide)(all_rows)

    class OfBefore(own.Barker):
        def bind(self, target):
            return extend.ReadyTest(decide, extend.fixed([]), np.empty(0), NO_ROWS)

    _, target = finite_problem()
    given = {"draws": 1000, "tune": 0, "chains": 1, "init": [0.0], "rng": 1}
    found, expected = (tunamh.sample(target, test=test, **given) for test in (OfBefore(), MH()))
    assert np.array_equal(found.posterior["theta"], expected.posterior["theta"])


def test_a_test_goes_with_families_proposals_and_priors(own):
    target = tunamh.GLM(X, Y, own.LogCosh(2.0), prior=own.LogisticPrior(2.5))
    draws = tunamh.sample(target, test=own.Barker(), proposal=own.AsinhWalk(), draws=4000, thin=20, rng=6)
    truth = by_quadrature(lambda theta: log_cosh_posterior(theta, prior_scale=2.5), [0.5, -0.25], [1.2, 1.2])
    assert moments(draws) == pytest.approx(truth, abs=0.06 * truth[2:].max())


# ------------------------------------------------------------------------------------------------------- a source

LONG_X, LONG_Y = logistic_data(2 * ROWS_AT_ONCE + 500, 3, seed=8)
BESIDE = np.random.default_rng(9)
WEIGHTS, OFFSET = BESIDE.uniform(0.5, 1.5, len(LONG_Y)), BESIDE.normal(size=len(LONG_Y))


def in_files(own, folder, length, **beside):
    """The long rows as a source of .npz files of ``length`` rows each."""
    paths = []
    for start in range(0, len(LONG_Y), length):
        part = slice(start, start + length)
        paths.append(folder / f"{start}.npz")
        np.savez(paths[-1], X=LONG_X[part], y=LONG_Y[part], **{name: values[part] for name, values in beside.items()})
    return own.NpzFiles(paths)


@pytest.mark.parametrize(
    "beside", [{}, {"weights": WEIGHTS}, {"offset": OFFSET}, {"weights": WEIGHTS, "offset": OFFSET}], ids=list
)
def test_a_source_gives_the_draws_of_the_same_rows_in_arrays(own, tmp_path, beside):
    """Bit for bit where blocks are cut as the library cuts arrays."""
    source = in_files(own, tmp_path, ROWS_AT_ONCE, **beside)
    assert isinstance(source, extend.Source)
    files, arrays = (
        tunamh.GLM(*rows, tunamh.Logistic(), **given)
        for rows, given in (((source, None), {}), ((LONG_X, LONG_Y), beside))
    )
    for given in ({}, {"test": TunaMH(), "control": tunamh.Taylor(order=1)}, {"test": MH(), "tune": 20}):
        one, other = (tunamh.sample(target, draws=30, chains=2, rng=3, **given).posterior for target in (files, arrays))
        assert (one["theta"].values == other["theta"].values).all(), given
    assert one["theta"].values.std() > 0


@pytest.mark.parametrize("beside", [{}, {"weights": WEIGHTS, "offset": OFFSET}], ids=list)
def test_other_blocks_change_nothing_but_the_rounding_of_sums(own, tmp_path, beside):
    source = in_files(own, tmp_path, 1234, **beside)
    files, arrays = (
        tunamh.GLM(source, family=tunamh.Logistic()),
        tunamh.GLM(LONG_X, LONG_Y, tunamh.Logistic(), **beside),
    )
    assert files.modes[0].point == pytest.approx(arrays.modes[0].point, abs=1e-8)
    assert files.modes[0].posterior.plain_hessian == pytest.approx(arrays.modes[0].posterior.plain_hessian, rel=1e-9)
    one, other = (
        tunamh.sample(t, draws=4000, chains=2, rng=k).posterior["theta"] for k, t in enumerate((files, arrays))
    )
    a, b = (theta.values.reshape(-1, 3) for theta in (one, other))
    assert a.mean(axis=0) == pytest.approx(b.mean(axis=0), abs=4 * np.sqrt(2 / 4000) * b.std(axis=0).max())
    assert a.std(axis=0) == pytest.approx(b.std(axis=0), rel=0.08)


def test_without_offsets_the_comparison_would_fail(own, tmp_path):
    """Negative control."""
    files = tunamh.GLM(in_files(own, tmp_path, ROWS_AT_ONCE), family=tunamh.Logistic())
    arrays = tunamh.GLM(LONG_X, LONG_Y, tunamh.Logistic(), offset=OFFSET)
    assert np.abs(files.modes[0].point - arrays.modes[0].point).max() > 0.1


class InBlocks:
    """Blocks that a test makes; counts how often it is asked."""

    names, fingerprint, asked = None, "mine", 0

    def __init__(self, blocks, n_rows=None):
        self.blocks = blocks
        self.n_rows = sum(len(block.y) for block in blocks) if n_rows is None else n_rows

    def map(self, function):
        self.asked += 1
        return (function(block) for block in self.blocks)


def two_blocks(**changes):
    """Two blocks of 150 rows; ``changes`` are of the second."""
    y = (Y > 0).astype(float)
    return [extend.Rows(0, X[:150], y[:150]), extend.Rows(150, X[150:], y[150:])._replace(**changes)]


def test_a_function_sits_between_tables_and_rows(own):
    x, late = LONG_X[:, 0], LONG_Y.astype(float)
    target = tunamh.GLM(own.squared(tunamh.open_rows([{"x": x, "late": late}])), family=tunamh.Logistic())
    arrays = tunamh.GLM(np.column_stack([np.ones(len(x)), x, x**2]), late, tunamh.Logistic())
    assert target.names == ["one", "x", "x^2"]
    assert (target.modes[0].point == arrays.modes[0].point).all()


def test_set_up_over_a_source_is_reported_to_whoever_watches():
    source, reports = InBlocks(two_blocks()), []
    with watching(reports.append):
        tunamh.GLM(source, family=tunamh.Logistic()).modes
    assert {0.0, 0.5, 1.0} <= {report.share for report in reports}
    assert "looking for the mode" in {report.stage for report in reports}
    assert reports[-1].passes > 3
    assert reports[-1].rows == 300 * reports[-1].passes


def test_set_up_asks_a_source_as_often_as_the_page_says():
    source = InBlocks(two_blocks())
    tunamh.sample(tunamh.GLM(source, family=tunamh.Logistic()), draws=10, rng=1)
    before = source.asked
    assert 6 <= before <= 30
    tunamh.sample(tunamh.GLM(source, family=tunamh.Logistic()), draws=1000, rng=1)
    assert source.asked == 2 * before  # draws ask for nothing


def test_the_fingerprint_and_the_names_are_the_sources_own():
    """To the fingerprint a digest of all numbers is added."""
    source = InBlocks(two_blocks())
    source.names = ["a", "b"]
    target = tunamh.GLM(source, family=tunamh.Logistic())
    assert target.names == ["a", "b"]
    assert target.fingerprint.startswith("mine-")
    assert tunamh.sample(target, draws=10, rng=1).posterior.attrs["settings"].count("mine") == 1
    source.names = ["a"]
    with pytest.raises(ValueError, match="names 1 columns, but its rows have 2"):
        tunamh.GLM(source, family=tunamh.Logistic())


def nan_at(row, column):
    changed = X[150:].copy()
    changed[row, column] = np.nan
    return changed


HALF = np.ones(150)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (two_blocks(X=nan_at(7, 1)), "X has nan in row 157, column 1"),
        (two_blocks(y=np.where(np.arange(150) == 3, np.inf, 0.0)), "y has inf in row 153"),
        (two_blocks(X=np.ones((150, 3))), r"rows from 150 on have X of shape \(150, 3\).*2 columns"),
        (two_blocks(X=X[150:160]), r"rows from 150 on have X of shape \(10, 2\) and y of shape \(150,\)"),
        (two_blocks(y=Y[150:, None]), r"y of shape \(150, 1\)"),
        (two_blocks(y=np.where(np.arange(150) == 4, 2.0, 0.0)), "rows from 150 on, counted from there.*row 4"),
        (two_blocks(start=0), "starts at row 0, but 150 rows came before"),
        (two_blocks(start=151), "starts at row 151, but 150 rows"),
        (two_blocks(X=np.empty((0, 2)), y=np.empty(0)), "at row 150, is empty"),
        (two_blocks(weights=HALF), "rows from 150 on have weights, unlike the first block"),
        (two_blocks(offset=HALF), "rows from 150 on have offset, unlike the first block"),
        ([two_blocks()[0]._replace(offset=HALF), two_blocks()[1]], "rows from 150 on have no offset"),
        ([block._replace(weights=HALF[:149]) for block in two_blocks()], r"weights have shape \(149,\)"),
        ([block._replace(offset=np.full(150, np.nan)) for block in two_blocks()], "offset has nan in row 0"),
        ([block._replace(weights=HALF - 2 * (block.start > 0)) for block in two_blocks()], "row 150 has -1"),
        ([block._replace(X=block.X[:, 0]) for block in two_blocks()], "two dimensions"),
        ([], "no blocks"),
    ],
    ids=range(17),
)
def test_blocks_that_are_no_use_are_refused_by_row(blocks, message):
    with pytest.raises(ValueError, match=message):
        tunamh.GLM(InBlocks(blocks), family=tunamh.Logistic())


def test_a_wrong_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="says it has 301 rows, its blocks have 300 together"):
        tunamh.GLM(InBlocks(two_blocks(), n_rows=301), family=tunamh.Logistic())


@pytest.mark.parametrize("name", ["y", "weights", "offset"])
def test_nothing_is_given_beside_a_source(name):
    with pytest.raises(TypeError, match=f"a source gives its own {name}: leave {name}= out"):
        tunamh.GLM(InBlocks(two_blocks()), family=tunamh.Logistic(), **{name: Y})


def test_an_error_in_a_sources_own_reading_comes_through(own, tmp_path):
    source = in_files(own, tmp_path, ROWS_AT_ONCE)
    target = tunamh.GLM(source, family=tunamh.Logistic())
    source.paths[1].unlink()
    with pytest.raises(FileNotFoundError, match=str(ROWS_AT_ONCE)):
        tunamh.sample(target, rng=1)


def test_the_page_asks_for_nothing_private():
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S))
    assert not re.search(r"tunamh\._|tunamh\.(?!extend|sample|GLM|check_bounds|theory)\w", code)
    assert set(extend.__all__) <= set(dir(extend))


def test_tunamh_alone_does_not_load_it():
    code = "import sys, tunamh; print('tunamh.extend' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
