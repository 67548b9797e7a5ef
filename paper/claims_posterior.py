"""Claims about the mixture (figure 3), MNIST (figure 4) and batch sizes (table 1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import settings
from .claims import Verdict, judge, listed, near, number


def mean_of(method: dict[str, Any], what: str) -> float:
    return float(np.mean([run[what] for run in method["runs"]]))


def final(method: dict[str, Any], what: str = "kl") -> float:
    return float(np.mean([curve[what][-1] for curve in method["curves"]]))


def figure_3(result: dict[str, Any]) -> list[Verdict]:
    return [*speed_on_mixture(result), *densities_on_mixture(result)]


def speed_on_mixture(result: dict[str, Any]) -> list[Verdict]:
    methods = result["methods"]
    short = {name: method["after_one_second"]["kl"] for name, method in methods.items()}
    last = {name: final(method) for name, method in methods.items()}
    others = {name: value for name, value in short.items() if name != "TunaMH"}
    fly = [last["FlyMC"], last["FlyMC-MAP"]]
    return [
        judge(
            where="Fig. 3a",
            claim="TunaMH is the fastest, converging after 1 second, whereas the others take much longer.",
            paper="converged at 1 s",
            ours=f"symmetric KL after 1 second: {listed(short, 2)}",
            holds=short["TunaMH"] < 0.5 * min(others.values()),
            why="This is the case for which the paper was written: a tempered posterior with two modes.",
            unless="TunaMH has converged after a second and is far ahead of MH, FlyMC and PoissonMH. But in a "
            "compiled loop two other methods are as good. TFMH makes short steps that cost almost nothing. "
            "SMH-1 reads only 20 rows per step if it uses a bound on the spectral norm of the Hessian that "
            "is 27 times smaller than the paper's.",
        ),
        judge(
            where="Fig. 3a",
            claim="SMH-1 performs worse than TFMH: a control variate is unhelpful with two modes.",
            paper="no number",
            ours=f"symmetric KL after 1 second: SMH-1 {number(short['SMH-1'], 2)}, TFMH {number(short['TFMH'], 2)}; "
            f"rows per step {number(mean_of(methods['SMH-1'], 'batch'))}, {number(mean_of(methods['TFMH'], 'batch'))}",
            holds=short["SMH-1"] > short["TFMH"],
            unless="With the paper's bound SMH-1 would read about 27,000 rows per step. Our bound is 27 times "
            "smaller (proved in docs/spec.md, section 3.2). With it the control variate helps although "
            "this posterior is wide.",
        ),
        judge(
            where="Fig. 3a",
            claim="FlyMC and FlyMC-MAP are on par with standard MH.",
            paper="no number",
            ours=f"symmetric KL after {result['seconds']:g} s: MH {number(last['MH'], 2)}, FlyMC {number(fly[0], 2)}, "
            f"FlyMC-MAP {number(fly[1], 2)}",
            holds=max(fly) > 0.4 * last["MH"],
            why="All three are still far from the truth. In each step, FlyMC proposes 10,000 dark rows.",
        ),
    ]


def densities_on_mixture(result: dict[str, Any]) -> list[Verdict]:
    methods = result["methods"]
    short = {name: method["after_one_second"]["kl"] for name, method in methods.items()}
    close = sorted(name for name, value in short.items() if value < 2 * short["TunaMH"])
    acceptance = {name: mean_of(method, "acceptance") for name, method in methods.items()}
    off = {name: value for name, value in acceptance.items() if abs(value - 0.6) > 0.05}
    return [
        judge(
            where="Fig. 3c",
            claim="After 1 second TunaMH's density is very close to the truth; no other method is on par.",
            paper="a picture",
            ours="total variation on 99 x 99 cells: "
            f"{listed({n: m['after_one_second']['tv'] for n, m in methods.items()}, 2)}",
            holds=close == ["TunaMH"],
            unless=f"On par with TunaMH: {', '.join(n for n in close if n != 'TunaMH') or 'none'}; see figure 3a.",
        ),
        judge(
            where="App.",
            claim="Steps are tuned to an acceptance rate of 0.6.",
            paper="0.6",
            ours=listed(acceptance, 2),
            holds=not off,
            unless="The paper's step 0.3 of MH accepts fewer proposals; a step of 0.19 would accept 0.6. The "
            "paper's step 0.01 of FlyMC accepts more, because our tighter bounds make fewer rows bright.",
        ),
    ]


def figure_4(result: dict[str, Any]) -> list[Verdict]:
    return [fastest_on_digits(result), *dial_on_digits(result)]


AT = f"to {settings.MNIST_ACCURACY:g} test accuracy"


def fastest_on_digits(result: dict[str, Any]) -> Verdict:
    methods = result["methods"]
    times = {name: method["seconds_to_accuracy"] for name, method in methods.items()}
    known = {name: value for name, value in times.items() if value is not None}
    fastest = min(known, key=lambda name: known[name]) if known else None
    lead = min((v for n, v in known.items() if n != "TunaMH"), default=np.inf) / known.get("TunaMH", np.inf)
    cost = {n: 1e3 * mean_of(m, "microseconds_per_step") / mean_of(m, "batch") for n, m in methods.items()}
    return judge(
        where="Fig. 4a",
        claim="TunaMH is the fastest of all methods to converge in wall-clock time.",
        paper="a picture",
        ours=f"seconds {AT}: {listed(times, 2)}",
        holds=None if "TunaMH" not in known else lead > 1.15,
        why="On the way from a far start, small batches are enough to find the direction to the mode.",
        unless=f"{fastest} leads, or they are level within 15 %. Our MH keeps the energy of its state and reads "
        f"its rows in order: {cost['MH']:.0f} ns per row. A row of a minibatch takes {cost['TunaMH']:.0f} "
        "ns. The paper's MH computes the energies of both states in every step, which doubles its time.",
    )


def dial_on_digits(result: dict[str, Any]) -> list[Verdict]:
    dial, mh = result["dial"], result["methods"]["MH"]
    steps = {f"chi {chi}": method["iterations_to_accuracy"] for chi, method in dial.items()}
    alone = {f"chi {chi}": method["iterations_to_accuracy"] for chi, method in result["dial_same_step"].items()}
    clock = {f"chi {chi}": method["seconds_to_accuracy"] for chi, method in dial.items()}
    batches = {chi: mean_of(method, "batch") for chi, method in dial.items()}
    wanted = {f"{chi:g}": batch for chi, batch in settings.MNIST_DIAL_BATCH.items()}
    found = [value for value in steps.values() if value is not None]
    limit = mh["seconds_to_accuracy"]
    return [
        judge(
            where="Fig. 4b",
            claim="As chi increases, TunaMH's convergence per iteration approaches MH's.",
            paper="a picture",
            ours=f"iterations {AT}: {listed(steps)}; MH {number(mh['iterations_to_accuracy'])}; with the step kept at "
            f"1e-3: {listed(alone)}",
            holds=found == sorted(found, reverse=True) if len(found) == len(steps) else None,
            why="The main reason are the step sizes (1e-3, 1.5e-3, 2.5e-3). They follow from the paper's batch "
            "sizes, but its text does not mention them. With one step size, chi itself changes little here.",
        ),
        judge(
            where="Fig. 4c",
            claim="TunaMH is superior to MH in wall-clock time however chi is set.",
            paper="a picture",
            ours=f"seconds {AT}: {listed(clock, 2)}; MH {number(limit, 2)}",
            holds=None if limit is None or None in clock.values() else max(v or 0 for v in clock.values()) < limit,
            unless="As for figure 4a: it depends on what MH keeps from step to step.",
        ),
        *(
            judge(
                where="Fig. 4",
                claim=f"Batch size at chi = {chi}.",
                paper=f"{wanted[chi]:,.2f}",
                ours=f"{batch:,.2f}",
                holds=near(batch, wanted[chi], 0.01),
            )
            for chi, batch in batches.items()
        ),
    ]


WHY_FLY = {
    "mixture": "The paper's number is an average over the way to the posterior: no row is bright at the start, "
    "and steps of 0.01 hardly leave it. At the posterior mean, {paper_bounds} rows are bright with the "
    "paper's bound, and {stationary} with the tighter bound used here.",
    "MNIST": "The paper's number is an average over 5000 steps in which the number of bright rows rises, so it "
    "depends on the length of the run. In equilibrium {stationary} rows are bright. FlyMC evaluates "
    "more: {evaluated} rows per step in all.",
}


def table_1(result: dict[str, Any]) -> list[Verdict]:
    rows = [cell(task, name, entry) for task in ("mixture", "MNIST") for name, entry in result[task].items()]
    digits = result["MNIST"]
    ratio, still = (
        digits["FlyMC"]["ours"] / digits["TunaMH"]["ours"],
        digits["FlyMC"]["stationary"] / digits["TunaMH"]["ours"],
    )
    rows.append(
        judge(
            where="Sec. 5.3",
            claim="On MNIST TunaMH's batch is 4 times smaller than FlyMC's.",
            paper="4",
            ours=f"{ratio:.1f}; stationary {still:.1f}",
            holds=2.5 < ratio < 5.5 if digits["FlyMC"]["steps"] >= settings.TABLE_STEPS["MNIST"]["FlyMC"] else None,
            why="In equilibrium the ratio is larger.",
        )
    )
    return rows


def cell(task: str, name: str, entry: dict[str, Any]) -> Verdict:
    """One cell: within 1 % (TFMH 3 %), or for FlyMC within three of the paper's standard errors."""
    whole = entry["steps"] >= settings.TABLE_STEPS[task][name]
    ours = f"{number(entry['ours'], 5)} ± {number(entry['error'], 2)}"
    why = unless = ""
    if name == "FlyMC":
        paper_bounds = entry.get("stationary_paper_bounds")
        why = unless = WHY_FLY[task].format(
            stationary=number(entry["stationary"]),
            paper_bounds=number(paper_bounds),
            evaluated=number(entry.get("stationary_evaluated")),
        )
        holds: bool | None = abs(entry["ours"] - entry["paper"]) < 3 * entry["paper_error"] if whole else None
        ours += f"; stationary {number(entry['stationary'])}"
    else:
        holds = near(entry["ours"], entry["paper"], 0.03 if name == "TFMH" else 0.01)
        if name == "TFMH" and task == "MNIST":
            holds = holds if whole else None
            unless = "The average rises with the length of the run: 28 from the start, 44 in equilibrium."
        if name == "PoissonMH":
            why = "We chose lambda to give this number, because the paper states neither lambda nor its bounds."
    return judge(
        where=f"Table 1, {task}",
        claim=f"Average batch size of {name}.",
        paper=f"{entry['paper']:,.2f} ± {entry['paper_error']:g}",
        ours=ours,
        holds=holds,
        why=why,
        unless=unless,
    )
