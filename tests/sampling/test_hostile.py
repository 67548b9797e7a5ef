"""What a newcomer may try, and the message a person gets: every one a whole sentence that names the argument.

The table is meant to be read: an expression, the kind of error, and its text from beginning to end.
"""

import math
import re
from datetime import datetime

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunamh
from conftest import logistic_data
from tunamh import (
    GLM,
    MH,
    EnergyTarget,
    LogisticRegression,
    Normal,
    RandomWalk,
    RobustRegression,
    Taylor,
    TunaMH,
    priors,
    sample,
)

X, Y = logistic_data(200, 3)


def frame(table):
    return pd.DataFrame(table, columns=["age", "dose", "weight"])


def changed(array, where, value):
    array = np.array(array)
    array[where] = value
    return array


def target():
    return LogisticRegression(X, Y)


def plain(*arguments):
    return 0.0


@numba.njit
def square(theta, row):
    return (row[0] - theta[0]) ** 2


HOSTILE = {
    "X None": (
        lambda: LogisticRegression(None, Y),
        TypeError,
        "X is None: pass an array or a table of numbers.",
    ),
    "y None": (
        lambda: LogisticRegression(X, None),
        TypeError,
        "y is missing: give the responses, one per row of X, or a source that has them.",
    ),
    "X a text": (
        lambda: LogisticRegression("data.csv", Y),
        TypeError,
        "X is a str, not a table of numbers: pass an array, a list or a table.",
    ),
    "X a number": (
        lambda: LogisticRegression(3.0, Y),
        ValueError,
        "X must have two dimensions (rows, columns), got shape ().",
    ),
    "X a dict of columns": (
        lambda: LogisticRegression({"a": [1.0, 2.0]}, [0, 1]),
        TypeError,
        "X is a dict, not a table of numbers: pass pandas.DataFrame(X).",
    ),
    "X a generator": (
        lambda: LogisticRegression((row for row in X), Y),
        TypeError,
        "X is a generator, not a table of numbers: pass an array, a list or a table.",
    ),
    "X a set": (
        lambda: LogisticRegression({1.0, 2.0}, [0, 1]),
        TypeError,
        "X is a set, not a table of numbers: pass an array, a list or a table.",
    ),
    "X a class": (
        lambda: LogisticRegression(np.ndarray, Y),
        TypeError,
        "X is the class ndarray, not a table of numbers: pass a value.",
    ),
    "X ragged": (
        lambda: LogisticRegression([[1.0, 2.0], [3.0]], [0, 1]),
        TypeError,
        "X holds rows of different lengths: pass a table of numbers.",
    ),
    "X one dimension": (
        lambda: LogisticRegression(X[:, 0], Y),
        ValueError,
        "X must have two dimensions (rows, columns), got shape (200,); for a single column pass "
        "X.reshape(-1, 1) or X.to_frame().",
    ),
    "X three dimensions": (
        lambda: LogisticRegression(X[None], Y),
        ValueError,
        "X must have two dimensions (rows, columns), got shape (1, 200, 3).",
    ),
    "X no rows": (
        lambda: LogisticRegression(X[:0], Y[:0]),
        ValueError,
        "X has no rows (shape (0, 3)).",
    ),
    "X no columns": (
        lambda: LogisticRegression(X[:, :0], Y),
        ValueError,
        "X has no columns (shape (200, 0)).",
    ),
    "X empty frame": (
        lambda: LogisticRegression(pd.DataFrame(), []),
        ValueError,
        "X has no rows (shape (0, 0)).",
    ),
    "X lazy": (
        lambda: LogisticRegression(pl.DataFrame(X).lazy(), Y),
        TypeError,
        "X is a lazy frame, which has no rows yet: pass X.collect().",
    ),
    "X structured": (
        lambda: LogisticRegression(np.zeros(3, [("a", float), ("b", float)]), [0, 1, 0]),
        TypeError,
        "X is a structured array: pass numpy.lib.recfunctions.structured_to_unstructured(X).",
    ),
    "X masked": (
        lambda: LogisticRegression(np.ma.masked_greater(X, 2.0), Y),
        ValueError,
        "X has a masked value in row 26, column 1: drop or fill such rows first.",
    ),
    "X NaN": (
        lambda: LogisticRegression(changed(X, (17, 1), np.nan), Y),
        ValueError,
        "X has nan in row 17, column 1; every value must be finite: drop or fill such rows first.",
    ),
    "X NaN in a frame": (
        lambda: LogisticRegression(frame(changed(X, (17, 1), np.nan)), Y),
        ValueError,
        "X has nan in row 17, column dose; every value must be finite: drop or fill such rows first.",
    ),
    "X infinite": (
        lambda: RobustRegression(changed(X, (17, 1), -np.inf), Y, scale=1.0),
        ValueError,
        "X has -inf in row 17, column 1; every value must be finite: drop or fill such rows first.",
    ),
    "X 1e300": (
        lambda: RobustRegression(frame(changed(X, (17, 1), 1e300)), Y, scale=1.0),
        ValueError,
        "X has 1e+300 in row 17, column dose, which is too large to compute with (beyond 1e+100): rescale the column.",
    ),
    "X long double": (
        lambda: RobustRegression(changed(X.astype(np.longdouble), (17, 1), np.longdouble("1e4000")), Y, scale=1.0),
        ValueError,
        "X has a number too large to compute with in row 17, column 1: rescale the column.",
    ),
    "X huge integer": (
        lambda: RobustRegression([[1.0], [10**400]], [0.0, 1.0], scale=1.0),
        ValueError,
        "X has a number too large to compute with in row 1, column 0: rescale the column.",
    ),
    "X complex": (
        lambda: LogisticRegression(X + 1j, Y),
        TypeError,
        "X holds complex numbers: pass real numbers, such as the real and the imaginary part as two columns.",
    ),
    "X complex objects": (
        lambda: LogisticRegression([[1j, None]], [1]),
        TypeError,
        "X holds complex numbers in column 0: pass real numbers, such as the real and the imaginary part as "
        "two columns.",
    ),
    "X numpy text": (
        lambda: LogisticRegression(X.astype(str), Y),
        TypeError,
        "X holds text: code categories as 0/1 columns (pandas.get_dummies, polars to_dummies), and convert "
        "numbers stored as text with astype(float).",
    ),
    "X numpy dates": (
        lambda: LogisticRegression(np.full((2, 1), "2020-01-01", "M8[D]"), [0, 1]),
        TypeError,
        "X holds dates or times: turn them into numbers first, such as days since the first day.",
    ),
    "X None inside": (
        lambda: LogisticRegression([[1.0, 2.0], [3.0, None]], [0, 1]),
        ValueError,
        "X has a missing value in row 1, column 1: drop or fill such rows first.",
    ),
    "X text inside": (
        lambda: LogisticRegression([[1.0, object()]], [0]),
        TypeError,
        "X holds values of type object in column 1: every value must be a number.",
    ),
    "pandas text digits": (
        lambda: LogisticRegression(pd.DataFrame({"age": [1.0, 2.0], "zip": ["02134", "10001"]}), [0, 1]),
        TypeError,
        "X holds text in column zip: code categories as 0/1 columns (pandas.get_dummies, polars to_dummies), "
        "and convert numbers stored as text with astype(float).",
    ),
    "pandas object digits": (
        lambda: LogisticRegression(
            pd.DataFrame({"age": [1.0, 2.0], "zip": pd.Series(["1", "2"], dtype=object)}), [0, 1]
        ),
        TypeError,
        "X holds text in column zip: code categories as 0/1 columns (pandas.get_dummies, polars to_dummies), "
        "and convert numbers stored as text with astype(float).",
    ),
    "pandas dates": (
        lambda: LogisticRegression(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}), [0, 1]),
        TypeError,
        "X holds dates or times in column day: turn them into numbers first, such as days since the first day.",
    ),
    "pandas zoned dates": (
        lambda: LogisticRegression(pd.DataFrame({"day": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}), [0]),
        TypeError,
        "X holds dates or times in column day: turn them into numbers first, such as days since the first day.",
    ),
    "pandas missing": (
        lambda: LogisticRegression(pd.DataFrame({"age": [1.0, 2.0], "n": pd.array([1, None], "Int64")}), [0, 1]),
        ValueError,
        "X has a missing value in row 1, column n: drop or fill such rows first.",
    ),
    "pandas repeated names": (
        lambda: LogisticRegression(pd.DataFrame(X, columns=["a", "b", "a"]), Y),
        ValueError,
        "X has more than one column of the name a: rename or drop columns.",
    ),
    "polars text digits": (
        lambda: LogisticRegression(
            pl.DataFrame({"age": [1.0, 2.0], "zip": ["02134", "10001"], "id": ["1", "2"]}), [0, 1]
        ),
        TypeError,
        "X holds text in columns zip, id: code categories as 0/1 columns (pandas.get_dummies, polars "
        "to_dummies), and convert numbers stored as text with astype(float).",
    ),
    "polars dates": (
        lambda: LogisticRegression(pl.DataFrame({"at": [datetime(2020, 1, 1), datetime(2020, 1, 2)]}), [0, 1]),
        TypeError,
        "X holds dates or times in column at: turn them into numbers first, such as days since the first day.",
    ),
    "polars missing": (
        lambda: LogisticRegression(pl.DataFrame({"age": [1.0, None]}), [0, 1]),
        ValueError,
        "X has a missing value in row 1, column age: drop or fill such rows first.",
    ),
    "polars lists": (
        lambda: LogisticRegression(pl.DataFrame({"age": [[1.0], [2.0]]}), [0, 1]),
        TypeError,
        "X holds values of type list(float64) in column age: every value must be a number.",
    ),
    "arrow text digits": (
        lambda: LogisticRegression(pa.table({"age": [1.0, 2.0], "zip": ["02134", "10001"]}), [0, 1]),
        TypeError,
        "X holds text in column zip: code categories as 0/1 columns (pandas.get_dummies, polars to_dummies), "
        "and convert numbers stored as text with astype(float).",
    ),
    "arrow dates": (
        lambda: LogisticRegression(pa.table({"at": [datetime(2020, 1, 1), datetime(2020, 1, 2)]}), [0, 1]),
        TypeError,
        "X holds dates or times in column at: turn them into numbers first, such as days since the first day.",
    ),
    "arrow missing": (
        lambda: LogisticRegression(pa.table({"age": [1.0, None]}), [0, 1]),
        ValueError,
        "X has a missing value in row 1, column age: drop or fill such rows first.",
    ),
    "arrow repeated names": (
        lambda: LogisticRegression(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), [0]),
        ValueError,
        "X has more than one column of the name a: rename or drop columns.",
    ),
    "other labels": (
        lambda: LogisticRegression(frame(X), pd.Series(Y, index=np.arange(1, 201))),
        ValueError,
        "The row labels (pandas index) of X and y differ (label 0 of X is not in y). Bring both to the same "
        "labels, or, if their rows are in the same order, pass X.reset_index(drop=True) and "
        "y.reset_index(drop=True).",
    ),
    "repeated labels": (
        lambda: LogisticRegression(frame(X), pd.Series(Y, index=np.zeros(200))),
        ValueError,
        "The row labels (pandas index) of X and y repeat and are not in the same order. Bring both to the "
        "same labels, or, if their rows are in the same order, pass X.reset_index(drop=True) and "
        "y.reset_index(drop=True).",
    ),
    "labels of weights": (
        lambda: LogisticRegression(X, pd.Series(Y), weights=pd.Series(np.ones(200), index=np.arange(200) + 7)),
        ValueError,
        "The row labels (pandas index) of y and weights differ (label 0 of y is not in weights). Bring both "
        "to the same labels, or, if their rows are in the same order, pass y.reset_index(drop=True) and "
        "weights.reset_index(drop=True).",
    ),
    "y too short": (
        lambda: LogisticRegression(X, Y[:-1]),
        ValueError,
        "y has 199 entries, but there are 200 rows.",
    ),
    "y a frame of two columns": (
        lambda: LogisticRegression(X, frame(X)[["age", "dose"]]),
        ValueError,
        "y must be one column, got 2 (age, dose): pass one of them.",
    ),
    "y two columns": (
        lambda: LogisticRegression(X, X[:, :2]),
        ValueError,
        "y must have one dimension, got shape (200, 2).",
    ),
    "y a number": (
        lambda: LogisticRegression(X, 1),
        ValueError,
        "y must have one dimension, got shape ().",
    ),
    "y NaN": (
        lambda: RobustRegression(X, changed(Y, 4, np.nan), scale=1.0),
        ValueError,
        "y has nan in row 4; every value must be finite: drop or fill such rows first.",
    ),
    "y 1e300": (
        lambda: RobustRegression(X, changed(Y, 4, 1e300), scale=1.0),
        ValueError,
        "y has 1e+300 in row 4, which is too large to compute with (beyond 1e+100): rescale the column.",
    ),
    "y missing": (
        lambda: LogisticRegression([[1.0], [2.0]], pd.array([True, None], "boolean")),
        ValueError,
        "y has a missing value in row 1: drop or fill such rows first.",
    ),
    "y text": (
        lambda: LogisticRegression(X, np.where(Y == 1, "yes", "no")),
        TypeError,
        "y holds text: code the two classes as 0 and 1, for example y == 'yes', and convert numbers stored as "
        "text with astype(float).",
    ),
    "y pandas text": (
        lambda: LogisticRegression(X, pd.Series(np.where(Y == 1, "yes", "no"))),
        TypeError,
        "y holds text: code the two classes as 0 and 1, for example y == 'yes', and convert numbers stored as "
        "text with astype(float).",
    ),
    "y polars text": (
        lambda: LogisticRegression(X, pl.Series(np.where(Y == 1, "yes", "no"))),
        TypeError,
        "y holds text: code the two classes as 0 and 1, for example y == 'yes', and convert numbers stored as "
        "text with astype(float).",
    ),
    "y arrow text": (
        lambda: LogisticRegression(X, pa.array(np.where(Y == 1, "yes", "no"))),
        TypeError,
        "y holds text: code the two classes as 0 and 1, for example y == 'yes', and convert numbers stored as "
        "text with astype(float).",
    ),
    "y categories": (
        lambda: LogisticRegression(X, pd.Series(np.where(Y == 1, "yes", "no"), dtype="category")),
        TypeError,
        "y holds categories: code the two classes as 0 and 1, for example y == 'yes'.",
    ),
    "y dates": (
        lambda: RobustRegression(X, np.full(200, "2020-01-01", "M8[D]"), scale=1.0),
        TypeError,
        "y holds dates or times: turn them into numbers first, such as days since the first day.",
    ),
    "y labels -1 and 1": (
        lambda: LogisticRegression(X, 2 * Y - 1),
        ValueError,
        "labels in y must be 0 or 1, but row 0 has -1: code the two classes as 0 and 1.",
    ),
    "y proportions": (
        lambda: LogisticRegression(X, 0.5 * Y),
        ValueError,
        "labels in y must be 0 or 1, but row 1 has 0.5: give successes, and their number of trials as trials=.",
    ),
    "y counts as labels": (
        lambda: GLM(X, np.arange(200), tunamh.Probit()),
        ValueError,
        "labels in y must be 0 or 1, but row 2 has 2: for counts take Poisson() or NegativeBinomial(), for the codes "
        "of several classes Categorical() or Ordinal().",
    ),
    "y amounts as labels": (
        lambda: LogisticRegression(X, np.linspace(0.5, 137.28, 200)),
        ValueError,
        "labels in y must be 0 or 1, but row 0 has 0.5: for measurements take Gaussian() or StudentT(), for positive "
        "amounts also Gamma() or LogNormal().",
    ),
    "y labels 1 and 2": (
        lambda: GLM(X, Y + 1, tunamh.Probit()),
        ValueError,
        "labels in y must be 0 or 1, but row 1 has 2: code the two classes as 0 and 1.",
    ),
    "y fractions of counts": (
        lambda: GLM(X, Y + 0.5, tunamh.SoftplusPoisson()),
        ValueError,
        "y must hold counts (whole numbers from 0 to 1e+15), but row 0 has 0.5: for amounts that are not whole take "
        "Gamma() or LogNormal(), for numbers of any sign Gaussian().",
    ),
    "y negative counts": (
        lambda: GLM(X, Y - 1, tunamh.NegativeBinomial(1.0)),
        ValueError,
        "y must hold counts (whole numbers from 0 to 1e+15), but row 0 has -1: correct a negative count, or "
        "make it missing if it is a code; for differences of counts take Gaussian().",
    ),
    "weights too short": (
        lambda: LogisticRegression(X, Y, weights=[1.0]),
        ValueError,
        "weights has 1 entries, but there are 200 rows.",
    ),
    "weights negative": (
        lambda: LogisticRegression(X, Y, weights=changed(np.ones(200), 3, -1.0)),
        ValueError,
        "weights must not be negative, but row 3 has -1.",
    ),
    "weights all zero": (
        lambda: LogisticRegression(X, Y, weights=np.zeros(200)),
        ValueError,
        "weights are all zero, so that no row counts: at least one must be positive.",
    ),
    "weights infinite": (
        lambda: LogisticRegression(X, Y, weights=changed(np.ones(200), 3, np.inf)),
        ValueError,
        "weights has inf in row 3; every value must be finite: drop or fill such rows first.",
    ),
    "weights 1e200": (
        lambda: LogisticRegression(X, Y, weights=changed(np.ones(200), 3, 1e200)),
        ValueError,
        "weights has 1e+200 in row 3, which is too large to compute with (beyond 1e+100): rescale the column.",
    ),
    "weights text": (
        lambda: LogisticRegression(X, Y, weights=["1"] * 200),
        TypeError,
        "weights holds text: convert numbers stored as text with astype(float).",
    ),
    "temper text": (
        lambda: LogisticRegression(X, Y, temper="cold"),
        TypeError,
        "temper must be a number, got 'cold' (str).",
    ),
    "temper 0": (
        lambda: LogisticRegression(X, Y, temper=0.0),
        ValueError,
        "temper must be positive and finite, got 0.0.",
    ),
    "family a class": (
        lambda: GLM(X, Y, tunamh.Logistic),
        TypeError,
        "family must be a value such as Logistic(...), got the class Logistic.",
    ),
    "family a word": (
        lambda: GLM(X, Y, "logit"),
        ValueError,
        "there is no family 'logit'. Is logistic meant? Known are cloglog, logistic, probit (0 or 1); gaussian, huber, "
        "logistic-errors, student-t (real); hurdle-poisson, negative-binomial, poisson, zero-inflated-poisson, zero-"
        "inflated-negative-binomial (counts); exponential, gamma, loglogistic, lognormal, piecewise-exponential, "
        "weibull (positive); beta (proportions); categorical, ordinal (classes).",
    ),
    "StudentT dict": (
        lambda: tunamh.StudentT(4, {"a": 1.0}),
        TypeError,
        "scale must be a number, got {'a': 1.0} (dict).",
    ),
    "StudentT text": (
        lambda: tunamh.StudentT("4", scale=1.0),
        TypeError,
        "df must be a number (known), a prior of a positive parameter such as tunamh.HalfNormal(2.5), or left "
        "out (unknown, with a default prior), got '4' (str).",
    ),
    "StudentT NaN": (
        lambda: tunamh.StudentT(math.nan, scale=1.0),
        ValueError,
        "df must be a number, got nan.",
    ),
    "Gaussian tiny": (
        lambda: tunamh.Gaussian(1e-200),
        ValueError,
        "scale must lie between 1e-50 and 1e+50, got 1e-200: measure the data in other units.",
    ),
    "Gaussian huge integer": (
        lambda: tunamh.Gaussian(10**400),
        ValueError,
        "scale is a number too large to compute with: 100000000000000000000000000000000000000000000000000000000....",
    ),
    "Huber negative": (
        lambda: tunamh.Huber(-1.0, scale=1.0),
        ValueError,
        "delta must be positive and finite, got -1.0.",
    ),
    "NegativeBinomial array": (
        lambda: tunamh.NegativeBinomial([1.0, 2.0]),
        TypeError,
        "dispersion must be a number (known), a prior of a positive parameter such as tunamh.HalfNormal(2.5), or left "
        "out (unknown, with a default prior), got [1.0, 2.0] (list).",
    ),
    "prior a word": (
        lambda: LogisticRegression(X, Y, prior="normal"),
        TypeError,
        "prior must be None, tunamh.Normal(...), another of tunamh.priors or an @numba.njit function, got 'normal' "
        "(str).",
    ),
    "prior a class": (
        lambda: LogisticRegression(X, Y, prior=Normal),
        TypeError,
        "prior is the class Normal: give a value, such as Normal(...).",
    ),
    "prior a plain function": (
        lambda: LogisticRegression(X, Y, prior=plain),
        TypeError,
        "prior is a plain Python function: compile it first with @numba.njit.",
    ),
    "prior of another size": (
        lambda: LogisticRegression(X, Y, prior=Normal(scale=[1, 2])),
        ValueError,
        "scale of the prior must be a number or have 3 entries, one per column, got 2.",
    ),
    "prior dict unknown": (
        lambda: LogisticRegression(frame(X), Y, prior=Normal(scale={"age": 1, "dose": 1, "height": 2})),
        ValueError,
        "scale of the prior names height and leaves out weight; it must name every column of the data and no "
        "other: age, dose, weight.",
    ),
    "prior dict short": (
        lambda: LogisticRegression(frame(X), Y, prior=Normal(mean={"age": 1})),
        ValueError,
        "mean of the prior leaves out dose, weight; it must name every column of the data and no other: age, "
        "dose, weight.",
    ),
    "prior Series by number": (
        lambda: LogisticRegression(frame(X), Y, prior=Normal(scale=pd.Series([1.0, 2.0, 3.0]))),
        ValueError,
        "scale of the prior names 0, 1, 2 and leaves out age, dose, weight; it must name every column of the "
        "data and no other: age, dose, weight.",
    ),
    "prior scale negative": (
        lambda: Normal(scale=-1),
        ValueError,
        "scale of the prior must be positive and finite, got -1.0.",
    ),
    "prior scale text": (
        lambda: Normal(scale="wide"),
        TypeError,
        "scale of the prior must hold numbers only, got 'wide' (str).",
    ),
    "prior scale None": (
        lambda: Normal(scale=None),
        TypeError,
        "scale of the prior must hold numbers only, got None.",
    ),
    "prior scale matrix": (
        lambda: Normal(scale=np.eye(3)),
        ValueError,
        "scale of the prior must be a number or one number per column, got shape (3, 3).",
    ),
    "prior mean NaN": (
        lambda: Normal(mean=[0.0, math.nan]),
        ValueError,
        "mean of the prior has nan at position (1,); every value must be finite.",
    ),
    "prior a family": (
        lambda: LogisticRegression(X, Y, prior=tunamh.StudentT(4, scale=1.0)),
        TypeError,
        "prior is the family StudentT(df=4.0, scale=1.0): priors are tunamh.Normal and those in tunamh.priors.",
    ),
    "prior a dict": (
        lambda: LogisticRegression(X, Y, prior={"age": Normal()}),
        TypeError,
        "prior is a dict: priors by column name are tunamh.priors.ByName({...}).",
    ),
    "prior by name unknown": (
        lambda: LogisticRegression(frame(X), Y, prior=priors.ByName({"height": Normal()}, others=Normal())),
        ValueError,
        "ByName names height; the columns of the data are age, dose, weight.",
    ),
    "prior by name short": (
        lambda: LogisticRegression(frame(X), Y, prior=priors.ByName({"age": Normal()})),
        ValueError,
        "ByName leaves out dose, weight; it must name every column of the data and no other: age, dose, weight.",
    ),
    "prior by name a number": (
        lambda: priors.ByName({"age": 2.5}),
        TypeError,
        "the prior for age must be Cauchy, Flat, Laplace, Logistic, Normal or StudentT of tunamh.priors, got 2.5.",
    ),
    "prior by name a class": (
        lambda: priors.ByName({}, others=priors.Flat),
        TypeError,
        "the prior for others is the class Flat: give a value, such as Flat(...).",
    ),
    "prior by name with lists": (
        lambda: priors.ByName({"age": Normal(scale=[1, 2])}),
        ValueError,
        "scale of the prior for age must be one number, because this prior is for one coefficient.",
    ),
    "prior df zero": (
        lambda: priors.StudentT(df=0),
        ValueError,
        "df of the prior must be positive and finite, got 0.0.",
    ),
    "prior scale and covariance": (
        lambda: Normal(scale=2, covariance=np.eye(3)),
        ValueError,
        "Normal takes scale= or covariance=, not both: the covariance holds the scales.",
    ),
    "prior covariance indefinite": (
        lambda: Normal(covariance=[[1, 2], [2, 1]]),
        ValueError,
        "covariance of the prior is not positive definite: some combination of coefficients would have no variance.",
    ),
    "prior covariance asymmetric": (
        lambda: Normal(covariance=[[1, 0.5], [0.2, 1]]),
        ValueError,
        "covariance of the prior must be symmetric.",
    ),
    "prior covariance a vector": (
        lambda: Normal(covariance=[1, 2, 3]),
        ValueError,
        "covariance of the prior must be a square table, a row and a column per coefficient, got shape (3,).",
    ),
    "prior covariance of another size": (
        lambda: LogisticRegression(X, Y, prior=Normal(covariance=np.eye(2))),
        ValueError,
        "covariance of the prior must have 3 rows and columns, one per column of X, got 2.",
    ),
    "sample of a matrix": (
        lambda: sample(X),
        TypeError,
        "target must be a tunamh target such as LogisticRegression(X, y), got a ndarray of shape (200, 3).",
    ),
    "sample of a class": (
        lambda: sample(LogisticRegression),
        TypeError,
        "target must be a tunamh target such as LogisticRegression(X, y), got the class LogisticRegression.",
    ),
    "test a proposal": (
        lambda: sample(target(), test=RandomWalk()),
        TypeError,
        "test must be an acceptance test such as TunaMH() or MH(), got RandomWalk(scale=None, acceptance=0.25).",
    ),
    "test a class": (
        lambda: sample(target(), test=MH),
        TypeError,
        "test must be an acceptance test such as TunaMH() or MH(), got the class MH.",
    ),
    "test a word": (
        lambda: sample(target(), test="MH"),
        TypeError,
        "test must be an acceptance test such as TunaMH() or MH(), got 'MH' (str).",
    ),
    "proposal a test": (
        lambda: sample(target(), proposal=MH()),
        TypeError,
        "proposal is MH(), which is an acceptance test: pass it as test= instead.",
    ),
    "proposal a class": (
        lambda: sample(target(), proposal=RandomWalk),
        TypeError,
        "proposal is the class RandomWalk: give a value, such as RandomWalk().",
    ),
    "proposal a prior": (
        lambda: sample(target(), proposal=Normal()),
        TypeError,
        "proposal must be RandomWalk(...), Autoregressive(...), NeighbourWalk() or an @numba.njit function, "
        "got Normal(mean=0.0, scale=1.0).",
    ),
    "proposal a plain function": (
        lambda: sample(target(), proposal=plain),
        TypeError,
        "proposal is a plain Python function: compile it first with @numba.njit.",
    ),
    "proposal a number": (
        lambda: sample(target(), proposal=0.1),
        TypeError,
        "proposal must be RandomWalk(...), Autoregressive(...), NeighbourWalk() or an @numba.njit function, got 0.1.",
    ),
    "control a test": (
        lambda: sample(target(), control=MH()),
        TypeError,
        "control must be a control variate such as Taylor(order=2), got MH().",
    ),
    "control a class": (
        lambda: sample(target(), control=Taylor),
        TypeError,
        "control must be a control variate such as Taylor(order=2), got the class Taylor.",
    ),
    "draws 2.5": (
        lambda: sample(target(), draws=2.5),
        ValueError,
        "draws must be a whole number, got 2.5.",
    ),
    "draws text": (
        lambda: sample(target(), draws="1000"),
        TypeError,
        "draws must be a whole number, got '1000' (str).",
    ),
    "draws None": (
        lambda: sample(target(), draws=None),
        TypeError,
        "draws must be a whole number, got None.",
    ),
    "draws without end": (
        lambda: sample(target(), draws=10**30),
        ValueError,
        "draws must be at most 1e+15, got 1000000000000000000000000000000.",
    ),
    "draws infinite": (
        lambda: sample(target(), draws=math.inf),
        ValueError,
        "draws must be a whole number, got inf.",
    ),
    "tune negative": (
        lambda: sample(target(), tune=-1),
        ValueError,
        "tune must be a whole number of at least 0, got -1.",
    ),
    "chains 0": (
        lambda: sample(target(), chains=0),
        ValueError,
        "chains must be a whole number of at least 1, got 0.",
    ),
    "chains a list": (
        lambda: sample(target(), chains=[4]),
        TypeError,
        "chains must be a whole number, got [4] (list).",
    ),
    "cores text": (
        lambda: sample(target(), cores="all"),
        TypeError,
        "cores must be a whole number, got 'all' (str).",
    ),
    "thin True": (
        lambda: sample(target(), thin=True),
        TypeError,
        "thin must be a whole number, got True.",
    ),
    "max_seconds text": (
        lambda: sample(target(), max_seconds="5"),
        TypeError,
        "max_seconds must be a number, got '5' (str).",
    ),
    "max_seconds 0": (
        lambda: sample(target(), max_seconds=0),
        ValueError,
        "max_seconds must be positive, got 0.",
    ),
    "progressbar text": (
        lambda: sample(target(), progressbar="no"),
        TypeError,
        "progressbar must be True or False, got 'no' (str).",
    ),
    "init of another size": (
        lambda: sample(target(), init=[0.0, 0.0]),
        ValueError,
        "init must have shape (3,), one number per parameter, or (4, 3), one row per chain, got (2,).",
    ),
    "init text": (
        lambda: sample(target(), init="zeros"),
        TypeError,
        "init must hold numbers only, got 'zeros' (str).",
    ),
    "init dict": (
        lambda: sample(target(), init={"age": 0.0}),
        ValueError,
        "init must name every parameter and no other: 0, 1, 2.",
    ),
    "init NaN": (
        lambda: sample(target(), init=[0.0, math.nan, 0.0]),
        ValueError,
        "init has nan at position (1,); every value must be finite.",
    ),
    "rng text": (
        lambda: sample(target(), rng="abc"),
        TypeError,
        "rng must be a seed (a whole number that is not negative), a numpy SeedSequence or a Generator, got "
        "'abc' (str).",
    ),
    "rng negative": (
        lambda: sample(target(), rng=-1),
        ValueError,
        "rng must be a seed (a whole number that is not negative), a numpy SeedSequence or a Generator, got -1.",
    ),
    "rng 1.5": (
        lambda: sample(target(), rng=1.5),
        TypeError,
        "rng must be a seed (a whole number that is not negative), a numpy SeedSequence or a Generator, got 1.5.",
    ),
    "rng RandomState": (
        lambda: sample(target(), rng=np.random.RandomState(1)),
        TypeError,
        "rng must be a seed (a whole number that is not negative), a numpy SeedSequence or a Generator that "
        "was made from one, got RandomState(MT19937) at 0x....",
    ),
    "chi text": (
        lambda: TunaMH(chi="a"),
        TypeError,
        "chi must be a number, got 'a' (str).",
    ),
    "chi 0": (
        lambda: TunaMH(chi=0),
        ValueError,
        "chi must be positive and finite, got 0.",
    ),
    "full_share NaN": (
        lambda: TunaMH(full_share=math.nan),
        ValueError,
        "full_share must be a number, got nan.",
    ),
    "gap of 2": (
        lambda: TunaMH.for_gap(2),
        ValueError,
        "kappa must lie between 0 and 1 (both excluded), got 2.",
    ),
    "delayed a word": (
        lambda: tunamh.MHSS(delayed="yes"),
        TypeError,
        "delayed must be True or False, got 'yes' (str).",
    ),
    "floor infinite": (
        lambda: tunamh.MHSS(floor=math.inf),
        ValueError,
        "floor must not be negative or infinite, got inf.",
    ),
    "truncation text": (
        lambda: tunamh.FactorizedMH("R"),
        TypeError,
        "truncation must be a number, got 'R' (str).",
    ),
    "rate None": (
        lambda: tunamh.PoissonMH(None),
        TypeError,
        "rate must be a number, got None.",
    ),
    "q 2": (
        lambda: tunamh.FlyMC(q=2),
        ValueError,
        "q must lie between 0 and 1 (1 included), got 2.",
    ),
    "centre text": (
        lambda: tunamh.FlyMC(centre="mode"),
        TypeError,
        "centre must hold numbers only, got 'mode' (str).",
    ),
    "epsilon 1": (
        lambda: tunamh.AustereMH(1.0),
        ValueError,
        "epsilon must lie between 0 and 0.5 (both excluded), got 1.0.",
    ),
    "batch 2.5": (
        lambda: tunamh.MHMinibatch(2.5),
        ValueError,
        "batch must be a whole number, got 2.5.",
    ),
    "order 3": (
        lambda: Taylor(order=3),
        ValueError,
        "order must be 1 or 2, got 3.",
    ),
    "order 1.5": (
        lambda: Taylor(order=1.5),
        ValueError,
        "order must be a whole number, got 1.5.",
    ),
    "order text": (
        lambda: Taylor(order="2"),
        TypeError,
        "order must be a whole number, got '2' (str).",
    ),
    "centre of another size": (
        lambda: Taylor(centre=[0.0])(target()),
        ValueError,
        "centre must be 3 numbers, one per parameter, got shape (1,).",
    ),
    "Taylor of a matrix": (
        lambda: Taylor()(X),
        TypeError,
        "Taylor expands a tunamh target such as LogisticRegression(X, y), got a ndarray of shape (200, 3).",
    ),
    "whiten a word": (
        lambda: Taylor(whiten="no"),
        TypeError,
        "whiten must be True or False, got 'no' (str).",
    ),
    "walk singular": (
        lambda: RandomWalk(np.array([[1.0, 2.0], [2.0, 4.0]])),
        ValueError,
        "scale is a singular matrix: the walk would stay in a subspace.",
    ),
    "walk not square": (
        lambda: RandomWalk(np.ones((2, 3))),
        ValueError,
        "scale must be a number, one per coordinate or a square matrix, got shape (2, 3).",
    ),
    "walk Series": (
        lambda: RandomWalk(pd.Series([1.0, 2.0, 3.0])),
        TypeError,
        "scale has row labels, which a random walk does not read: pass scale.to_numpy().",
    ),
    "walk dict": (
        lambda: RandomWalk({"age": 1.0}),
        TypeError,
        "scale must hold numbers only, got {'age': 1.0} (dict).",
    ),
    "walk 0": (
        lambda: RandomWalk(0.0),
        ValueError,
        "scale must be positive, got 0.0.",
    ),
    "walk acceptance": (
        lambda: RandomWalk(acceptance=25),
        ValueError,
        "acceptance must lie between 0 and 1 (both excluded), got 25.",
    ),
    "rho 1": (
        lambda: tunamh.Autoregressive(rho=1.0),
        ValueError,
        "rho must lie between -1 and 1 (both excluded), got 1.0.",
    ),
    "other text": (
        lambda: tunamh.Autoregressive(robust_share="few"),
        TypeError,
        "robust_share must be a number, got 'few' (str).",
    ),
    "energy not compiled": (
        lambda: EnergyTarget(plain, X, 1.0, dim=1),
        TypeError,
        "energy must be compiled, got <function plain at 0x...> (function): decorate it with @numba.njit.",
    ),
    "energy c text": (
        lambda: EnergyTarget(square, X, "1", dim=1),
        TypeError,
        "c must be a number, got '1' (str).",
    ),
    "energy c None": (
        lambda: EnergyTarget(square, X, None, dim=1),
        TypeError,
        "c must be a number, got None.",
    ),
    "energy c short": (
        lambda: EnergyTarget(square, X, [1.0], dim=1),
        ValueError,
        "c has 1 entries, but there are 200 rows.",
    ),
    "energy dim 1.5": (
        lambda: EnergyTarget(square, X, 1.0, dim=1.5),
        ValueError,
        "dim must be a whole number, got 1.5.",
    ),
    "energy names a text": (
        lambda: EnergyTarget(square, X, 1.0, dim=1, names="a"),
        TypeError,
        "names must be a list of texts, one for each of the 1 parameters, got 'a' (str).",
    ),
    "energy names repeated": (
        lambda: EnergyTarget(square, X, 1.0, dim=2, names=["a", "a"]),
        ValueError,
        "names must differ from each other, got ['a', 'a'] (list).",
    ),
    "energy rows text": (
        lambda: EnergyTarget(square, ["a", "b"], 1.0, dim=1),
        TypeError,
        "rows holds text: code categories as 0/1 columns (pandas.get_dummies, polars to_dummies), and "
        "convert numbers stored as text with astype(float).",
    ),
    "mixture variance text": (
        lambda: tunamh.GaussianMixture([0.0, 1.0], variance="2"),
        TypeError,
        "variance must be a number, got '2' (str).",
    ),
    "mixture box 0": (
        lambda: tunamh.GaussianMixture([0.0, 1.0], box=0),
        ValueError,
        "box must be positive and finite, got 0.",
    ),
    "walk states 1": (
        lambda: tunamh.FiniteWalk([1.0], states=1),
        ValueError,
        "states must be a whole number of at least 2, got 1.",
    ),
    "control makes no target": (
        lambda: sample(target(), control=lambda target: None),
        TypeError,
        "control must turn a target into a target, as Taylor(order=2) does; of LogisticRegression(200 rows, 3 "
        "parameters, prior=Flat()) it made None.",
    ),
    "check_bounds of data": (
        lambda: tunamh.check_bounds(X),
        TypeError,
        "target must be a tunamh target such as LogisticRegression(X, y), got a ndarray of shape (200, 3).",
    ),
    "check_bounds of no pairs": (
        lambda: tunamh.check_bounds(target(), pairs=0),
        ValueError,
        "pairs must be a whole number of at least 1, got 0.",
    ),
    "walk nothing": (
        lambda: tunamh.FiniteWalk(),
        TypeError,
        "Give either x and states, or table.",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_gets_a_sentence(name):
    make, kind, message = HOSTILE[name]
    with pytest.raises(kind) as caught:
        make()
    assert re.sub("0x[0-9a-fA-F]+", "0x...", str(caught.value)) == message


def test_messages_are_whole_sentences():
    assert len(HOSTILE) >= 40
    for _, _, message in HOSTILE.values():
        assert message.endswith("."), message
        assert len(message.split()) > 4, message
