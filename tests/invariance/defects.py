"""Negative controls: a defect put into every kernel must be found. Some of them were there once.

A defect is a line of the library that is replaced by another, in a copy of the sources; the test runs on that copy in a
process of its own, since compiled code must be compiled anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent.parent.parent / "src" / "tunamh"


@dataclass(frozen=True)
class Defect:
    """In ``file``, ``right`` becomes ``wrong``; the cell of the table that must notice."""

    file: str
    right: str
    wrong: str
    cell: str


DEFECTS: dict[str, Defect] = {
    "the step of each group uses the curvature of the convex rows only (a former error of tunamh)": Defect(
        "groups/one_effect.py",
        "        log_ratios[g] -= 0.5 * (true[g] - H[g])",
        "        log_ratios[g] -= 0.0 * (true[g] - H[g])",
        "groups, known scale | Student-t, known | groups' own move",
    ),
    "the same error for random slopes (a former error of tunamh)": Defect(
        "groups/move_effects.py",
        "        log_ratios[g] += bent_beside(factor, g, here) - bent_beside(factor, g, there)",
        "        log_ratios[g] += 0.0",
        "slopes, known scales | Student-t, known | groups' own move",
    ),
    "a known scale of group effects is multiplied by the scale of the errors (a former error of tunamh)": Defect(
        "groups/kernel_common.py",
        "        tau, known = tau_of(state, common), factor.precision",
        "        tau, known = 1.0, factor.precision",
        "groups, known scale | Gaussian | common move",
    ),
    "the acceptance ratio of the common step uses a wrong slope at the proposed state": Defect(
        "groups/one_effect.py",
        "        effects[g] = v\n        energy += free[g] * (k[g] * d",
        "        effects[g] = v\n        energy += free[g] * (1.5 * k[g] * d",
        "groups | logistic | common move",
    ),
    "the acceptance ratio leaves out the density of the learned proposal": Defect(
        "groups/move_common.py",
        "        return _propose_common(rng, turn, shift)\n    fill_shift",
        "        return 0.0 * _propose_common(rng, turn, shift)[0], True\n    fill_shift",
        "crossed | logistic | sweep, learned law",
    ),
    "the acceptance ratio leaves out the density of proposals from the table of a scale": Defect(
        "groups/move_common.py",
        "        return propose_by_table(rng, turn, gradient), False",
        "        return 0.0 * propose_by_table(rng, turn, gradient), False",
        "groups | logistic | sweep, learned law",
    ),
    "the means of nested groups use a wrong weight of the outer groups": Defect(
        "groups/move_parents.py",
        "        weight[m], push[m] = outer[m] * own[c, c], 0.0",
        "        weight[m], push[m] = 0.3 * outer[m] * own[c, c], 0.0",
        "nested | logistic | move that no row sees",
    ),
    "effects on a mean and effects on a scale are exchanged, which changes the predictors": Defect(
        "groups/between.py",
        "        if other.predictor != one.predictor:  # rows see both apart",
        "        if other.predictor == -1:",
        "groups in two predictors | Gaussian, described | move that no row sees",
    ),
    "a common coefficient is exchanged with group effects, with a wrong ratio of its prior": Defect(
        "groups/move_means.py",
        "    log_ratio = -log_prior_of_common(turn.prior, common, state)",
        "    log_ratio = -0.5 * log_prior_of_common(turn.prior, common, state)",
        "slopes | logistic | move that no row sees",
    ),
    "a scale is drawn uniformly, and the density of its logarithm is left out": Defect(
        "groups/move_common.py",
        "    return here - scales[a]",
        "    return 0.0 * scales[a]",
        "slopes | logistic | common move",
    ),
    "a dilation of the errors leaves out its Jacobian": Defect(
        "groups/move_common.py",
        "    return factor.p * step",
        "    return 0.0 * step",
        "one row per group, known scale | Gaussian | common move",
    ),
    "a dilation of coefficients, scales and effects leaves out their power of its factor": Defect(
        "groups/dilation.py",
        "    return (coefficients + q * factor.free_groups) * z + changed",
        "    return changed",
        "groups | logistic | common move",
    ),
    "a dilation has the volumes of the effects the wrong way round": Defect(
        "groups/dilation.py",
        "    return (coefficients + q * factor.free_groups) * z + changed",
        "    return (coefficients + q * factor.free_groups) * z - changed",
        "groups | logistic | common move",
    ),
    "a coordinate is drawn from a Cauchy law, and the ratio has the normal density": Defect(
        "groups/long_tail.py",
        "    return 2.0 * math.log1p(y * y)",
        "    return y * y",
        "groups | logistic | common move",
    ),
    "the random walk of a parameter that all rows share is not symmetric": Defect(
        "groups/move_common.py",
        "    there[k] += width * math.exp(_NARROWEST + (_WIDEST - _NARROWEST) * rng.random()) * rng.standard_normal()",
        "    there[k] += width * math.exp(_NARROWEST + (_WIDEST - _NARROWEST) * rng.random()) * rng.random()",
        "groups | zero-inflated | common move",
    ),
    "a probability is proposed in other coordinates, without the Jacobian": Defect(
        "groups/move_common.py",
        "    return log_q + here_slope - there_slope, laplace",
        "    return log_q, laplace",
        "groups | zero-inflated | common move",
    ),
    "the effects of two classes use the curvature of one class": Defect(
        "groups/predictors.py",
        '        return np.einsum("a,b,abn->n", self.directions[f], self.directions[k], self.derivatives(eta, y)[1])',
        '        return np.einsum("a,b,abn->n", self.directions[f], self.directions[f], self.derivatives(eta, y)[1])',
        "groups | categorical | groups' own move",
    ),
    "the weights of Student-t effects are drawn from a gamma distribution of a wrong shape": Defect(
        "groups/kernel_common.py",
        "        drawn = 2.0 * rng.standard_gamma(0.5 * (factor.df + q))",
        "        drawn = 2.0 * rng.standard_gamma(0.5 * (factor.df + 4.0 * q))",
        "Student-t effects | logistic | groups' own move",
    ),
    "Student-t effects are multiplied by a factor, without the Jacobian": Defect(
        "groups/move_effects.py",
        "    ratio = q * z + 0.5 * weight",
        "    ratio = 0.5 * weight",
        "Student-t effects | logistic | groups' own move",
    ),
    "Student-t effects are multiplied by a factor, and the ratio leaves out their density": Defect(
        "groups/move_effects.py",
        " - 0.5 * (df + q) * math.log((df + larger) / (df + size))",
        "",
        "Student-t effects | logistic | groups' own move",
    ),
    "the auxiliary variables of related levels have a wrong standard deviation": Defect(
        "groups/related.py",
        "        turned[j] += spread * rng.standard_normal()",
        "        turned[j] += 0.1 * spread * rng.standard_normal()",
        "related levels | logistic | groups' own move",
    ),
    "the step of all related levels leaves out a part of the ratio of the proposal": Defect(
        "groups/move_together.py",
        "        log_q += 0.5 * eps[0, j] * eps[0, j]",
        "        log_q += 0.2 * eps[0, j] * eps[0, j]",
        "related levels | logistic | related levels together",
    ),
    "the step of all factors together leaves out their volumes": Defect(
        "groups/move_jointly.py",
        "    total = volumes - closed\n",
        "    total = 0.5 * volumes - closed\n",
        "nested | logistic | all factors together",
    ),
    "the step of all factors together shrinks the means of effects at its end": Defect(
        "groups/joint_coordinates.py",
        "            effects[g] = A[g] / P[g] + eps[g] / math.sqrt(P[g])",
        "            effects[g] = 0.7 * A[g] / P[g] + eps[g] / math.sqrt(P[g])",
        "crossed | logistic | all factors together",
    ),
    "whether a sweep moves the common parameters is chosen by the state": Defect(
        "groups/sweep.py",
        "int(rng.random() * common.factors)) if by_lot",
        "int(rng.random() * common.factors) if state[1] < common.centre[1] else -1) if by_lot",
        "crossed | logistic | sweep, one factor by lot",
    ),
    "the step of the scales leaves out the Jacobian of the logarithm": Defect(
        "groups/kernel_common.py",
        "        total += state[at + a] - math.log(tau)",
        "        total += 0.0",
        "groups | logistic | scales' move",
    ),
    "rows count as observed before their observation begins": Defect(
        "targets/observations/split_times.py",
        "        low = np.maximum(self._left[piece], spans.entry[row])",
        "        low = self._left[piece]",
        "columns | piecewise exponential | as chosen",
    ),
    "a row uses a data column of another row": Defect(
        "targets/designs/multi_predictor.py",
        "            out[b] += rows[i, term.offset]",
        "            out[b] += rows[index[n - 1], term.offset]",
        "columns | own, curve | joint, all rows",
    ),
    "the acceptance ratio of a minibatch uses a wrong rate": Defect(
        "acceptance/thinned.py",
        "            ratio = rate(-x[b], beta, gamma) / forward",
        "            ratio = 0.8 * rate(-x[b], beta, gamma) / forward + 0.2",
        "columns | logistic | walk, TunaMH",
    ),
    "the acceptance ratio has only half of the log ratio of the proposal, on all rows": Defect(
        "proposals/autoregressive.py",
        "        log_q += 0.5 * (there[j] - here[j]) * (there[j] + here[j])\n    return log_q",
        "        log_q += 0.5 * (there[j] - here[j]) * (there[j] + here[j])\n    return 0.5 * log_q",
        "columns | logistic | joint, all rows",
    ),
    "moves between modes use a wrong ratio of the densities of the proposal": Defect(
        "proposals/across_modes.py",
        "    return _log_density(here, modes) - _log_density(there, modes)",
        "    return 0.7 * (_log_density(here, modes) - _log_density(there, modes))",
        "columns | Student-t, known | across modes",
    ),
    "trajectories are accepted without the kinetic energy": Defect(
        "trajectories/trajectory.py",
        "        log_ratio = memory[_ENERGY] - energy + motion - motion_after",
        "        log_ratio = memory[_ENERGY] - energy",
        "columns | logistic | trajectories",
    ),
    "the scale of Gaussian errors is drawn with a wrong power of its density": Defect(
        "targets/scale_mixtures/known_error.py",
        "    return (own.weight - 1.0) * math.log(tau / drawn)",
        "    return (own.weight + 2.0) * math.log(tau / drawn)",
        "Laplace prior | Gaussian | scales in turn",
    ),
    "the local scales of the horseshoe are drawn from a distribution of a wrong shape": Defect(
        "priors/mixtures.py",
        "                here[d + j] = _within(_inverse_gamma(rng, 1.0, 1.0 / wide + 0.5 * square / here[2 * d]))",
        "                here[d + j] = _within(_inverse_gamma(rng, 1.2, 1.0 / wide + 0.5 * square / here[2 * d]))",
        "horseshoe | logistic | scales in turn",
    ),
    "the scales of a prior are proposed without the Jacobian of the logarithm": Defect(
        "proposals/nested.py",
        "        total += log_density_of(at, tables, g) - at",
        "        total += log_density_of(at, tables, g)",
        "grouped prior | logistic | scales and coefficients",
    ),
    "the density of the coefficients given their scales has a wrong power of the scale": Defect(
        "targets/scale_mixtures/unknown_error.py",
        "            total -= 0.5 * math.log(new / old)",
        "            total -= 0.2 * math.log(new / old)",
        "grouped prior | logistic | scales and coefficients",
    ),
    "in a model with groups, the ratio leaves out the density of proposed scales of a prior": Defect(
        "groups/common_and_scales.py",
        "        total += log_density_of(old[g] + unit, tables, g) - log_density_of(drawn, tables, g)",
        "        total += 0.0",
        "groups, grouped prior | logistic | common move",
    ),
    "the prior of a surface is used without its determinant": Defect(
        "priors/summed_precisions.py",
        "            total += 0.5 * (math.log(precision) - precision * squares[j])",
        "            total -= 0.5 * precision * squares[j]",
        "prior by shares | logistic | scales in turn",
    ),
    "in a model with groups, coefficients are in wrong units when the scales of their prior are drawn": Defect(
        "groups/prior_scales.py",
        "        here[j] = common.prior_offset[j] + state[j] / tau",
        "        here[j] = common.prior_offset[j] + state[j]",
        "groups, grouped prior | Gaussian | scales of the prior",
    ),
    "the scale of a curve in a second predictor has a prior that is four times as wide": Defect(
        "priors/joint.py",
        "for of in (lambda one: one.numbers.df, lambda one: one.numbers.width, lambda one: one.start)",
        "for of in (lambda one: one.numbers.df, lambda one: 4.0 * one.numbers.width, lambda one: one.start)",
        "curves in two predictors | Gaussian, described | scales and coefficients",
    ),
    "a dispersion has a prior that is four times as wide, in a model with a curve in a second predictor": Defect(
        "targets/further_curves.py",
        "    behind = [laws for laws, end",
        "    behind = [laws._replace(scale=4.0 * laws.scale) for laws, end",
        "curves in two predictors | zero-inflated negative binomial, described | scales and coefficients",
    ),
    "curves of all levels with the coefficients of the first level": Defect(
        "targets/designs/curves.py",
        "            own = theta[curve.start + level * each + j]",
        "            own = theta[curve.start + j]",
        "curves | logistic | joint, all rows",
    ),
    "bright rows of FlyMC become dark half as often as they should": Defect(
        "acceptance/firefly.py",
        "        if accepts(rng, math.log(q) - _log_brightness(gap[slot])):",
        "        if accepts(rng, math.log(0.5 * q) - _log_brightness(gap[slot])):",
        "columns | logistic | FlyMC",
    ),
    "all gathered rows are the same row": Defect(
        "rows/pool.py",
        "        ring[k] = position - cursor[3] + k\n",
        "        ring[k] = position - cursor[3]\n",
        "rows that are gathered | Student-t, known | gathered rows",
    ),
    "only half of the gradient of removed rows is subtracted": Defect(
        "targets/expansion/kept.py",
        "            gradient=here.gradient - there.gradient,",
        "            gradient=here.gradient - 0.5 * there.gradient,",
        "rows that came and went | logistic | kept rows",
    ),
    "rare levels that are sampled as groups have a wider prior": Defect(
        "groups/levels.py",
        "laws.scale[members] ** -2.0)",
        "(1.2 * laws.scale[members]) ** -2.0)",
        "levels | logistic | levels as groups",
    ),
}


def score_with(defect: Defect, folder: Path, points: int) -> float:
    """The largest score of the defect's cell, with the defect in a copy of the sources below ``folder``."""
    package = folder / "src" / "tunamh"
    shutil.copytree(SOURCES, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / defect.file
    text = file.read_text()
    assert text.count(defect.right) == 1, f"{defect.file} has changed: {defect.right!r}"
    file.write_text(text.replace(defect.right, defect.wrong))
    out = folder / "found.json"
    only = "^" + "".join(f"\\{c}" if c in "|().+" else c for c in defect.cell) + "$"
    command = [sys.executable, str(Path(__file__).parent / "run.py"), "--points", str(points), "--processes", "1"]
    subprocess.run(
        [*command, "--only", only, "--json", str(out)],
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        check=False,
        capture_output=True,
    )
    lines = json.loads(out.read_text())
    assert len(lines) == 1, f"no cell is called {defect.cell!r}"
    return float("inf") if "error" in lines[0] else float(lines[0]["largest"])
