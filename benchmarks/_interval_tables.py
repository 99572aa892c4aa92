"""What the rows of the intervals say: coverage, scores, and the coverage of slopes."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks._run import Table, verdict

Row = dict[str, str]
COVERED = {"covered 50": 0.5, "covered 80": 0.8, "covered 90": 0.9, "covered 95": 0.95}
# What is wanted, in shares: of the mean over the sets, of each set, of the worst fifth.
MEAN_OFF, SET_OFF, FIFTH_OFF = 0.015, 0.04, 0.08
N_BEST = 9  # sets on which a score should be lower than that of every peer
SLOPES = (0.85, 0.95)


def draw(
    rows: list[Row], methods: Sequence[str], sets: Sequence[str], functions: Sequence[str]
) -> Iterator[Table]:
    last = {(row["set"], row["split"], row["method"]): row for row in rows}
    rows = list(last.values())
    named = [m for m in methods if any(r["method"] == m for r in rows)]
    found = {
        (name, method): [r for r in rows if r["set"] == name and r["method"] == method]
        for name in (*sets, *functions)
        for method in named
    }
    found = {key: runs for key, runs in found.items() if runs}
    table = overall(found, named, sets)
    table.note = origin(rows)
    yield table
    yield by_set(found, [m for m in named if m.startswith("FALL")], sets)
    for field in ("Winkler", "CRPS"):
        yield scores(field, found, named, sets)
    yield slopes(found, named, functions)


def mean(runs: list[Row], field: str) -> float:
    """Of runs of one set, each of which counts by the rows that it tests."""
    return float(
        np.average([float(r[field]) for r in runs], weights=[int(r["n_test"]) for r in runs])
    )


def worst_fifth(runs: list[Row]) -> float:
    """The coverage of the fifth that is furthest from 90 %, over all runs of a set."""
    shares = np.array([[float(share) for share in r["fifths"].split()] for r in runs])
    fifths = np.average(shares, axis=0, weights=[int(r["n_test"]) for r in runs])
    return float(fifths[np.abs(fifths - 0.9).argmax()])


def overall(found: dict, methods: Sequence[str], sets: Sequence[str]) -> Table:
    header = ["method", "sets", *COVERED, "within 1.5 points"]
    header += ["sets with all four within 4", "sets with the worst fifth within 8"]
    table = Table("Coverage over all sets", header)
    for method in methods:
        runs = [found[name, method] for name in sets if (name, method) in found]
        if not runs:
            continue
        shares = {field: np.array([mean(r, field) for r in runs]) for field in COVERED}
        off = max(abs(shares[field].mean() - c) for field, c in COVERED.items())
        of_set = np.max([abs(shares[field] - c) for field, c in COVERED.items()], axis=0)
        fifths = np.array([abs(worst_fifth(r) - 0.9) for r in runs])
        cells = [f"{shares[field].mean():.1%}" for field in COVERED]
        n_met = [str((of_set <= SET_OFF).sum()), str((fifths <= FIFTH_OFF).sum())]
        table.rows.append([method, str(len(runs)), *cells, verdict(off, MEAN_OFF), *n_met])
    return table


def by_set(found: dict, methods: Sequence[str], sets: Sequence[str]) -> Table:
    header = ["set", "tested", "method", *COVERED, "within 4 points", "worst fifth", "within 8"]
    table = Table("Coverage of ours by set", header)
    for name, method in ((s, m) for s in sets for m in methods if (s, m) in found):
        runs = found[name, method]
        shares = [mean(runs, field) for field in COVERED]
        off = max(abs(share - c) for share, c in zip(shares, COVERED.values(), strict=True))
        fifth = worst_fifth(runs)
        table.rows.append(
            [name, str(sum(int(r["n_test"]) for r in runs)), method]
            + [f"{share:.1%}" for share in shares]
            + [verdict(off, SET_OFF), f"{fifth:.1%}", verdict(abs(fifth - 0.9), FIFTH_OFF)]
        )
    return table


def scores(field: str, found: dict, methods: Sequence[str], sets: Sequence[str]) -> Table:
    """A score by set; ours are compared with all peers."""
    table = Table(f"{field}, in standard deviations of the target", ["set", *methods])
    peers = [m for m in methods if not m.startswith("FALL")]
    values = {
        name: {m: mean(found[name, m], field) for m in methods if (name, m) in found}
        for name in sets
    }
    values = {name: of_set for name, of_set in values.items() if of_set}
    for name, of_set in values.items():
        table.rows.append([name, *(f"{of_set[m]:.3g}" if m in of_set else "" for m in methods)])
    better = []
    for method in methods:
        both = [v for v in values.values() if method in v and any(p in v for p in peers)]
        n = sum(v[method] <= min(v[p] for p in peers if p in v) for v in both)
        ours = method not in peers
        better.append(f"{n} of {len(both)}" + (f" ({verdict(n, N_BEST, at_least=True)})" * ours))
    table.rows.append(["lower than every peer's on", *better])
    return table


def slopes(found: dict, methods: Sequence[str], functions: Sequence[str]) -> Table:
    """Coverage of the slope at the query, and of the mean slope over the neighbours."""
    shown = [round(100 * c) for c in COVERED.values()]
    header = ["function", "method", *(f"at the query, {c}" for c in shown), "85 to 95 at 90"]
    table = Table("Coverage of slopes", [*header, "mean slope, 90", "85 to 95"])
    for method in methods:
        runs = {f: found[f, method] for f in functions if (f, method) in found}
        every = [run for some in runs.values() for run in some]
        for name, some in [*runs.items(), ("all", every)]:
            if not some or not all(run.get("mean 90") for run in some):
                continue
            at_query, of_mean = mean(some, "covered 90"), mean(some, "mean 90")
            cells = [f"{mean(some, field):.1%}" for field in COVERED]
            last = [in_range(at_query), f"{of_mean:.1%}", in_range(of_mean)]
            table.rows.append([name, method, *cells, *last])
    return table


def in_range(share: float) -> str:
    return "met" if SLOPES[0] <= share <= SLOPES[1] else "**missed**"


def origin(rows: list[Row]) -> str:
    """Commits and machines of the rows."""
    counts = Counter(
        ("ours" if r["method"].startswith("FALL") else "others", r["commit"], r["machine"])
        for r in rows
    )
    found = [
        f"{n} of {whose} at commit {code} on {where}" for (whose, code, where), n in counts.items()
    ]
    return f"Rows: {'; '.join(found)}."
