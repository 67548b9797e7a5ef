"""Claims about robust regression: figure 2, ten columns, AustereMH."""

from __future__ import annotations

import math
from typing import Any

from . import settings
from .claims import Verdict, judge, listed, number

STATIONARITY = (
    "In equilibrium, without tempering or control variates, a small batch saves time, but its noise requires "
    "smaller steps. Both effects cancel: for moves as long as those of MH, a batch must have about 0.8 N rows "
    "(docs/spec.md, section 5e). Our MH keeps the energy of its state and reads its rows in order. The paper's MH "
    "computes the energies of both states in every step. Its chains without MAP had probably not reached the mode "
    "(docs/spec.md, errata 15 and 16)."
)


def leaders(result: dict[str, Any], names: tuple[str, ...], ours: str) -> tuple[str, list[str]]:
    """Effective draws per second at every N relative to ``ours``, and who is fastest where."""
    texts, first = [], []
    for N, methods in result.items():
        speed = {name: methods[name]["best"] or 0.0 for name in names}
        best = max(speed, key=lambda name: speed[name])
        first.append(best)
        texts.append(f"N = {int(N):,}: {best} {number(speed[best])}, {ours} {number(speed[ours])}")
    return "; ".join(texts) + " effective draws per second", first


def figure_2(result: dict[str, Any]) -> list[Verdict]:
    return [*efficiency(result), *batches(result), *batches_with_map(result), *published_settings(result)]


def efficiency(result: dict[str, Any]) -> list[Verdict]:
    published, tuned = result["published"], result["tuned"]
    without = ("MH", "TFMH", "FlyMC", "TunaMH")
    with_map = ("MH", "SMH-1", "SMH-2", "FlyMC-MAP")
    text, first = leaders(published, without, "TunaMH")
    text_tuned, first_tuned = leaders(tuned, without, "TunaMH")
    text_map, first_map = leaders(published, (*with_map, "TunaMH-MAP"), "TunaMH-MAP")
    text_map_tuned, first_map_tuned = leaders(tuned, (*with_map, "TunaMH"), "TunaMH")
    sharp = {f"N = {int(N):,}": m["SMH-2, sharp"]["best"] for N, m in tuned.items()}
    alone = {f"N = {int(N):,}": m["sample(target)"]["best"] for N, m in tuned.items()}
    return [
        judge(
            where="Fig. 2a",
            claim="TunaMH is the most efficient for all N.",
            paper="largest ESS/s",
            ours=text,
            holds=set(first) == {"TunaMH"},
            unless=STATIONARITY,
        ),
        judge(
            where="Fig. 2a, steps tuned",
            claim="The same with every step tuned to 0.25 acceptance at stationarity.",
            paper="largest ESS/s",
            ours=text_tuned,
            holds=set(first_tuned) == {"TunaMH"},
            unless="For the same reason as above.",
        ),
        judge(
            where="Fig. 2c",
            claim="TunaMH performs best even when the others use the MAP.",
            paper="largest ESS/s",
            ours=text_map,
            holds=set(first_map) == {"TunaMH-MAP"},
            unless="As for figure 2a. If SMH as published reads all rows (see figure 2d), it is MH.",
        ),
        judge(
            where="Fig. 2c, steps tuned",
            claim="The same with tuned steps.",
            paper="largest ESS/s",
            ours=text_map_tuned,
            holds=set(first_map_tuned) == {"TunaMH"},
            unless="The published step size of FlyMC-MAP is far too long for its own bright rows. With a tuned "
            "step size, it is among the fastest. Not in the paper: SMH-2 with sharp bounds makes "
            f"{listed(sharp)}, and tunamh.sample(target) without any settings {listed(alone)} effective "
            "draws per second.",
        ),
    ]


def batches(result: dict[str, Any]) -> list[Verdict]:
    published = result["published"]
    N = max(published, key=int)
    at = published[N]
    ratio = at["FlyMC"]["bright"] / at["TunaMH"]["batch"]
    smallest = [
        min((m["batch"], name) for name, m in ms.items() if name != "FlyMC-MAP")[1] for ms in published.values()
    ]
    slow = all(ms["TFMH"]["best"] < min(ms[o]["best"] or 0 for o in ("MH", "TunaMH")) for ms in published.values())
    return [
        judge(
            where="Fig. 2b",
            claim="TunaMH's batch is about 35 times smaller than FlyMC's at N = 100,000.",
            paper="35",
            ours=f"{ratio:.1f} at N = {int(N):,} ({number(at['FlyMC']['bright'])} bright rows, "
            f"{number(at['TunaMH']['batch'])})",
            holds=abs(ratio - 35) < 7 if int(N) == 100_000 else None,
            unless="In equilibrium a tenth of all rows is bright. The paper's 35 can be explained by two things. "
            "First, all rows are bright at the start. Second, the released scripts divide sums over "
            "warm-up and samples by the number of samples alone.",
        ),
        judge(
            where="Fig. 2b",
            claim="TFMH has the smallest batch but, by its small steps, low ESS/s.",
            paper="no number",
            ours="; ".join(
                f"N = {int(M):,}: {number(ms['TFMH']['batch'])} rows, {number(ms['TFMH']['best'])} per second"
                for M, ms in published.items()
            ),
            holds=set(smallest) == {"TFMH"} and slow,
        ),
    ]


def batches_with_map(result: dict[str, Any]) -> list[Verdict]:
    published = result["published"]
    N = max(published, key=int)
    at, tuned = published[N], result["tuned"][N]
    smh = {
        f"{name}, N = {int(M):,}": ms[name]["batch"] / ms["TFMH"]["batch"]
        for M, ms in published.items()
        for name in ("SMH-1", "SMH-2")
    }
    darker = all(m["FlyMC-MAP"]["bright"] < m["FlyMC"]["bright"] for m in published.values())
    return [
        judge(
            where="Fig. 2d",
            claim="SMH's control variates come at the cost of a drastically increased batch at d = 100.",
            paper="no number",
            ours=f"times TFMH's batch: {listed(smh, 2)}; with sharp bounds at N = {int(N):,}: SMH-1 "
            f"{number(tuned['SMH-1, sharp']['batch'])}, SMH-2 {number(tuned['SMH-2, sharp']['batch'])} rows",
            holds=min(smh.values()) > 10,
            why="This is true of the published l1 bounds, with which SMH reads all rows at the smaller N. It is "
            "not true of control variates in general: with bounds in the metric of the posterior precision, "
            "the batches have a few hundred rows or less.",
        ),
        judge(
            where="Fig. 2d",
            claim="FlyMC-MAP tightens the bounds, entailing a decrease in the batch size.",
            paper="no number",
            ours=f"bright rows at N = {int(N):,}: {number(at['FlyMC']['bright'])} to "
            f"{number(at['FlyMC-MAP']['bright'])}; evaluated {number(at['FlyMC']['batch'])} to "
            f"{number(at['FlyMC-MAP']['batch'])}",
            holds=darker,
            why="The remaining evaluations come from the part of the step in which dark rows may become bright: "
            "it looks at a hundredth of the dark rows.",
        ),
    ]


def published_settings(result: dict[str, Any]) -> list[Verdict]:
    off, terms = {}, {}
    for N, methods in result["published"].items():
        for name, method in methods.items():
            if abs(method["acceptance"] - settings.ROBUST_ACCEPTANCE) > 0.05:
                off[f"{name}, N = {int(N):,}"] = method["acceptance"]
        chi, batch = settings.ROBUST_CHI[int(N)], methods["TunaMH"]["batch"]
        reach = (math.sqrt(1 + 4 * chi * batch) - 1) / (2 * chi)
        terms[f"N = {int(N):,}"] = chi * reach**2
    return [
        judge(
            where="Tables 2, 3",
            claim="Step sizes are tuned to an acceptance rate of 0.25.",
            paper="0.25",
            ours=f"beyond 0.05 of it at stationarity: {listed(off, 2) or 'none'}",
            holds=not off,
            unless="The acceptance rate in equilibrium cannot depend on the start. But the tables have different "
            "step sizes for TunaMH with MAP and without MAP. So some were tuned on chains that had not "
            "reached the posterior.",
        ),
        judge(
            where="Sec. 5",
            claim="chi is about the largest value that keeps chi C²M² below 1 in most steps.",
            paper="< 1",
            ours=listed(terms),
            holds=max(terms.values()) < 1,
            unless="With the published chi and step sizes it is above 1 at every N.",
        ),
    ]


def appendix(result: dict[str, Any]) -> list[Verdict]:
    return [*more_states(result["walk"]), *low_dimension(result["low"]), austere(result["austere"])]


def more_states(walk: dict[str, Any]) -> list[Verdict]:
    tv = {name: method["tv"] for name, method in walk["methods"].items()}
    least = min(value for name in ("AustereMH", "MHminibatch") for value in tv[name].values())
    run = {name: m["simulated"]["500"]["tv"] for name, m in walk["methods"].items() if "500" in m["simulated"]}
    return [
        judge(
            where="App., densities",
            claim="For K = 500 to 5000 too MH and TunaMH are accurate and inexact methods seriously wrong.",
            paper="no number",
            ours=f"exact total variation, inexact: at least {number(least)}; TunaMH at most "
            f"{max(tv['TunaMH'].values()):.0e}; runs at K = 500: {listed(run, 2)}",
            holds=least > 0.4 and max(tv["TunaMH"].values()) < 1e-6,
            why="The runs have Monte Carlo noise: MH forgets its start after about 10^5 steps at K = 500 and 10^7 "
            "steps at K = 5000.",
        )
    ]


def low_dimension(low: dict[str, Any]) -> list[Verdict]:
    speed = {name: method["best"] or 0.0 for name, method in low["methods"].items()}
    at = f"d = 10, N = {low['rows']:,}: "
    without = {name: speed[name] for name in ("TFMH", "FlyMC", "TunaMH", "MH")}
    with_map = {name: speed[name] for name in ("SMH-1", "SMH-2", "FlyMC-MAP", "TunaMH")}
    extra = {name: speed[name] for name in ("SMH-1, sharp", "SMH-2, sharp", "sample(target)")}
    return [
        judge(
            where="App., d = 10",
            claim="Without MAP TunaMH is significantly better than FlyMC and TFMH.",
            paper="ESS/s TFMH 0.02, FlyMC 0.75, TunaMH 1.7",
            ours=at + listed(without),
            holds=speed["TunaMH"] > 1.5 * max(speed["FlyMC"], speed["TFMH"]),
            unless="Here every chain starts from a draw of the posterior. At N = 100,000 TunaMH is about as fast "
            "as in the paper. FlyMC and TFMH are faster; in the paper their chains had perhaps not reached "
            "the mode.",
        ),
        judge(
            where="App., d = 10",
            claim="With MAP TunaMH is better than SMH-1, similar to FlyMC-MAP and worse than SMH-2.",
            paper="SMH-1 175, SMH-2 5970, FlyMC-MAP 731, TunaMH-MAP 730",
            ours=at + listed(with_map) + "; not in the paper: " + listed(extra),
            holds=speed["SMH-1"] < speed["TunaMH"] < speed["SMH-2"]
            and 0.5 < speed["TunaMH"] / max(speed["FlyMC-MAP"], 1e-9) < 2,
            unless="SMH-2 is the fastest in the paper, too. TunaMH-MAP differs from TunaMH only in its start. In "
            "equilibrium the start cannot make a chain 400 times faster (1.7 and 730 in the paper). So 730 "
            "is probably the figure of a chain that has not left the mode.",
        ),
    ]


def austere(result: dict[str, Any]) -> Verdict:
    errors = {name: method["error"] for name, method in result["methods"].items()}
    widths = {name: method["posterior_variance_ratio"] for name, method in result["methods"].items()}
    whole = result["draws"] >= settings.AUSTERE_DRAWS
    return judge(
        where="App.",
        claim="AustereMH's error on robust regression, N = 5000, is eight times that of exact methods.",
        paper='"MSE": MH 0.149, TunaMH 0.15, AustereMH 1.19',
        ours=f"distance of the mean draw to the truth: {listed(errors)}; of the mode: {number(result['mode_error'])}; "
        f"variance of the draws over the posterior's: {listed(widths, 2)}",
        holds=errors["AustereMH"] > 4 * errors["MH"] if whole else None,
        unless="0.149 is not a mean square (that would be 0.0002). It is the Euclidean distance, and nearly all "
        "of it is the error of the posterior mean itself. AustereMH's mean is as good as those of the "
        "other methods. A chain that has not reached the posterior would give 1.19. The inexactness of "
        "AustereMH shows in the variance of its draws.",
    )
