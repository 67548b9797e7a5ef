"""Shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

os.environ.setdefault("CI", "true")  # no progress bars
# One thread of BLAS, as the library takes: threads of many processes that wait for each other take four times as long
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pytest

gc.disable()  # until all tests are collected: nothing of what is imported is garbage

_HERE = Path(__file__).parent

_SLOW = (
    "chains/test_guard.py",
    "chains/test_infinite.py",
    "cli/",
    "compiled/test_ahead.py",
    "compiled/test_cache.py",
    "compiled/test_inner.py",
    "compiled/test_layouts.py",
    "compiled/test_users.py",
    "docs/",
    "estimators/",
    "exact/test_compiled.py",
    "exact/test_each_group.py",
    "groups/",
    "invariance/",
    "laplace/",
    "living/test_living_docs.py",
    "living/test_living_laws.py",
    "paper/",
    "posteriordb/",
    "priors/test_priors.py",
    "process/test_process.py",
    "report/test_report_browser.py",
    "results/test_until.py",
    "rows/test_executors.py",
    "rows/test_giving_up.py",
    "rows/test_open_rows.py",
    "rows/test_pool.py",
    "statistical/",
    "store/test_store.py",
    "store/test_store_kills.py",
    "targets/test_control.py",
    "targets/test_improper.py",
    "targets/test_kinks.py",
    "targets/test_mixtures.py",
    "targets/test_models_api.py",
    "targets/test_offset.py",
    "targets/test_search.py",
    "targets/test_several_modes.py",
    "targets/test_two_predictors.py",
    "trajectories/",
    "test_extend.py",
    "test_golden.py",
    "test_golden_texts.py",
    "test_new_parts.py",
)
"""Tests of statistics, of many models, of functions that are compiled for them, or in processes of their own.

``make test-fast`` leaves them out.
"""


_LONG = (
    "cli/test_compile.py",
    "compiled/test_ahead.py",
    "compiled/test_cache.py",
    "compiled/test_users.py",
    "groups/test_group_calibration.py",
    "living/test_living_docs.py",
    "living/test_living_laws.py",
    "marginal/test_evidence_of",
    "posteriordb/",
    "statistical/test_calibration.py",
    "statistical/test_further_curves_calibration.py",
    "statistical/test_fuzz.py",
    "statistical/test_nonlinear_calibration.py",
    "statistical/test_smooth_calibration.py",
    "store/test_store_kills.py",
    "test_new_parts.py",
)
"""Tests that fit models to many data sets, compile everything from nothing, or kill processes twenty times.

``make test-long`` runs them, those of `_LONG_TESTS`, and those that say so themselves (`pytest.mark.long`);
``make test`` leaves them out.
"""

_LONG_TESTS = (
    "chains/test_overflow.py::test_a_proposal_whose_energy_overflows_is_rejected[hurdle]",
    "chains/test_overflow.py::test_a_proposal_whose_energy_overflows_is_rejected[zero-inflated]",
    "checking/test_fit_checks.py::test_false_alarms_are_as_rare_as_is_said[",
    "cli/test_check_fit.py::test_the_report_has_it",
    "cli/test_cli.py::test_demo_prints_a_table_and_draws_a_picture",
    "cli/test_cli_files.py::test_a_file_too_large_is_one_message",
    "cli/test_cli_files.py::test_a_process_ends_quietly_when_its_reader_left",
    "docs/test_readme.py::test_an_energy_of_ones_own",
    "docs/test_readme.py::test_models_and_their_blocks",
    "docs/test_smooths_page.py::test_code_blocks_run",
    "estimators/test_sklearn.py::test_scikit_learns_own_checks[BayesianRobustRegression",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[ordinal-own",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[ordinal-whitened-MH()]",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[Poisson-own",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[Poisson-whitened-MH()]",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[Student-t-own",
    "exact/test_compiled.py::test_further_parameters_and_ladders_move_as_often_as_enumerated[Student-t-whitened-MH()]",
    "exact/test_compiled.py::test_inexact_tests_on_the_papers_walk",
    "exact/test_compiled.py::test_transitions_occur_as_often_as_enumerated[slack-2-",
    "exact/test_compiled.py::test_transitions_occur_as_often_as_enumerated[tight-2-",
    "exact/test_each_group.py::test_compiled_decisions_of_each_group[False]",
    "formula/test_formulas_in_files.py::test_draws_are_those_of_columns_in_memory[curves]",
    "formula/test_further_curves.py::test_beside_groups_a_centre_without_a_quadratic_is_not_taken",
    "formula/test_further_curves.py::test_curves_of_a_scale_beside_groups",
    "formula/test_priors_of_groups.py::test_effects_of_single_counts_are_part_of_a_row",
    "groups/test_few_rows.py::test_an_inflation_near_zero_with_groups_mixes",
    "groups/test_joint_moves.py::test_draws_are_those_of_sweeps_alone",
    "groups/test_known_scales.py::test_two_factors",
    "groups/test_long_tails.py::test_chains_go_to_the_tails[1-",
    "groups/test_mixed_model.py::test_minibatches_and_all_rows_have_one_law",
    "groups/test_mixed_model.py::test_moments_are_those_of_quadrature[poisson",
    "groups/test_mixed_model.py::test_without_data_scales_have_their_priors",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[crossed Student-t effects-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[crossed, grouped prior-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[groups, curve in a further predictor-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[groups, grouped prior-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[groups, prior by shares-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[groups, weights, offset-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[nested Student-t effects-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[related and other effects-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[related levels, crossed-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[slopes in a further predictor-",
    "invariance/test_invariance.py::test_kernels_leave_the_posterior_as_it_is[Student-t slopes-",
    "living/test_living_drift.py::test_a_centre_ahead_lasts_longer",
    "prediction/test_integrated.py::test_all_draws_are_used_if_the_data_have_few_rows",
    "prediction/test_integrated.py::test_several_effects_of_small_groups_have_reliable_values",
    "prediction/test_integrated.py::test_the_other_rows_are_found_where_only_some_are_looked_at",
    "priors/test_priors.py::test_a_rare_column[",
    "report/test_report.py::test_a_stored_run_has_a_report_while_it_grows",
    "results/test_group_effects.py::test_nested_factors_have_the_names_of_the_formula",
    "rows/test_executors.py::test_a_dask_cluster[",
    "rows/test_executors.py::test_a_family_of_ones_own_and_unknown_scales_in_processes",
    "rows/test_executors.py::test_a_lost_worker_of_a_cluster_changes_nothing",
    "rows/test_executors.py::test_an_executor_that_never_answers_does_not_outlive_the_time",
    "rows/test_executors.py::test_dask_frames_and_arrays",
    "rows/test_executors.py::test_four_workers_of_a_cluster",
    "rows/test_giving_up.py::test_a_step_on_all_rows_is_ended_too",
    "rows/test_pool.py::test_unknown_scales_and_mixture_priors_from_a_pool",
    "sampling/test_warmup.py::test_the_shape_of_steps_is_learned_and_frozen[3]",
    "statistical/test_against_truth.py::test_mixture_agrees_with_quadrature[",
    "statistical/test_effects_and_errors.py::test_the_errors_scale_goes_to_zero_as_often_as_its_posterior_says[half-normal",
    "statistical/test_models.py::test_draws_agree_with_quadrature[Gaussian, grouped-",
    "store/test_store.py::test_a_changed_function_of_the_users_is_refused",
    "store/test_store.py::test_it_can_be_read_while_it_grows",
    "targets/test_control.py::test_same_posterior_and_valid_bounds[own energy-1",
    "targets/test_control.py::test_same_posterior_and_valid_bounds[own energy-2",
    "targets/test_from_energy.py::test_two_and_three_predictors",
    "test_extend.py::test_a_prior_is_part_of_the_posterior",
    "test_extend.py::test_a_proposals_ratio_is_that_of_its_densities",
    "test_extend.py::test_a_test_goes_with_families_proposals_and_priors",
)
"""Single tests among others, by the beginning of their names; each takes seconds, and varies what others test, too."""


def _is_one_of(path: Path, names: tuple[str, ...]) -> bool:
    return path.relative_to(_HERE).as_posix().startswith(names)


def _is_long(item: pytest.Item) -> bool:
    test = item.nodeid.partition("::")[2]
    return _is_one_of(item.path, _LONG) or f"{item.path.relative_to(_HERE).as_posix()}::{test}".startswith(_LONG_TESTS)


def pytest_ignore_collect(collection_path, config):
    """``-m "not slow"`` does not even import them: what they need is half of all imports."""
    return True if config.option.markexpr == "not slow" and _is_one_of(collection_path, _SLOW + _LONG) else None


def pytest_collection_finish():
    """What is there by now stays: searches for garbage need not walk through it (6 % of the time of all tests)."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    for item in items:
        if _is_long(item):
            item.add_marker(pytest.mark.long)
        if _is_long(item) or _is_one_of(item.path, _SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _no_further_processes():
    """Workers of the suite keep all cores busy: processes that compile beside them repeat what parts have in common."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tunamh.compiled.ahead.usable_cores", lambda: 1)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20201206)


@pytest.fixture
def hears_ctrl_c():
    """A shell that starts the suite in the background makes it deaf to SIGINT; tests that send one would never end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def seconds_are_draws(monkeypatch):
    """``max_seconds`` counts the draws that every chain has: a run then ends there on a fast and on a busy machine."""
    from tunamh.sampling import session
    from tunamh.sampling.clock import Clock

    class ClockOfDraws(Clock):
        runs = ()

        @property
        def seconds(self):
            return float(min((run.kept for run in self.runs), default=0))

    run_all = session.run_all

    def counted(runs, threads, clock, *others):
        clock.runs = runs
        return run_all(runs, threads, clock, *others)

    monkeypatch.setattr(session, "Clock", ClockOfDraws)
    monkeypatch.setattr(session, "run_all", counted)


@pytest.fixture
def ctrl_c_when(monkeypatch, hears_ctrl_c):
    """A function: once its condition holds for all ``chains``, each after some work, Ctrl-C is sent, so many times."""
    from tunamh.sampling.run import ChainRun

    work, seen, left = ChainRun._work, {}, [0]

    def arm(condition, chains, times=1):
        left[0] = times
        seen.clear()

        def interrupted(run):
            work(run)
            seen[run.number] = condition(run)
            while left[0] > 0 and len(seen) == chains and all(seen.values()):
                left[0] -= 1
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(ChainRun, "_work", interrupted)

    return arm


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder for a stored run, which is then written in many small chunks."""
    from tunamh.sampling import destination as stored
    from tunamh.store import folder

    monkeypatch.setattr(stored, "chunk_draws_for", lambda *sizes: 16)
    monkeypatch.setattr(folder, "SECONDS_BETWEEN", 0.0)
    return tmp_path / "run"


def logistic_data(n_rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, d))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X @ np.linspace(-1, 1, d)))).astype(float)
    return X, y


def quantile_scores(draws, cdf):
    """How many standard errors the shares of draws below true quantiles are off."""
    from arviz_stats import ess

    at = np.linspace(0.05, 0.95, 19)
    below = cdf(draws)[..., None] < at
    sizes = np.array([float(ess(below[..., k].astype(float))) for k in range(len(at))])
    return (below.mean(axis=(0, 1)) - at) / np.sqrt(at * (1 - at) / sizes)


def draws_of(tree, *names):
    """Draws (chain, draw, number) of variables of a formula's result, side by side; all of them where none is named."""
    posterior = tree.posterior
    parts = [posterior[name].values for name in names or posterior.data_vars]
    return np.concatenate([values.reshape(*values.shape[:2], -1) for values in parts], axis=-1)
