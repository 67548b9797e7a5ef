"""Small models of every kind that the library has, for golden draws and golden texts: public names only."""

from __future__ import annotations

import tempfile
import zlib
from functools import cache
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import pandas as pd
import scipy
import scipy.linalg  # its BLAS, too, counts below
from scipy import sparse
from threadpoolctl import threadpool_info

import tunamh
from tunamh import GLM, GroupEffects, MixedModel, Normal

_FEATURES = zlib.crc32(llvmlite.binding.get_host_cpu_features().flatten().encode())
_BLAS = " ".join(sorted({one.get("architecture", "unknown") for one in threadpool_info() if one["user_api"] == "blas"}))
MACHINE = (
    f"{numba.config.CPU_NAME}, {llvmlite.binding.get_host_cpu_name()} {_FEATURES:08x}, BLAS {_BLAS}, "
    f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
)
"""Where this is the same, draws have the same bits. BLAS takes its kernels by processor, or by OPENBLAS_CORETYPE."""

N = 600
_rng = np.random.default_rng(20)
X = np.column_stack([np.ones(N), _rng.standard_normal((N, 2))])
G = _rng.integers(8, size=N)
H = _rng.integers(4, size=N)
ETA = X @ [0.3, 0.6, -0.4] + (0.7 * _rng.standard_normal(8))[G] + (0.4 * _rng.standard_normal(4))[H]
LABELS = (_rng.random(N) < 1 / (1 + np.exp(-ETA))).astype(float)
REALS = ETA + 0.8 * _rng.standard_t(4, N)
COUNTS = _rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(ETA))).astype(float)
STEPS = np.digitize(ETA + _rng.logistic(size=N), [-1.0, 0.5, 2.0])
TIMES = np.exp(0.4 * ETA) * _rng.weibull(1.5, N)
ENDS = np.exp(0.5) * _rng.weibull(1.0, N)
POSITIVE = _rng.gamma(2.0, np.exp(ETA) / 2.0)
SHARES = _rng.beta(6 / (1 + np.exp(-ETA)), 6 / (1 + np.exp(ETA)))
CLASSES = np.argmax(np.column_stack([np.zeros(N), ETA, -0.5 * ETA]) + _rng.gumbel(size=(N, 3)), axis=1)
ZEROS = np.where(_rng.random(N) < 0.3, 0.0, _rng.poisson(np.exp(0.5 + 0.5 * X[:, 1])))
TRIALS = _rng.integers(1, 6, N)
SUCCESSES = _rng.binomial(TRIALS, 1 / (1 + np.exp(-ETA))).astype(float)
OFFSET = np.linspace(-0.5, 0.5, N)
SPREAD = ETA + np.exp(-0.3 + 0.4 * X[:, 2]) * _rng.standard_normal(N)
PLACE = np.array(["north", "south", "west"])[_rng.integers(3, size=N)]

TABLE = pd.DataFrame(
    {
        "x": X[:, 1],
        "z": X[:, 2],
        "place": PLACE,
        "g": [f"g{k}" for k in G],
        "late": LABELS,
        "delay": REALS,
        "spread": SPREAD,
        "visits": ZEROS,
        "step": STEPS,
    }
)


# ------------------------------------------------------------------------------------------------------- groups


def intercepts():
    return MixedModel(X, LABELS, tunamh.Logistic(), G)


def slopes():
    return MixedModel(X, LABELS, tunamh.Logistic(), GroupEffects(G, X[:, :2], name="g"), prior=Normal(scale=2.5))


def crossed():
    return MixedModel(X, LABELS, tunamh.Logistic(), [GroupEffects(G, name="g"), GroupEffects(H, name="h")])


def known_group_scale():
    return MixedModel(X, LABELS, tunamh.Logistic(), GroupEffects(G, scale=0.7))


def groups_of(family, y, columns=X):
    return lambda: MixedModel(columns, y, family, G)


def effects_not_kept():
    return MixedModel(X, LABELS, tunamh.Logistic(), G, keep_effects=False)


def pure_level():
    """200 of 4,000 rows have a dummy, and no event."""
    rng = np.random.default_rng(3)
    n = 4000
    columns = np.column_stack([np.ones(n), rng.standard_normal((n, 5)), np.arange(n) < 200])
    eta = columns @ [-1, 0.3, -0.3, 0.2, 0, 0.5, 0]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))) & (columns[:, -1] == 0)
    return tunamh.LogisticRegression(columns, y.astype(float), prior=Normal(scale=2.5))


def thin_levels():
    """Levels that have ever fewer rows, and events in few of them."""
    rng = np.random.default_rng(4)
    n, levels = 3000, 12
    share = 1 / np.arange(1, levels + 1) ** 2.0
    codes = rng.choice(levels, size=n, p=share / share.sum())
    table = pd.DataFrame({"one": np.ones(n), "x": rng.standard_normal(n), "level": pd.Categorical(codes)})
    eta = -2.5 + 0.3 * table["x"].to_numpy() + rng.standard_normal(levels)[codes]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return tunamh.LogisticRegression(table, y, prior=Normal(scale=2.5))


def trajectories():
    """Five factors of six levels with few events: far from Gaussian in many directions."""
    rng = np.random.default_rng(5)
    n = 400
    table = pd.DataFrame({"one": np.ones(n)} | {f"f{k}": pd.Categorical(rng.integers(6, size=n)) for k in range(5)})
    y = rng.random(n) < 1 / (1 + np.exp(4.0 - 0.3 * rng.standard_normal(n)))
    return tunamh.LogisticRegression(table, y, prior=Normal(scale=2.5))


# ------------------------------------------------------------------------------ families, priors, predictors


def of(family, y, columns=X, **given):
    return lambda: GLM(columns, y, family, **given)


def censored():
    return GLM(X, np.minimum(TIMES, ENDS), tunamh.Weibull(), censored=TIMES > ENDS)


def horseshoe():
    return GLM(X, LABELS, tunamh.Logistic(), prior=tunamh.priors.Horseshoe(0.5))


def grouped_prior():
    return GLM(X, LABELS, tunamh.Logistic(), prior=tunamh.priors.Grouped([0, 1, 1]))


def trials_and_offset():
    return GLM(X, SUCCESSES, tunamh.Logistic(), trials=TRIALS, offset=OFFSET, prior=Normal(scale=2.5))


def by_hand(eta, y):
    return np.logaddexp(0, eta) - y * eta


def gumbel(eta, zeta, y):
    z = (y - eta) * np.exp(-zeta)
    return z + np.exp(-z) + zeta


def own_family():
    return GLM(X, LABELS, tunamh.family(by_hand, convex=True), prior=Normal(scale=2.5))


def own_family_of_two():
    return GLM(X, REALS, tunamh.family(gumbel), prior=Normal(scale=5.0))


def sparse_columns():
    return GLM(sparse.csr_matrix(np.where(np.abs(X) < 0.8, 0.0, X)), LABELS, tunamh.Logistic())


# ------------------------------------------------------------------------------------------- formulas, sources


def formula(text, family, **given):
    return lambda: tunamh.regression(text, TABLE, family=family, **given)


INFLATED = tunamh.ZeroInflated(tunamh.Poisson())
FORMULAS = {
    "logistic": formula("late ~ x * place + z", tunamh.Logistic()),
    "groups": formula("late ~ x + (1 | g)", tunamh.Logistic()),
    "slopes": formula("delay ~ x + (x | g)", tunamh.Gaussian()),
    "scale": formula("spread ~ x + z", tunamh.Gaussian(), predictors={"scale": "~ z"}),
    "inflated": formula("visits ~ x", INFLATED, predictors={"inflation": "~ z"}),
    "ordinal": formula("step ~ x + z", tunamh.Ordinal()),
    "robust": formula("delay ~ x + place", tunamh.StudentT(4)),
}

_BLOCKS = [TABLE.iloc[k : k + 150].reset_index(drop=True) for k in range(0, N, 150)]
_LITTLE = 4096  # bytes, into which the rows do not fit


def gathered():
    return tunamh.LogisticRegression(tunamh.open_rows(_BLOCKS, memory=_LITTLE)[["x", "z", "place"]], y="late")


def gathered_scale():
    return GLM(tunamh.open_rows(_BLOCKS, memory=_LITTLE)[["x", "z"]], "delay", tunamh.StudentT(4))


@cache
def _folder():
    """Gone when the process ends."""
    return tempfile.TemporaryDirectory()


def _file():
    path = Path(_folder().name) / "rows.parquet"
    if not path.exists():
        TABLE.to_parquet(path, row_group_size=200)
    return path


def gathered_parquet():
    return tunamh.LogisticRegression(tunamh.open_rows(_file(), memory=_LITTLE)[["x", "z", "place"]], y="late")


def held_parquet():
    return tunamh.LogisticRegression(tunamh.open_rows(_file())[["x", "z"]], y="late")


def formula_of_blocks():
    return tunamh.regression("late ~ x + place", tunamh.open_rows(_BLOCKS), family=tunamh.Logistic())


# --------------------------------------------------------------------------------------------------- estimators


RUN = {"draws": 40, "tune": 100, "chains": 2}
SEED = 7


def fitted_labels():
    return tunamh.BayesianLogisticRegression(random_state=SEED, **RUN).fit(X[:, 1:], CLASSES > 0).posterior_


def fitted_counts():
    return tunamh.BayesianGLM(tunamh.NegativeBinomial(), random_state=SEED, **RUN).fit(X[:, 1:], COUNTS).posterior_


def fitted_reals():
    return tunamh.BayesianRobustRegression(random_state=SEED, **RUN).fit(X[:, 1:], REALS).posterior_
