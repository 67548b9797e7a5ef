"""Designs: codes of categories and sparse matrices say the same as dense columns, in less memory."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import tunamh
from tunamh import GLM, MH, FlyMC, LogisticRegression, Normal, Taylor, TunaMH, check_bounds, sample
from tunamh._linear import Frame
from tunamh.extend import Factored, Rows
from tunamh.targets.designs import DenseDesign, IndexedDesign
from tunamh.targets.observations.inputs import as_design

RNG = np.random.default_rng(3)
N = 3000
MONTHS = [f"m{k:02d}" for k in range(13)]
FRAME = pd.DataFrame(
    {
        "const": np.ones(N),
        "x": RNG.normal(size=N),
        "carrier": pd.Categorical(RNG.choice(list("ABCD"), size=N, p=[0.5, 0.3, 0.15, 0.05])),
        "month": pd.Categorical(RNG.choice(MONTHS[:12], size=N), categories=MONTHS),  # the last never occurs
    }
)
DUMMIES = pd.get_dummies(
    FRAME.assign(month=FRAME.month.cat.remove_unused_categories()), drop_first=True, dtype=float, prefix_sep="["
)
DUMMIES.columns = [f"{name}]" if "[" in name else name for name in DUMMIES.columns]
Y = (RNG.random(N) < 1 / (1 + np.exp(1 - FRAME.x + (FRAME.carrier == "C")))).astype(float)


def designs():
    sparse = scipy.sparse.csr_array(RNG.normal(size=(50, 7)) * (RNG.random((50, 7)) < 0.3))
    yield "codes", as_design(FRAME)[0], DUMMIES.to_numpy()
    yield "sparse", as_design(sparse)[0], sparse.toarray()
    ones = (RNG.random((60, 5)) < 0.4).astype(float)
    yield "ones", as_design(scipy.sparse.coo_array(ones))[0], ones


@pytest.mark.parametrize("number", range(3))
def test_blocks_do_what_dense_ones_do(number):
    _, design, dense = list(designs())[number]
    assert isinstance(design, IndexedDesign)
    n, d = dense.shape
    rng = np.random.default_rng(1)
    theta, weight, matrix = rng.normal(size=d), rng.normal(size=n), rng.normal(size=(d, 3))
    frame = Frame(rng.normal(size=(d, d)), np.eye(d))
    kept = weight > 0
    for rows in (slice(None), slice(5, 40), np.array([3, 3, 17])):
        block, whole = design.block(rows), DenseDesign(dense).block(rows)
        w = weight[rows]
        assert block.dense() == pytest.approx(whole.dense())
        assert block.matvec(theta) == pytest.approx(whole.matvec(theta))
        assert block.matmat(matrix) == pytest.approx(whole.matmat(matrix))
        assert block.abs_matvec(theta) == pytest.approx(whole.abs_matvec(theta))
        assert block.rmatvec(w) == pytest.approx(whole.rmatvec(w))
        assert block.sandwich(w) == pytest.approx(whole.sandwich(w))
        assert block.sandwich(w, frame) == pytest.approx(whole.sandwich(w, frame))
        assert block.column_squares(kept[rows]) == pytest.approx(whole.column_squares(kept[rows]))
        assert block.row_norms() == pytest.approx(whole.row_norms())
        assert block.row_max() == pytest.approx(whole.row_max())
    which = np.arange(d) % 2 == 0
    assert design.on_columns(which).block(slice(None)).dense() == pytest.approx(dense[:, which])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_with_categories_are_coded(kind):
    table = {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "pyarrow": pa.Table.from_pandas(FRAME)}[kind]
    target = LogisticRegression(table, Y)
    assert sorted(target.names) == sorted(DUMMIES.columns)
    dense = LogisticRegression(DUMMIES[target.names], Y)
    assert target.rows.nbytes < 0.5 * dense.rows.nbytes
    theta = np.linspace(-1, 1, 16)
    assert target.expansion(theta).energy == pytest.approx(dense.expansion(theta).energy)


@pytest.mark.parametrize("test", [MH(), TunaMH(chi=0.1), FlyMC(q=0.1)], ids=repr)
def test_codes_give_the_same_draws_as_dummies(test):
    """The same posterior by the same steps; sums are added up in another order, so the last digits may differ."""
    settings = {"draws": 100, "tune": 50, "chains": 2, "rng": 1, "test": test}
    settings |= {"proposal": tunamh.RandomWalk(0.03), "init": np.zeros(16)}
    coded, dense = (sample(GLM(X, Y, tunamh.Logistic(), prior=Normal(scale=3)), **settings) for X in (FRAME, DUMMIES))
    assert coded.posterior["theta"].values == pytest.approx(dense.posterior["theta"].values, rel=1e-6, abs=1e-6)


def test_codes_give_the_same_posterior_as_dummies():
    coded, dense = (sample(LogisticRegression(X, Y), draws=2000, rng=k) for k, X in enumerate((FRAME, DUMMIES)))
    a, b = (tree.posterior["theta"].values.reshape(-1, 16) for tree in (coded, dense))
    assert coded.sample_stats["acceptance_rate"].mean() > 0.8
    assert np.abs((a.mean(axis=0) - b.mean(axis=0)) / b.std(axis=0)).max() < 5 * np.sqrt(2 / 4000)
    assert a.std(axis=0) == pytest.approx(b.std(axis=0), rel=0.08)


def test_the_compiled_side_agrees_row_by_row():
    for X, dense in ((FRAME, DUMMIES), (scipy.sparse.csr_array(DUMMIES.to_numpy() * 1.5), DUMMIES.to_numpy() * 1.5)):
        a, b = (LogisticRegression(table, Y, weights=np.linspace(1, 2, N)) for table in (X, dense))
        for one, other in ((a, b), (Taylor(order=2)(a), Taylor(order=2)(b))):
            rng, index, out = np.random.default_rng(2), np.arange(200), np.empty((2, 256))
            theta = 0.1 * rng.normal(size=16)
            for k, target in enumerate((one, other)):
                model = target.model()
                model.energies(theta, index, 200, model.data, out[k])
            assert out[0, :200] == pytest.approx(out[1, :200], rel=1e-7, abs=1e-9)
        assert check_bounds(a, pairs=5, rng=1) <= 1.0


def test_missing_categories_are_named():
    table = FRAME.assign(carrier=FRAME.carrier.where(FRAME.index != 7))
    with pytest.raises(ValueError, match="missing value in row 7, column carrier"):
        LogisticRegression(table, Y)


def test_a_pure_level_is_refused_by_name():
    y = Y.copy()
    y[FRAME.carrier == "D"] = 0
    with pytest.raises(tunamh.ImproperPosterior, match=r"carrier\[D\]"):
        sample(LogisticRegression(FRAME, y))


# ------------------------------------------------------------------------------------------ indices outside the shape


def spoiled(form, **arrays):
    """A matrix of three columns, of which SciPy did not look at what was put into its arrays."""
    found = scipy.sparse.coo_array(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]])).asformat(form)
    for name, values in arrays.items():
        setattr(found, name, np.array(values))
    return found


OUTSIDE = {
    "columns counted from 1": (lambda: spoiled("csr", indices=[1, 3, 2, 1, 3]), "column index 3.*count from 1"),
    "a negative column": (lambda: spoiled("csr", indices=[0, -1, 1, 0, 2]), "column index -1"),
    "a column far away": (lambda: spoiled("csr", indices=[0, 2, 1, 0, 10**6]), "column index 1000000"),
    "a row outside, by columns": (lambda: spoiled("csc", indices=[0, 10**6, 1, 0, 2]), "row index 1000000"),
    "a row outside, in a list": (lambda: spoiled("coo", row=[0, 0, 1, 2, 3]), "row index 3"),
    "a column outside, in a list": (lambda: spoiled("coo", col=[0, 2, 1, 0, -4]), "column index -4"),
    "a block outside": (lambda: spoiled("bsr", indices=[0, 2, 1, 0, 7]), "column index 7"),
    "rows that begin before their end": (lambda: spoiled("csr", indptr=[0, 4, 3, 5]), "indptr"),
    "rows beyond what is stored": (lambda: spoiled("csr", indptr=[0, 2, 3, 500]), "indptr"),
    "rows that are not there": (lambda: spoiled("csr", indptr=[0, 2, 5]), "indptr"),
    "a row that begins before the first": (lambda: spoiled("csr", indptr=[-9, 2, 3, 5]), "indptr"),
    "fewer values than indices": (lambda: spoiled("csr", data=[1.0, 2.0, 3.0]), "indptr"),
    "more values than indices": (lambda: spoiled("csr", data=np.ones(9)), "9 values and 5 indices"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_indices_outside_a_sparse_matrix_are_refused_before_anything_reads_them(name):
    make, told = OUTSIDE[name]
    with pytest.raises(ValueError, match=told):
        as_design(make())
    with pytest.raises(ValueError, match=told):
        tunamh.MixedModel(make(), [1, 0, 1], tunamh.Logistic(), groups=np.array([0, 0, 1]))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
def test_sparse_matrices_of_every_form_are_read_as_they_are(form):
    given = spoiled("coo").asformat(form)
    np.testing.assert_array_equal(as_design(given)[0].block(slice(None)).dense(), given.toarray())


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_complex_numbers_in_a_sparse_matrix_are_refused(form):
    with pytest.raises(TypeError, match="X holds complex numbers"):
        as_design(spoiled(form) * (1 + 1j))


class Changing:
    """Rows whose levels were right when they were looked at."""

    n_rows, names, fingerprint = 4, None, "rows"

    def __init__(self):
        self.positions = np.array([[0], [1], [-1], [0]])

    def map(self, function):
        X = Factored(np.empty((4, 0)), self.positions, 2)
        yield function(Rows(0, X, np.array([0.0, 1, 0, 1])))


def test_positions_of_a_source_are_looked_at_in_every_map():
    source = Changing()
    target = tunamh.GLM(source, family=tunamh.Logistic(), prior=Normal(scale=1.0))
    source.positions = np.array([[0], [1], [-1], [10**9]])
    with pytest.raises(ValueError, match="positions of levels outside -1 to 1"):
        tunamh.laplace(target)
    for positions in (np.array([[0.5], [1], [-1], [0]]), np.array([[0], [1], [-2], [0]])):
        source.positions = positions
        with pytest.raises(ValueError, match="positions of levels"):
            tunamh.GLM(source, family=tunamh.Logistic())


@pytest.mark.parametrize("what", ["X", "y", "weights", "offset"])
def test_complex_numbers_of_a_source_are_refused(what):
    class OfComplex(Changing):
        def map(self, function):
            rows = Rows(0, np.ones((4, 1)), np.array([0.0, 1, 0, 1]), np.ones(4), np.zeros(4))
            yield function(rows._replace(**{what: getattr(rows, what) + 1j}))

    with pytest.raises(TypeError, match=f"{what} of type complex128"):
        tunamh.GLM(OfComplex(), family=tunamh.Logistic())
