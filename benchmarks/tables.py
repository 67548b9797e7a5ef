"""The tables of the documentation, from what the benchmarks have measured.

    python benchmarks/tables.py

Replaces what stands between ``<!-- table NAME -->`` and ``<!-- end -->`` in README.md and below docs/. No figure in
these tables is typed by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import fit_checks_groups as fit_checks_of_groups
import group_fits_data
import group_fits_report
import groups
import groups_per_row
import laplace_psis
import living
import models
import real_groups
import real_models
import thin_levels
from common import HERE, RESULTS, number
from model_problems import FAMILIES
from peers_report import FEW, NUTS, SAMPLERS, best_nuts, measured, times_faster

ROOT = HERE.parent


def results(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text())


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _rate(result: dict | None, excuse: str = "") -> str:
    if result is None:
        return excuse
    return number(result["ess_per_second"]) + ("*" if result["min_ess"] < FEW else "")


def _title(problem: str) -> str:
    if problem == "mnist79":
        return "MNIST 7 v 9, 12,214 x 50"
    family, size = problem.split("-")
    n_rows, d = size.split("x")
    return f"{'logistic' if family == 'logistic' else 'Student-t'} {int(float(n_rows)):,} x {d}"


def peers(only: Sequence[str] | None = None) -> str:
    """Effective draws per second of sampling; tunamh over the best NUTS in the last column."""
    report = results("peers")
    labels = (SAMPLERS[s].label for s in ("tunamh", "numpyro", "nutpie", "hmcecs", "pymhss"))
    columns = ["data, rows x columns", *labels, "tunamh / best NUTS"]
    rows = []
    for problem, found in sorted(report["problems"].items(), key=lambda item: item[0]):
        if only is not None and problem not in only:
            continue
        best = best_nuts(found)
        numpyro = max(
            (r for s in NUTS[:2] if (r := measured(found, s))), key=lambda r: r["ess_per_second"], default=None
        )
        ratio = times_faster(found, best)
        flag = "*" if best and best["min_ess"] < FEW else ""
        rows.append(
            [
                _title(problem),
                f"**{_rate(measured(found, 'tunamh'))}**",
                _rate(numpyro),
                _rate(measured(found, "nutpie")),
                _rate(measured(found, "hmcecs")),
                _rate(measured(found, "pymhss"), "out of memory" if "memory" in str(found.get("pymhss")) else ""),
                f"**{number(ratio)}**{flag}" if ratio else "",
            ]
        )
    return markdown(columns, rows)


def few_peers() -> str:
    return peers(["logistic-1e4x50", "logistic-1e5x50", "logistic-1e6x50", "student-1e5x100", "mnist79"])


def scaling() -> str:
    columns = [
        "logistic, rows x columns",
        "rows per step",
        "rows per effective draw",
        "effective draws per second",
        "set-up, s",
    ]
    rows = [
        [
            f"{r['rows']:,} x {r['d']}",
            number(r["rows_per_step"]),
            number(r["rows_per_effective_draw"]),
            number(r["ess_per_second"]),
            number(r["setup_seconds"]),
        ]
        for r in sorted(results("scaling")["growth"], key=lambda r: (r["d"], r["rows"]))
        if r["status"] == "ok"
    ]
    return markdown(columns, rows)


def step() -> str:
    found = results("step")["results"]
    parts = {
        "propose": "draw the proposal",
        "locate": "compute its parameters",
        "distance and offset": "compute M and the part without rows",
        "whole step": "whole step",
        "the same from float32": "whole step, columns in float32",
    }
    columns = ["data, rows x columns", "rows per step", *parts.values()]
    return markdown(
        columns, [[_title(r["problem"]), number(r["rows per step"]), *(f"{r[p]:,.0f}" for p in parts)] for r in found]
    )


def gather() -> str:
    columns = [
        "rows",
        "columns",
        "load a row, two dot products",
        "TunaMH, 50 rows per step",
        "TunaMH, 500 rows per step",
    ]
    found = {(r["rows"], r["d"], r["batch"]): r for r in results("rows_per_second")["rows"]}
    sizes = sorted({key[:2] for key in found if key[1] >= 50})
    return markdown(
        columns,
        [
            [
                f"{n:,}",
                str(d),
                f"{found[n, d, 50]['bare_ns']:.0f}",
                *(f"{found[n, d, batch]['tunamh_ns']:.0f}" for batch in (50, 500)),
            ]
            for n, d in sizes
        ],
    )


def demo_regression() -> str:
    """What `tunamh demo` showed (its JSON files are copied from demo/ to benchmarks/results/)."""
    r = results("regression")
    return (
        f"`make demo`, two cores ({r['machine']}, {r['date']}): {r['rows']:,} rows, {r['columns']} columns, set-up "
        f"{r['setup']:.1f} s, then {r['draws']:,}\ndraws ({r['effective']:,.0f} effective draws) in "
        f"{r['sampling']:.2f} s. All of these draws together read\n{r['rows_touched']:,.0f} rows: "
        f"{r['rows_touched'] / r['rows']:.3f} passes over the data."
    )


def demo_mixture() -> str:
    report = results("mixture")
    found = report["contenders"]
    rows = [
        ["steps", *(f"{c['steps']:,}" for c in found)],
        ["rows touched per step", *(f"{c['rows_per_step']:,.0f}" for c in found)],
        ["rows touched in all, in passes over the data", *(f"{c['rows'] / report['rows']:,.0f}" for c in found)],
        ["distance to the true density (total variation)", *(f"**{c['distance']:.3f}**" for c in found)],
    ]
    said = (
        f"The paper's two-mode mixture with a million rows, {report['seconds']:g} seconds for each sampler on two "
        f"cores\n(`make demo`; {report['machine']}, {report['date']}):\n\n"
    )
    return said + markdown(["", *(c["name"] for c in found)], rows)


def point_fits() -> str:
    """Seconds of the whole posterior and of fits that give a point."""
    sizes = results("point_fits")["sizes"]
    methods = list(next(iter(sizes.values())))
    rows = []
    for size, found in sizes.items():
        n_rows, d = size.split("x")
        seconds = [number(found[m]["seconds"]) if "seconds" in found[m] else "" for m in methods]
        rows.append([f"{int(float(n_rows)):,} x {d}", *seconds])
    return markdown(["rows x columns", *methods], rows)


def point_fits_away() -> str:
    """How far from the mode each ended, in posterior standard deviations."""
    sizes = results("point_fits")["sizes"]
    methods = list(next(iter(sizes.values())))
    rows = []
    for size, found in sizes.items():
        n_rows, d = size.split("x")
        away = [f"{found[m]['away']:.1g}" if "away" in found[m] else "" for m in methods]
        rows.append([f"{int(float(n_rows)):,} x {d}", *away])
    return markdown(["rows x columns", *methods], rows)


def fixed_cost() -> str:
    """One call of `sample` at 10,000 x 20, in milliseconds."""
    parts = results("point_fits")["fixed_cost_ms"]
    names = {"set-up": "set-up", "chains": "chains, warm-up included", "ending": "DataTree, R-hat, ESS"}
    rows = [[f"{parts['whole call']:.0f}", *(f"{parts[part]:.0f}" for part in names)]]
    return markdown(["one call at 10,000 x 20, ms", *names.values()], rows)


def first_minute() -> str:
    """What the first call of an installation waits for, and the next one."""
    report = results("first_minute")
    rows = []
    for name, found in report["figures"].items():
        first, functions = found["first"], found["first"]["functions"]
        compiling = sum(own for own, _ in functions.values())
        seconds = [first["import"][1], first["call"][1], compiling, found["again"]["call"][1]]
        rows.append([name, *(f"{value:.1f}" for value in seconds), str(len(functions))])
    columns = [
        "CPU seconds, by model",
        "import",
        "first call",
        "compiling in the first call",
        "next call",
        "functions compiled",
    ]
    return f"(`benchmarks/first_minute.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def effects() -> str:
    """Questions about effects, beside the fit and a pass per draw."""
    report = results("effects")
    rows = [
        [
            one["question"],
            f"{one['seconds']:.1f}",
            f"{one['seconds by a pass per draw']:,.0f}",
            f"{one['stated error']:.1g}",
            f"{one['true error']:.1g}",
        ]
        for one in report["questions"]
    ]
    columns = ["question", "CPU seconds", "CPU seconds, if every draw read all rows"]
    columns += ["reported error (posterior sd)", "true error (posterior sd)"]
    told = f"{report['rows']:,} rows x {report['columns']}; the fit took {report['fit']:.1f} CPU seconds"
    return f"({told}; `benchmarks/effects.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def gpu() -> str:
    """A graphics card's recorded figures beside one core's."""
    report = results("gpu")
    ours = {
        r["rows"]: r["ess_per_second"] for r in results("scaling")["growth"] if r["d"] == 50 and r["status"] == "ok"
    }
    rows = []
    for n_rows, found in report["figures"].items():
        theirs = found["ess_per_second"]
        best = max(value for value in theirs if value is not None)
        cells = ["not run" if value is None else number(value) for value in theirs]
        speed = ours[int(n_rows)]
        rows.append(
            [f"{int(n_rows):,}", f"{found['gradient_ms']:g} ms", *cells, number(speed), number(speed / best, 2)]
        )
    return markdown(
        ["rows", "time of one gradient", *report["columns"], "tunamh, one core", "tunamh / best on the GPU"], rows
    )


def groups_on_many_cores() -> str:
    report = results("groups_device")
    columns = [
        "data",
        "effective draws per sweep, tunamh",
        "tunamh, 16 cores",
        "HMC on the H200, 128 chains",
        "tunamh / HMC",
    ]
    rows = []
    for one in report["problems"].values():
        own, hmc = one["own"], one["hmc"]
        ratio = own["ess_per_second"] / hmc["ess_per_second"]
        figures = f"{own['ess_per_sweep']:.2f}", number(own["ess_per_second"]), number(hmc["ess_per_second"])
        rows.append([one["title"], *figures, f"{ratio:.2g}"])
    where = f"(`benchmarks/groups_device.py`; {report['machine']['cores']} cores, {report['machine']['processor']}, "
    where += f"and an NVIDIA H200, {report['machine']['date']})"
    return where + "\n\n" + markdown(columns, rows)


def thin_groups_per_row() -> str:
    report = results("groups_per_row")
    rows = [groups_per_row.cells(name, found) for name, found in report["problems"].items()]
    columns = ["data", *groups_per_row.COLUMNS[1:]]
    return f"(`benchmarks/groups_per_row.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def census() -> str:
    """Memory and set-up of the census data, categories as codes and as 0/1 columns."""
    labels = {"codes": "categories as codes", "dense": "0/1 columns, float64"}
    columns = [
        "data as",
        "columns, MB",
        "packed rows, MB",
        "largest memory of the process, MB",
        "set-up, s",
        "set-up, CPU s",
    ]
    rows = []
    for design, found in results("census")["designs"].items():
        memory = [number(found[key] / 1e6) for key in ("design_bytes", "packed_bytes", "peak_bytes")]
        rows.append([labels[design], *memory, *(number(found["seconds"][part]) for part in ("all", "processor"))])
    return markdown(columns, rows)


def _measured_with(report: dict) -> str:
    return f"{report['machine']['processor']}, {report['machine']['cores']} cores, {report['machine']['date']}"


def model_families() -> str:
    """Every family at 1e5 rows, in the sizes that NUTS ran too."""
    report = results("models")
    columns = [
        "family",
        "parameters",
        "acceptance rate",
        "rows per step",
        "effective draws per second, tunamh",
        "set-up, s",
    ]
    rows = []
    for family, title in FAMILIES.items():
        sizes = report["families"].get(family, {}).get("sizes", {})
        d = "10" if family.startswith("softmax") else "20"
        small, large = (sizes.get(f"{n}x{d}") for n in ("1e4", "1e5"))
        if large is None:
            continue
        cells = models.cells(large)
        parameters = str(large["tunamh"].get("parameters", ""))
        less = models.times_nuts(small) if small else None
        rows.append([title, parameters, *cells[:5], f"**{cells[5]}**", "-" if less is None else number(less)])
    said = f"(`benchmarks/models.py`; {_measured_with(report)})\n\n"
    columns += ["effective draws per second, NUTS", "tunamh / NUTS", "tunamh / NUTS at 10,000 rows"]
    return said + markdown(columns, rows)


def model_sizes() -> str:
    """Rows per step and effective draws per second of every size."""
    report = results("models")["families"]
    rows = []
    for family, title in FAMILIES.items():
        softmax = family.startswith("softmax")
        if not report.get(family, {}).get("sizes"):
            continue
        cells = [title]
        for n in ("1e4", "1e5", "1e6"):
            for d in (5, 10, None) if softmax else (5, 20, 50):
                found = report.get(family, {}).get("sizes", {}).get(f"{n}x{d}", {}).get("tunamh", {})
                ok = found.get("status") == "ok"
                cells.append(f"{number(found['rows_per_step'])} / {number(found['ess_per_second'])}" if ok else "-")
        rows.append(cells)
    return markdown(["family", *(f"{n} x {d}" for n in ("1e4", "1e5", "1e6") for d in (5, 20, 50))], rows)


def model_goals() -> str:
    return markdown(models.GOAL_COLUMNS, models.goals(results("models")))


def rare_events() -> str:
    report = results("rare_events")
    columns = ["version", "acceptance rate", "rows per step", "effective draws per second", "set-up, s"]
    keys = ("rows_per_step", "ess_per_second", "setup_seconds")
    rows = [
        [f"{name} ({report['commits'][name]})", f"{f['acceptance']:.3f}", *(number(f[key]) for key in keys)]
        for name, f in report["figures"].items()
    ]
    levels = [f"{100 * level:g} %" for level in report["levels"]]
    quantiles = [[name, *(f"{value:.3f}" for value in values)] for name, values in report["quantiles"].items()]
    return (
        f"The data have {report['events']} events in {report['rows']:,} rows and {report['columns']} columns. "
        "The model is a logistic regression with a flat prior, on one core "
        f"(`benchmarks/rare_events.py`;\n{_measured_with(report)}):\n\n{markdown(columns, rows)}\n\n"
        f"The next table has quantiles of the {report['parameter']}, the parameter whose posterior differs most from "
        "Laplace's approximation:\n\n" + markdown(["quantile", *levels], quantiles)
    )


def fit_checks() -> str:
    report = results("fit_checks")
    right = [
        [name, f"{f['alarms']:g} of {f['sets']:g}", f"{100 * f['below_0.05']:.1f} %"]
        for name, f in report["right"].items()
    ]
    wrong = [[name, f"{100 * f['found']:.0f} %"] for name, f in report["wrong"].items()]
    return (
        f"The table shows the number of false alarms. Each data set has {report['rows']} rows and is simulated from "
        "the model that is checked,\nwith known parameters "
        f"(`benchmarks/fit_checks.py`; {_measured_with(report)}):\n\n"
        + markdown(["family", "data sets with a false alarm", "single checks with a p-value below 0.05"], right)
        + "\n\nThe next table shows how often the checks found a defect. "
        + f"Each data set has {report['rows']} rows:\n\n"
        + markdown(["defect", "data sets in which the checks found it"], wrong)
    )


def fit_checks_groups() -> str:
    report = results("fit_checks_groups")
    rows = [fit_checks_of_groups.cells(one) for one in report["figures"]]
    told = f"(`benchmarks/fit_checks_groups.py`; {_measured_with(report)})"
    return f"{told}\n\n" + markdown(fit_checks_of_groups.COLUMNS, rows)


def whole_census() -> str:
    """What trajectories take for all parameters of the census."""
    report = results("census_posterior")
    f, e = report["figures"], report["figures"]["entries"]
    said = (
        f"The data have {f['rows']:,} rows, and the model has {f['parameters']} parameters; {f['wide']} of them have a "
        f"posterior standard\ndeviation above 1. In {number(f['seconds'])} s on {report['machine']['cores']} cores, "
        f"set-up included, tunamh makes {f['draws']:,} draws. They have {number(f['ess'])} effective draws\nof the "
        f"worst parameter, and R-hat is at most {f['rhat']:.3f}. On average, a draw takes "
        f"{number(f['leapfrog_steps'])} steps of a trajectory and one pass over all\nrows."
    )
    entries = (
        "tunamh also makes the columns of the levels shorter: it multiplies them by an invertible matrix of integers "
        f"([specification\nof trajectories](spec-trajectories.md)). Before, these columns have {e['given']:,} non-zero "
        f"entries; afterwards they have {e['short']:,}."
    )
    return f"{said} {entries}\n(`benchmarks/census_posterior.py`; {_measured_with(report)})"


def levels() -> str:
    report = results("thin_levels")
    rows = [thin_levels.cells(name, found) for name, found in report["figures"].items()]
    return f"(`benchmarks/thin_levels.py`; {_measured_with(report)})\n\n" + markdown(thin_levels.COLUMNS, rows)


def real_data() -> str:
    report = results("real_models")
    rows = [[title, *real_models.cells(report["data"][name])] for name, title in real_models.TITLES.items()]
    return f"(`benchmarks/real_models.py`; {_measured_with(report)})\n\n" + markdown(real_models.COLUMNS, rows)


def group_effects() -> str:
    """Random intercepts beside NUTS."""
    report = results("groups")
    rows = [groups.cells(name, report["problems"][name]) for name in groups.PROBLEMS if name in report["problems"]]
    return f"(`benchmarks/groups.py`; {_measured_with(report)})\n\n" + markdown(groups.COLUMNS, rows)


def weak_groups() -> str:
    found = results("groups")["weak"]["groups"]
    return markdown(groups.WEAK_COLUMNS, [groups.weak_cells(name, one) for name, one in found.items()])


def multilevel() -> str:
    return groups.long_sentence(results("groups")["long"])


def real_group_effects() -> str:
    report = results("real_groups")
    rows = [[t, *real_groups.cells(report["data"][n])] for n, t in real_groups.TITLES.items() if n in report["data"]]
    return f"(`benchmarks/real_groups.py`; {_measured_with(report)})\n\n" + markdown(real_groups.COLUMNS, rows)


def _group_fits(cells: Callable[[str, dict], list[str]]) -> list[list[str]]:
    found = results("group_fits")["problems"]
    return [cells(name, found[name]) for name in group_fits_data.ENTRIES if name in found]


def group_point_fits() -> str:
    """Models with groups beside lme4, glmmTMB and NUTS."""
    said = f"(`benchmarks/group_fits.py`; {_measured_with(results('group_fits'))})\n\n"
    return said + markdown(group_fits_report.COLUMNS, _group_fits(group_fits_report.cells))


def group_fit_checks() -> str:
    """How far the estimates of lme4, glmmTMB and NUTS are from ours."""
    rows = _group_fits(group_fits_report.check_cells)
    return markdown(group_fits_report.CHECKS, [row for row in rows if set(row[1:]) != {"-"}])


def laplace_and_psis() -> str:
    report = results("laplace_psis")
    rows = [laplace_psis.cells(name, found) for name, found in report["figures"].items()]
    return f"(`benchmarks/laplace_psis.py`; {_measured_with(report)})\n\n" + markdown(laplace_psis.COLUMNS, rows)


_NO_PASSES = "The time of the passes is not included."


_MAPS = "expanding", "gather"


def rows_from_disk() -> str:
    """Time, rows and memory as the number of rows on disk grows; steps from a pool and in memory."""
    report = results("rows_from_disk")
    columns = ["rows", "file", "reading alone", "first look", "search for the mode", "search with bounds", "gathering"]
    columns += ["all passes / reading", "whole run", "sampling", "effective draws", "rows gathered", "peak memory"]
    rows = []
    for found in report["sizes"]:
        maps = found["maps, s"]
        mode = maps["looking for the mode"]
        begun = {begins: [times[0] for stage, times in maps.items() if stage.startswith(begins)] for begins in _MAPS}
        bounds, gathering = begun["expanding"] or mode[-1:], begun["gather"]
        rows.append(
            [
                f"{found['rows']:,}",
                f"{found['megabytes']:,.0f} MB",
                f"{found['reading alone, s']:.2g} s",
                f"{maps['looking at all rows'][0]:.2g} s",
                f"{mode[0]:.2g} s",
                f"{bounds[0]:.3g} s",
                f"{gathering[0]:.3g} s",
                f"{found['all maps over reading']:.0f}",
                f"{found['seconds']:.0f} s",
                f"{found['sampling, s']:.2g} s",
                f"{found['effective draws']:,.0f}",
                f"{found['rows gathered']:,}",
                f"{found['peak memory, MB']:,.0f} MB",
            ]
        )
    steps = ", ".join(
        f"{found['pool']:.1f} microseconds for {found['batch']} rows "
        f"({found['ratio']:.2f} of the time with rows in memory)"
        for found in report["steps"]
    )
    told = (
        f"The data have ten float32 columns. The setting is `memory={report['memory']!r}`, and the process may have no "
        f"more than {report['limit'] / 2**30:.0f} GiB of data. Times of passes are CPU time "
        f"(`benchmarks/rows_from_disk.py`; {_measured_with(report)}; shared machine, load {report['load']:.0f} at the "
        f"start):"
    )
    return f"{told}\n\n{markdown(columns, rows)}\n\nA step that uses gathered rows takes {steps}. {_NO_PASSES}"


def first_set_up() -> str:
    """A first set-up and a short run beside reading alone."""
    report = results("first_set_up")
    n, rows = report["rows"], []
    for found in report["files"]:
        for door, seconds in found["doors"].items():
            whole = seconds["in all"]
            over = f"{whole / found['reading']:.0f}", f"{whole / found['one_sum']:.0f}"
            rows.append([found["file"], door, f"{1e9 * found['reading'] / n:.0f}", f"{1e9 * whole / n:.0f}", *over])
    columns = ["file", "rows are given by", "reading alone, ns per row", "set-up and short run, ns per row"]
    columns += ["/ reading", "/ one sum"]
    told = (
        f"A first set-up and a short run of {n:,} rows, CPU time (`benchmarks/first_set_up.py`; "
        f"{_measured_with(report)}; machine with other work). One sum is a pass that reads the columns and adds up "
        "`X' diag(w) X`:"
    )
    return f"{told}\n\n{markdown(columns, rows)}"


def flights() -> str:
    report = results("flights")
    runs = report["runs"]
    said = {"held": "rows read into memory", "gathered": "rows gathered from the file", "arrays": "rows in arrays"}
    columns = ["parameter", *(said[name] for name in runs)]
    rows = [
        [name, *(f"{run['mean'][j]:.4f} ({run['sd'][j]:.4f})" for run in runs.values())]
        for j, name in enumerate(runs["held"]["names"])
    ]
    for label, key, form in (
        ("effective draws", "effective draws", ",.0f"),
        ("rows per step", "rows per step", ".2g"),
        ("rows gathered", "rows gathered", ",.0f"),
        ("seconds, set-up included", "seconds", ".0f"),
    ):
        rows.append([label, *(format(run[key], form) for run in runs.values())])
    told = f"Mean and standard deviation (`benchmarks/flights.py`; {_measured_with(report)}, shared with other work):"
    return f"{told}\n\n{markdown(columns, rows)}"


def flights_from_new_york() -> str:
    """Beside NUTS on all rows."""
    report = results("flights")["new york"]
    ours, theirs = report["tunamh"], report["nuts"]
    rows = [
        [
            name,
            *(f"{run['mean'][j]:.4f} ({run['sd'][j]:.4f})" for run in (ours, theirs)),
            *(f"{report[z][j]:+.1f}" for z in ("z of means", "z of sds")),
        ]
        for j, name in enumerate(ours["names"])
    ]
    rows.append(["effective draws", *(f"{run['effective draws']:,.0f}" for run in (ours, theirs)), "", ""])
    rows.append(["seconds of sampling", f"{ours['sampling']:.2g}", f"{theirs['seconds']:.0f}", "", ""])
    columns = ["parameter", "tunamh, rows gathered", "NUTS, all rows", "z of the means", "z of the standard deviations"]
    told = (
        f"{report['rows']:,} rows: mean and standard deviation, and differences in units of the Monte Carlo error "
        f"(`benchmarks/flights.py --new-york`; {_measured_with(report)}, shared with other work):"
    )
    return f"{told}\n\n{markdown(columns, rows)}"


def comparison_costs() -> str:
    """Seconds of the process for each question, and the standard errors that they buy."""
    report = results("evidence_cost")
    columns = [
        "model, rows x columns",
        "fit",
        "`loo`",
        "`compare`",
        "`evidence`",
        "standard error of `loo` by subsampling",
        "standard error of a plain mean of 1,000 rows",
        "standard error of the evidence",
    ]
    rows = []
    for one in report["rows"]:
        seconds = [f"{one[key]:.1f} s" for key in ("fit", "loo", "compare", "evidence")]
        errors = [number(one[key], 2) for key in ("loo_subsampling_se", "plain_mean_se", "evidence_se")]
        rows.append([f"{one['model']}, {one['rows']:,} x {one['columns']}", *seconds, *errors])
    return f"(`benchmarks/evidence.py`; CPU seconds of all cores; {_measured_with(report)})\n\n" + markdown(
        columns, rows
    )


def evidence_by_importance() -> str:
    report = results("evidence_importance")
    columns = ["model (2,000 rows, 6 columns)", "log evidence ± standard error", "the same by importance sampling"]
    columns += ["z score of the difference", "acceptance rate"]
    rows = [
        [
            one["model"],
            f"{one['evidence']:,.3f} ± {one['se']:.4f}",
            f"{one['importance']:,.3f} ± {one['its_se']:.4f}",
            f"{one['z']:.2f}",
            f"{one['acceptance']:.2f}",
        ]
        for one in report["rows"]
    ]
    return f"(`benchmarks/evidence.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def _coverage(script: str, seeds: int) -> str:
    """How large the errors of the evidence are beside the errors that it states."""
    report = results(f"{script}_coverage")
    columns = [f"model ({seeds} seeds)", "reported standard error"]
    columns += ["sd of the errors / reported standard error", "errors within 2 standard errors", "acceptance rate"]
    rows = [
        [
            one["model"],
            number(one["se"], 2),
            f"{one['sd_z']:.2f}",
            f"{one['within_two']:.0%}",
            f"{one['acceptance']:.2f}",
        ]
        for one in report["rows"]
    ]
    return f"(`benchmarks/{script}.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def evidence_of_scales_cost() -> str:
    report = results("evidence_of_scales_cost")
    columns = ["data", "model", "fit", "evidence", "standard error of the evidence", "rows that a proposal reads"]
    rows = [
        [
            one["data"],
            f"`{one['formula']}`".replace("|", "\\|"),
            f"{one['fit']:.1f} s",
            f"{one['evidence']:.1f} s",
            number(one["se"], 2),
            number(one["rows"], 2),
        ]
        for one in report["rows"]
    ]
    told = f"(`benchmarks/evidence_of_scales.py`; 1,000 proposals; CPU seconds; {_measured_with(report)})"
    return f"{told}\n\n" + markdown(columns, rows)


def true_model_first() -> str:
    report = results("evidence_choice")
    columns = ["true model (40 data sets of 1,500 rows)", "the true model is first in the table"]
    columns += ["the lines below the table call the wrong model better"]
    rows = [[one["true"], f"{one['first']:.0%}", f"{one['wrong_and_clear']:.0%}"] for one in report["rows"]]
    return f"(`benchmarks/evidence.py`; {_measured_with(report)})\n\n" + markdown(columns, rows)


def living_data() -> str:
    """The next day beside a fresh run, and what a year of nights read and showed."""
    report, others = (
        results("living"),
        {name: results(name) for name in ("living_drift", "living_drift_today", "living_still")},
    )
    table = markdown(["measured", "a run with one new file", "a run without a cache"], living.shown(report))
    about = (
        f"`benchmarks/living.py` ({report['processor']}, {report['date']}; shared machine): there are "
        f"{report['days']} files of {report['rows']:,} rows and ten columns,\none file for each day, with coefficients "
        "that drift. The seconds are CPU seconds." + (f"\n({report['note'].capitalize()}.)" if "note" in report else "")
    )
    whole = (
        f"The cache takes {report['cache_bytes'] / 1e6:,.0f} MB; the files take {report['data_bytes'] / 1e6:,.0f} MB. "
        "The next table shows four sequences of nightly runs.\n"
        '"Reads of a row" is the mean number of times that a row was read, for the cache or by the chains.\n'
        "On some days we also fitted all rows without a cache. A z score is the difference between the two\n"
        "means, or the two standard deviations, of a coefficient, in Monte Carlo standard errors. The last\n"
        "column has the p-value of a chi-squared test that all z scores are standard normal."
    )
    columns = [
        "days x rows of a day",
        "the posterior mean moves",
        "centre kept",
        "centre moved",
        "reads of a row",
        "rows per step",
    ]
    columns += ["number of z scores", "largest absolute z score", "p-value"]
    years = [("drift", report), *(("drift", others[name]) for name in ("living_drift", "living_drift_today"))]
    years += [("no drift", others["living_still"])]
    rows = [
        [
            f"{one['days']} x {one['rows']:,} rows, {name}",
            f"{one['daily_move']:.2g} sd a day",
            f"in {one['kept']} nights",
            f"in {one['moves']} nights",
            f"{one['read_per_row']:.1f}",
            f"{one['mean_rows_per_step']:.2g}",
            f"{one['z_numbers']} ({one['z_days']} {'day' if one['z_days'] == 1 else 'days'})",
            f"{one['z_largest']:.1f}",
            f"{one['z_p']:.2f}",
        ]
        for name, one in years
    ]
    return f"{about}\n\n{table}\n\n{whole}\n\n{markdown(columns, rows)}"


def questions_from_files() -> str:
    """Questions to a posterior of rows in files: seconds and memory."""
    report = results("questions_from_files")
    rows = [[one["question"], f"{one['seconds']:,.0f}", f"{one['MiB']:,.0f}"] for one in report["questions"]]
    told = f'{report["rows"]:,} rows in a Parquet file of {report["bytes"] / 1e9:.1f} GB, `memory="200MB"`'
    columns = ["step", "CPU seconds", "largest memory from the start to this step, MiB"]
    return (
        f"({told}; `benchmarks/questions_from_files.py`; {_measured_with(report)})\n\n{markdown(columns, rows)}\n\n"
        f"If every draw read all rows, the comparison would take {report['per_draw'] / 3600:,.1f} CPU hours."
    )


def dose_response() -> str:
    report = results("dose_response")
    columns = ["sampler", "rows", "set-up, s", "rows per draw", "acceptance rate", "effective draws per second"]
    rows = [
        ["tunamh", f"{r['rows']:,}", *map(number, (r["set-up"], r["rows per draw"], r["accepted"], r["rate"]))]
        for r in report["tunamh"]
    ]
    other, of = report["nuts"], report["machine"]
    rows.append(["NUTS (NumPyro)", f"{other['rows']:,}", "", f"{other['rows']:,} at a time", "", number(other["rate"])])
    about = (
        f"`benchmarks/dose_response.py` ({of['processor']}, {of['date']}): the model above, one chain. All seconds "
        "are CPU seconds.\nThe effective draws are those of the parameter with the fewest, without set-up and warm-up."
    )
    return f"{about}\n\n{markdown(columns, rows)}"


def times_to_event() -> str:
    report = results("survival")
    named = {"numbers": "five numbers", "levels": "three factors", "numbers, Weibull": "five numbers, `Weibull()`"}
    rows = [
        [
            named[name],
            f"{case['pieces']:,}" + (" (not split)" if case["pieces"] == report["rows"] else ""),
            f"{case['setup_seconds']:.1f} s",
            number(case["rows_per_step"]),
            f"{case['ess_per_second']:,.0f}",
        ]
        for name, case in report["cases"].items()
    ]
    columns = ["columns of the model", "rows after the split", "set-up", "rows per draw", "effective draws per second"]
    about = f"`benchmarks/survival.py`, one core ({_measured_with(report)}), {report['rows']:,} simulated customers:"
    return f"{about}\n\n{markdown(columns, rows)}"


def smooth_curves() -> str:
    """Unknown scales beside known ones: the flights from New York."""
    report = results("smooths")
    york = report["new york"]
    rows = []
    for name, one in (("unknown scales", york["curves"]), ("known scales", york["known prior"])):
        seconds = one["cpu seconds of draws"]
        least = [one["worst coefficient"], *(min(one[key].values()) for key in ("curves", "log scales") if key in one)]
        rates = [f"{n / seconds:,.0f}" for n in least] + [""] * (3 - len(least))
        costs = [f"{one['cpu seconds, all']:.1f}", f"{one['rows per step']:.0f}", f"{one['accepted']:.2f}"]
        rows.append([name, *costs, *rates])
    columns = ["model", "CPU seconds of the whole run", "rows per step", "acceptance rate"]
    columns += ["effective draws per CPU second: coefficients", "curves", "log scales"]
    return f"(`benchmarks/smooths.py`; {_measured_with(report)})\n\n{markdown(columns, rows)}"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def smooth_columns() -> str:
    """What a row holds of a curve: one number, or all columns."""
    report = results("smooth_columns")
    forms = [report["one number"], report["columns"]]
    named = {
        "fill": "compute the columns, s",
        "gram": "add up their products once, s",
        "a million random rows, 16 at once": "read a million random rows at two points, 16 at a time, s",
        "a million random rows, 256 at once": "the same, 256 at a time, s",
        "set-up and warm-up": "set-up, warm-up and 100 draws, s",
        "draws": f"{report['draws'] - 100:,} further draws, s",
        "bytes of a row": "bytes of a packed row",
    }
    rows = [[told, *(_short(one[what]) for one in forms)] for what, told in named.items()]
    about = f"(`benchmarks/smooth_columns.py`, one core; {_measured_with(report)})"
    return f"{about}\n\n{markdown(['measured', 'one number for each curve', 'all columns'], rows)}"


TABLES: dict[str, Callable[[], str]] = {
    "smooth-curves": smooth_curves,
    "smooth-columns": smooth_columns,
    "survival": times_to_event,
    "dose-response": dose_response,
    "effects": effects,
    "questions-from-files": questions_from_files,
    "living": living_data,
    "models": model_families,
    "model-sizes": model_sizes,
    "model-goals": model_goals,
    "rare-events": rare_events,
    "fit-checks": fit_checks,
    "fit-checks-groups": fit_checks_groups,
    "thin-levels": levels,
    "whole-census": whole_census,
    "real-models": real_data,
    "groups": group_effects,
    "weak-groups": weak_groups,
    "multilevel": multilevel,
    "real-groups": real_group_effects,
    "group-fits": group_point_fits,
    "group-fit-checks": group_fit_checks,
    "point-fits": point_fits,
    "point-fits-away": point_fits_away,
    "fixed-cost": fixed_cost,
    "gpu": gpu,
    "groups-device": groups_on_many_cores,
    "groups-per-row": thin_groups_per_row,
    "first-minute": first_minute,
    "comparison-costs": comparison_costs,
    "evidence-importance": evidence_by_importance,
    "evidence-coverage": partial(_coverage, "evidence", 200),
    "evidence-of-scales-coverage": partial(_coverage, "evidence_of_scales", 100),
    "evidence-of-scales-cost": evidence_of_scales_cost,
    "true-model-first": true_model_first,
    "laplace-psis": laplace_and_psis,
    "census": census,
    "peers": peers,
    "few-peers": few_peers,
    "scaling": scaling,
    "rows-from-disk": rows_from_disk,
    "first-set-up": first_set_up,
    "flights": flights,
    "flights-from-new-york": flights_from_new_york,
    "step": step,
    "gather": gather,
    "demo-regression": demo_regression,
    "demo-mixture": demo_mixture,
}


def fill(path: Path) -> None:
    def replaced(match: re.Match) -> str:
        return f"<!-- table {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    text = path.read_text()
    path.write_text(re.sub(r"<!-- table ([\w-]+) -->\n.*?<!-- end -->", replaced, text, flags=re.S))


if __name__ == "__main__":
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        fill(document)
