"""Numbers become plain ones where they enter, and nothing else passes for a number."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import MH, MHSS, Autoregressive, LogisticRegression, Normal, RandomWalk, StudentT, Taylor, TunaMH, sample
from tunamh._arguments import (
    explained,
    flag,
    moderate_number,
    number,
    number_between,
    numbers,
    positive_number,
    whole_number,
)

X, Y = logistic_data(200, 3)


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.float32(2), np.array(2), np.uint64(2)], ids=repr)
def test_numbers_of_every_kind_become_plain(value):
    for made in (number("n", value), positive_number("n", value), number_between("n", value, 0, 3)):
        assert type(made) is float
        assert made == 2.0
    assert type(whole_number("n", value, 1)) is int


@pytest.mark.parametrize("value", ["2", b"2", None, True, np.True_, [2], {2: 2}, 2j, float, np.array([2.0])], ids=repr)
def test_nothing_else_is_a_number(value):
    for check in (number, positive_number, moderate_number, lambda name, value: whole_number(name, value, 0)):
        with pytest.raises(TypeError, match=r"^n must be a (whole )?number, got"):
            check("n", value)


def test_values_that_are_out_of_range():
    for make in (
        lambda: positive_number("n", 0.0),
        lambda: positive_number("n", math.inf),
        lambda: moderate_number("n", 1e-200),
        lambda: whole_number("n", 2.5, 0),
        lambda: whole_number("n", math.inf, 0),
        lambda: whole_number("n", -1, 0),
        lambda: number("n", 10**400),
        lambda: numbers("n", [1.0, math.nan]),
    ):
        with pytest.raises(ValueError, match=r"^n "):
            make()
    with pytest.raises(TypeError, match=r"^n must be True or False, got 1"):
        flag("n", 1)


def test_values_are_kept_as_plain_numbers():
    assert repr(StudentT(np.float64(4), np.int64(2))) == "StudentT(df=4.0, scale=2.0)"
    assert repr(TunaMH(chi=np.float64(0.1))) == "TunaMH(chi=0.1, full_share=0.4)"
    assert repr(MHSS(floor=np.int64(3), delayed=np.True_)) == "MHSS(floor=3.0, delayed=True, full_share=0.4)"
    assert repr(Taylor(order=2.0)) == repr(Taylor(order=2))
    assert repr(RandomWalk(np.float32(0.5))) == "RandomWalk(scale=0.5, acceptance=0.25)"
    assert repr(Autoregressive(rho=np.float64(0))) == "Autoregressive(rho=0.0, robust_share=None)"
    assert Normal(scale=np.array([1, 2])) == Normal(scale=[1.0, 2.0])


def test_numpy_integers_and_whole_floats_count_draws():
    """These were written into the settings as they came, and lost every draw as sampling ended."""
    target = LogisticRegression(X, Y)
    counts = {"draws": np.int64(20), "tune": 2e1, "thin": np.uint8(2), "chains": np.int32(2), "cores": np.int16(1)}
    tree = sample(target, rng=np.int64(1), max_seconds=np.float32(600), progressbar=np.False_, **counts)
    assert tree.posterior["theta"].shape == (2, 20, 3)
    assert json.loads(tree.posterior.attrs["settings"])["thin"] == 2


def test_a_random_walk_whose_coordinates_have_very_different_units():
    target = LogisticRegression(X[:, :2] / [1e-9, 1e8], Y)
    walk = RandomWalk(np.diag([1e-9, 1e8]))
    assert walk.bind(target).knobs == pytest.approx([1.0, 1e-9, 0.0, 0.0, 1e8])
    assert RandomWalk(np.diag([1e-200, 1e100])).scale is not None
    for singular in (np.diag([1.0, 0.0]), np.outer([1e-9, 1e8], [1.0, 2.0]), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="singular"):
            RandomWalk(singular)


def test_arguments_are_checked_before_any_work():
    """Nothing is compiled, packed or searched for before a slip of the pen is told."""
    target = LogisticRegression(X, Y)
    for wrong in ({"init": [0.0]}, {"rng": "abc"}, {"max_seconds": "5"}, {"progressbar": 1}, {"test": RandomWalk()}):
        with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
            sample(target, **wrong)
    assert "rows" not in target.__dict__
    with pytest.raises(TypeError, match="proposal is MH"):
        sample(target, proposal=MH())


def test_the_command_as_a_module():
    done = subprocess.run([sys.executable, "-m", "tunamh", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == tunamh.__version__


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sample(None, seed=1), r"^sample has no argument seed=\. Here it is rng=\.$"),
        (lambda: sample(None, random_state=1), r"Here it is rng=\."),
        (lambda: sample(None, warmup=1), r"Here it is tune=\."),
        (lambda: sample(None, iter=1), r"Here it is draws=\."),
        (lambda: sample(None, num_samples=1), r"Here it is draws=\."),
        (lambda: sample(None, draw=1), r"Is draws= meant\?"),
        (lambda: sample(None, target_accept=0.9), r"Its arguments are target, test, "),
        (lambda: tunamh.predict(None, None, re_formula=None), r"^predict .* include_group_specific= \(False where"),
        (lambda: tunamh.predict(None, None, allow_new_levels=True), r'Here it is new_levels="draw"\.'),
        (lambda: tunamh.Gaussian(sigma=1), r"^Gaussian has no argument sigma=\. Here it is scale=\.$"),
        (lambda: tunamh.StudentT(nu=4), r"^StudentT has no argument nu=\. Here it is df=\.$"),
        (lambda: tunamh.Normal(sigma=1), r"^Normal has no argument sigma=\. Here it is scale=\.$"),
        (lambda: tunamh.Poisson(scale=1), r"^Poisson has no argument scale=\. It takes no arguments\.$"),
        (
            lambda: tunamh.HalfStudentT(3, 0, 2.5),
            r"^HalfStudentT\(df, scale\) takes 2 arguments by position, got 3\.$",
        ),
        (
            lambda: sample(None, 1000),
            r"^sample\(target\) takes 1 argument by position, got 2\. Name the others, such as draws= and tune=\.$",
        ),
        (
            lambda: tunamh.GLM(X, Y, tunamh.Logistic(), priors=None),
            r"^GLM has .* Here it is prior=\.",
        ),
        (
            lambda: tunamh.GLM(X, Y, tunamh.Logistic(), None),
            r"^GLM\(X, y, family\) takes 3 arguments",
        ),
        (lambda: sample("y ~ x"), r"got a text, 'y ~ x'.*tunamh\.sample\(tunamh\.regression\(formula, data\)\)"),
        (lambda: tunamh.loo(None), r"^loo\(posterior, data\) needs data, the table that the model was fitted to\."),
        (lambda: tunamh.predict(None, kind="mean"), r"^predict\(posterior, new_data\) needs new_data, a table"),
        (lambda: tunamh.summary(None, hdi_prob=0.9), r"^summary has no argument hdi_prob=\. Here it is ci_prob=\.$"),
        (lambda: tunamh.predictions(None, at={}), r"Here it is conditional=\."),
        (lambda: tunamh.comparisons(None, variables="g"), r"Here it is contrast=\."),
        (lambda: tunamh.group_effects(None, level=0.9), r"^group_effects .* Here it is ci_prob=\."),
        (lambda: LogisticRegression(X, Y, priors=None), r"^LogisticRegression .* Here it is prior=\."),
    ],
)
def test_arguments_of_other_libraries_are_named_as_here(call, told):
    with pytest.raises(TypeError, match=told):
        call()


def test_explained_functions_keep_their_signature_and_their_own_errors():
    import inspect

    assert list(inspect.signature(sample).parameters)[:3] == ["target", "test", "proposal"]
    assert list(inspect.signature(tunamh.Gaussian).parameters) == ["scale"]
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'target'"):
        sample(draws=1)

    @explained
    def inner(a, *, b=1):
        raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own"):
        inner(1, b=2)


def test_warnings_of_a_run_point_to_the_callers_line():
    with pytest.warns(tunamh.ConvergenceWarning) as heard:
        sample(LogisticRegression(X, Y), test=MH(), proposal=RandomWalk(1e-4), draws=100, tune=0, rng=1, chains=2)
    assert [one.filename for one in heard] == [__file__]


def test_functions_of_other_libraries_have_a_name_here():
    for there, here in tunamh._ELSEWHERE.items():
        assert here in tunamh.__all__
        with pytest.raises(AttributeError, match=rf"no attribute '{there}'\. Here it is tunamh\.{here}$"):
            getattr(tunamh, there)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tunamh.nothing
