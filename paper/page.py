"""One self-contained page: the verdict table, then every figure with the paper's claims, our numbers and why."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Any

from .claims import AGREES, DIFFERS, Verdict, judges
from .figures import drawers, save
from .run import EXPERIMENTS, load
from .story import NOTES, WORDS, story
from .tables import TABLES, Table

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --good: #1a7f37; --bad: #b35900; --open: #6e7781; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-size: .86rem; margin: .5rem 0 1.2rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
.numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
thead th { background: var(--soft); } .scroll { overflow-x: auto; }
img { max-width: 100%; background: white; border-radius: 6px; padding: 6px; box-sizing: border-box; }
figure { margin: 1rem 0; } .trio { display: flex; flex-wrap: wrap; gap: .5rem; }
.trio figure { flex: 1 1 20rem; margin: 0; }
.agrees { color: var(--good); font-weight: 600; } .differs { color: var(--bad); font-weight: 600; }
.open { color: var(--open); font-weight: 600; }
.note { background: var(--soft); padding: .6rem .9rem; border-radius: 6px; }
details { margin: .6rem 0; } a { color: inherit; } summary { cursor: pointer; font-weight: 600; }
@media (prefers-color-scheme: dark) { :root { --good: #57ab5a; --bad: #e09b4a; --open: #a0a8b0; } }
"""


def build(folder: Path) -> Path:
    """Draw all figures and write ``index.html`` from the JSON files of a folder."""
    results = load(folder)
    verdicts = {name: judges()[name](entry["result"]) for name, entry in results.items()}
    sections = [section(name, entry, verdicts[name], pictures(name, entry, folder)) for name, entry in results.items()]
    page = folder / "index.html"
    page.write_text(document(results, verdicts, sections), encoding="utf-8")
    return page


def pictures(name: str, entry: dict[str, Any], folder: Path) -> list[Path]:
    """Without matplotlib the page has its tables only."""
    draw = drawers().get(name)
    if draw is None:
        return []
    try:
        names = save(draw(entry["result"]), folder)
    except ModuleNotFoundError:
        return []
    return [folder / f"{picture}.svg" for picture in names]


def document(results: dict[str, Any], verdicts: dict[str, list[Verdict]], sections: list[str]) -> str:
    every = [verdict for group in verdicts.values() for verdict in group]
    anchors = [name for name, group in verdicts.items() for _ in group]
    counts = ", ".join(
        f'<span class="{kind(outcome)}">{sum(v.outcome == outcome for v in every)} {outcome}</span>'
        for outcome in dict.fromkeys(v.outcome for v in every)
    )
    missing = [name for name in EXPERIMENTS if name not in results]
    quick = any(entry["budget"] == "quick" for entry in results.values())
    notes = []
    if quick:
        notes.append("This was a quick run: it is too short for reliable comparisons of times.")
    if missing:
        notes.append(f"Not run yet: {', '.join(missing)}.")
    table = verdict_table(every, anchors=anchors) if every else ""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper's experiments, reproduced</title><style>{STYLE}</style></head><body>
<h1>Asymptotically Optimal Exact Minibatch Metropolis-Hastings: the experiments, reproduced</h1>
<p>This page has every figure and table of the paper by Zhang, Cooper and De Sa (NeurIPS 2020), computed again by
<code>make reproduce</code>. All methods run in the same compiled loop, one chain on one core. Each method keeps what it
can use again: for example, MH keeps the energy of its state. {escape(circumstances(results))}</p>
{"".join(f'<p class="note">{escape(note)}</p>' for note in notes)}
<h2>Words</h2>{html_table(["word", "meaning"], [[escape(word), escape(told)] for word, told in WORDS.items()])}
<h2>What of the paper holds</h2>{"".join(f"<p>{escape(part)}</p>" for part in story(results))}
<h2>Verdicts: {counts}</h2>{table}
{"".join(sections)}
<p><small>Every setting is a named constant in <code>paper/settings.py</code>, with its source in the paper or
with our own choice.</small></p>
</body></html>
"""


def circumstances(results: dict[str, Any]) -> str:
    """Machine, date and duration, once."""
    if not results:
        return "No results yet."
    seen = list(dict.fromkeys(f"{e['machine']}, {e['cores']} cores" for e in results.values()))
    dates = sorted({entry["date"] for entry in results.values()})
    minutes = sum(entry["seconds"] for entry in results.values()) / 60
    version = ", ".join(sorted({entry["version"] for entry in results.values()}))
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    return f"{'; '.join(seen)}; {when}; {minutes:.0f} minutes in all; tunamh {version}."


def kind(outcome: str) -> str:
    return {AGREES: "agrees", DIFFERS: "differs"}.get(outcome, "open")


def verdict_table(verdicts: list[Verdict], *, anchors: list[str] | None = None) -> str:
    """With ``anchors`` the overview, whose rows lead to the sections; without, a section's own, which say why."""
    rows = []
    for k, v in enumerate(verdicts):
        outcome = f'<span class="{kind(v.outcome)}">{v.outcome}</span>'
        where = escape(v.where) if anchors is None else f'<a href="#{anchors[k]}">{escape(v.where)}</a>'
        last = [escape(v.why)] if anchors is None else []
        rows.append([where, escape(v.claim), escape(v.paper), escape(v.ours), outcome, *last])
    return html_table(
        ["place in the paper", "the paper's claim", "the paper's number", "our numbers", "verdict", "why"][
            : len(rows[0])
        ],
        rows,
    )


def html_table(header: list[str], rows: list[list[str]], caption: str = "", style: str = "") -> str:
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    said = f"<caption>{caption}</caption>" if caption else ""
    table = f'<table class="{style}">{said}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def numbers(table: Table) -> str:
    rows = [[escape(cell) for cell in row] for row in table.rows]
    return html_table([escape(name) for name in table.header], rows, escape(table.caption), "numbers")


def section(name: str, entry: dict[str, Any], verdicts: list[Verdict], drawn: list[Path]) -> str:
    images = "".join(f'<figure><img alt="{path.stem}" src="{inlined(path)}"></figure>' for path in drawn)
    if len(drawn) == 3:
        images = f'<div class="trio">{images}</div>'
    tables = "".join(numbers(table) for table in TABLES[name](entry["result"]))
    if len(TABLES[name](entry["result"])) > 2:
        tables = f"<details><summary>All numbers</summary>{tables}</details>"
    title = f"{name.replace('-', ' ').capitalize()}: {EXPERIMENTS[name].title}"
    if name in ("appendix", "theory"):
        title = EXPERIMENTS[name].title
    took = f"{entry['budget']} run, {entry['seconds']:.0f} seconds, {entry['date']}"
    return (
        f'<section id="{name}"><h2>{escape(title)}</h2><p><small>{escape(took)}</small></p>'
        f"{images}<p>{escape(NOTES[name])}</p>"
        f"{verdict_table(verdicts)}{tables}</section>"
    )


def inlined(path: Path) -> str:
    """As an image of its own, so that names inside one drawing do not meet those of another."""
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()
