"""For a reader of the paper: what of its story holds when every method is coded with equal care."""

from __future__ import annotations

from typing import Any

from .claims import number

WORDS = {
    "MH": "Metropolis-Hastings that reads all rows in every step.",
    "TunaMH, TFMH, PoissonMH, SMH, FlyMC": "exact methods that read a minibatch of the rows.",
    "AustereMH, MHminibatch": "methods that read a minibatch and are not exact.",
    "MAP": "the method uses the posterior mode; SMH and FlyMC-MAP also use an expansion about it.",
    "χ": "the parameter of TunaMH: a larger χ gives larger batches and a higher acceptance rate.",
    "in equilibrium": "after the chain has reached the posterior.",
    "ESS": "effective sample size: the number of independent draws with the same Monte Carlo error. More per second is "
    "better.",
    "bright rows": "the rows that FlyMC uses in its next step.",
    "symmetric KL, total variation (TV)": "distances between two distributions; 0 is best.",
}
"""Words of the page, each with its meaning."""


def story(results: dict[str, dict[str, Any]]) -> list[str]:
    """Paragraphs, as far as results exist; every number in them comes from the results."""
    parts = [
        (
            "The paper's mathematics holds, with one correction: the listings of TunaMH print the proposal ratio "
            "inverted. With the right ratio TunaMH is exact. Inexact tests can be arbitrarily wrong: on a random walk "
            "this is so although every step has an error of about one per cent. The batch sizes that the paper "
            "reports for TunaMH and TFMH agree with ours within the noise. A larger χ gives larger batches and faster "
            "convergence. The convergence is guaranteed, and a better guarantee than that of the paper can be proved."
        )
    ]
    for name, paragraph in (("figure-3", _mixture), ("figure-4", _digits), ("figure-2", _regression)):
        if name in results:
            parts.append(paragraph(results[name]["result"]))
    return parts


def _mixture(result: dict[str, Any]) -> str:
    kl = {name: method["after_one_second"]["kl"] for name, method in result["methods"].items()}
    return (
        "The mixture with two modes has a tempered likelihood (it is raised to a small power). Here minibatches are "
        "faster by orders of magnitude. After one second, the symmetric KL to the true density is "
        f"{number(kl['TunaMH'], 2)} for TunaMH, {number(kl['MH'], 2)} for MH, {number(kl['FlyMC'], 2)} for FlyMC and "
        f"{number(kl['PoissonMH'], 2)} for PoissonMH. The paper says that no other method comes near TunaMH. This does "
        f"not hold: in our compiled loop TFMH reaches {number(kl['TFMH'], 2)}, and SMH-1 with a tight bound of its "
        f"Hessian reaches {number(kl['SMH-1'], 2)}."
    )


def _digits(result: dict[str, Any]) -> str:
    times = {name: method["seconds_to_accuracy"] for name, method in result["methods"].items()}
    said = ", ".join(f"{name} after {number(value, 2)} s" for name, value in times.items() if value is not None)
    late = ", ".join(name for name, value in times.items() if value is None)
    reached = f"These methods reach 94 % test accuracy: {said}." if said else "No run was long enough to reach 94 %."
    missing = f" Not within the run: {late}." if late else ""
    ratio = (times["MH"] or 1.0) / (times["TunaMH"] or 1.0)
    beside = "faster than" if ratio < 0.87 else "as fast as" if ratio < 1.15 else "slower than"
    return (
        "On MNIST the chains start far from the mode. So the curves describe the way to the posterior, and not the "
        f"sampling in equilibrium. {reached}{missing} Our MH keeps the energy of its state and reads the rows in "
        f"order. It is {beside} TunaMH. The paper's MH computes the energies of both states at every step."
    )


def _regression(result: dict[str, Any]) -> str:
    N = max(result["tuned"], key=int)
    speed = {name: method["best"] for name, method in result["tuned"][N].items()}
    rivals = max(speed[name] or 0.0 for name in ("MH", "TFMH", "FlyMC"))
    holds = "holds" if (speed["TunaMH"] or 0.0) > rivals else "does not hold"
    return (
        "Robust regression is not tempered, and we compare the methods in equilibrium. The paper claims that TunaMH is "
        f"the most efficient method. This {holds}. With tuned step sizes, N = {int(N):,} rows and d = 100 columns, the "
        f"effective draws per second are {number(speed['MH'])} for MH, {number(speed['FlyMC'])} for FlyMC, "
        f"{number(speed['TunaMH'])} for TunaMH and {number(speed['FlyMC-MAP'])} for FlyMC-MAP. The reason: a small "
        "batch saves time, but its noise lowers the acceptance rate. The remedy is a control variate (a Taylor "
        f"expansion of the likelihood) with tight bounds: SMH-2 with such bounds makes {number(speed['SMH-2, sharp'])} "
        f"effective draws per second. tunamh.sample(target) without any settings makes "
        f"{number(speed['sample(target)'])}."
    )


NOTES = {
    "figure-1": "Lines are exact stationary distributions, dots are a run of the compiled code. B is the mean number "
    "of rows that a step reads for a proposed move. Half of all proposals stay in place; they read no rows and are not "
    "counted. Our choices: χ = 0.1, and the right proposal ratio at the two ends of the walk, where the paper's "
    "listing inverts it.",
    "figure-2": "Every chain starts from a draw of the normal approximation at the mode. So nothing here depends on "
    "the way to the posterior. Set-up and warm-up are not counted for any method. There are two measures of "
    "efficiency. The first is ArviZ's effective sample size, the median over coordinates; it is too large for chains "
    "that have not mixed. The second is computed from the mean squared length of moves and the posterior variance; it "
    "is precise after seconds. The bars show the second one if a step is worth less than a fifth of a draw. For FlyMC "
    "the second one is only an upper bound, so the smaller of the two is shown. SMH uses its published l1 bounds, and "
    "reads all rows if the mean batch size exceeds N. 'Sharp' means tunamh's bounds, in the metric of the posterior "
    "precision.",
    "figure-3": "TunaMH and TFMH use the paper's bounds. The other methods use tunamh's bounds, which are tighter and "
    "favour them. The true density is computed by quadrature. The symmetric KL is computed on 99 x 99 cells; empty "
    "cells count as 1e-13, as in later code of the authors. For PoissonMH we chose λ to give the paper's mean batch "
    "size, and the step size to give its acceptance rate.",
    "figure-4": "The figure shows the test accuracy of the mean of all draws, as in the released code. The dotted line "
    "is the accuracy of the mode. For χ = 1e-4 and 5e-4 we use the step sizes that follow from the paper's batch "
    "sizes. Thin dotted lines are runs with the step size 1e-3.",
    "table-1": "The batch sizes are counted as in the paper: for FlyMC the rows that are bright after the sweep. The "
    "column of rows evaluated counts every energy that a method computes.",
    "appendix": "For ten columns the paper states no step sizes. We tuned all of them to an acceptance rate of 0.25 in "
    "equilibrium.",
    "theory": "The ratios of spectral gaps are exact: every acceptance probability of a small chain is computed as a "
    "sum over all batches.",
}
