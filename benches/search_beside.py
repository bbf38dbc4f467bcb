"""Compares kernel_tuner's search strategies, in its own simulation mode on recorded spaces, with the example `search`.

    search_beside.py OURS SPACE...

OURS is the output of the example `search` with `--json`; SPACE are the same files. Each strategy has its default settings, a budget of 100
different evaluations and the seeds 0 to 99 (SEEDS=n: fewer). Prints a table: for each space and strategy, the mean ratio of the optimum to the
best found, and the ratio that nine of ten seeds reach. Ends with 1 if a strategy has a higher mean over all spaces, or a higher mean worst tenth.
Runs on all processors; needs kernel_tuner.
"""

import concurrent.futures
import contextlib
import importlib.metadata
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path

STRATEGIES = [
    "genetic_algorithm",
    "pso",
    "firefly_algorithm",
    "simulated_annealing",
    "diff_evo",
    "dual_annealing",
    "random_sample",
]
EVALUATIONS = 100


def space_of(path):
    text = Path(path).read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        # A cache that was not closed: kernel_tuner leaves one open to append to it later.
        return json.loads(text.rstrip().rstrip(",") + "}}")


def searched(path, strategy, seeds):
    """Mean and worst tenth of a strategy on a space."""
    import kernel_tuner
    import numpy

    space = space_of(path)
    names = space["tune_params_keys"]
    measured = {tuple(point[name] for name in names): point for point in space["cache"].values()}
    times = [point["time"] for point in measured.values() if isinstance(point.get("time"), (int, float))]
    repeats = len(next(iter(measured.values())).get("times", [])) or 7

    def is_measured(point):  # kernel_tuner reads the text of a lambda
        return tuple(point[name] for name in names) in measured

    reached = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cu")
        source.write_text("")
        for seed in range(seeds):
            numpy.random.seed(seed)
            random.seed(seed)
            with contextlib.redirect_stdout(io.StringIO()):
                tried, _ = kernel_tuner.tune_kernel(
                    space["kernel_name"],
                    str(source),
                    space.get("problem_size", (1,)),
                    [],
                    {name: space["tune_params"][name] for name in names},
                    restrictions=is_measured,
                    simulation_mode=True,
                    cache=str(path),
                    strategy=strategy,
                    strategy_options={"max_fevals": EVALUATIONS},
                    iterations=repeats,
                    quiet=True,
                    lang="CUDA",
                )
            different = {}
            for point in tried:
                different.setdefault(tuple(point[name] for name in names), point["time"])
            right = [time for time in list(different.values())[:EVALUATIONS] if isinstance(time, (int, float))]
            reached.append(min(times) / min(right) if right else 0.0)
    reached.sort()
    return sum(reached) / len(reached), reached[len(reached) // 10]


def main():
    ours, *paths = sys.argv[1:]
    seeds = int(os.environ.get("SEEDS", "100"))
    ours = [(space["fraction"][-1], space["worst_tenth"]) for space in json.loads(Path(ours).read_text())]
    print(f"kernel_tuner {importlib.metadata.version('kernel_tuner')}, {seeds} seeds, {EVALUATIONS} evaluations", flush=True)
    failed = False
    rows = {"ncugate": ours}
    with concurrent.futures.ProcessPoolExecutor() as pool:
        started = {name: [pool.submit(searched, path, name, seeds) for path in paths] for name in STRATEGIES}
        for name, row in started.items():
            rows[name] = [cell.result() for cell in row]
            print(f"  {name} is done", file=sys.stderr, flush=True)
    print("| space | " + " | ".join(rows) + " |")
    print("| --- " * (1 + len(rows)) + "|")
    for at, path in enumerate(paths):
        cells = " | ".join(f"{row[at][0]:.3f} / {row[at][1]:.3f}" for row in rows.values())
        print(f"| {Path(path).stem} | {cells} |")
    means = {name: [sum(cell[part] for cell in row) / len(row) for part in (0, 1)] for name, row in rows.items()}
    print("| mean | " + " | ".join(f"{mean:.3f} / {tenth:.3f}" for mean, tenth in means.values()) + " |")
    for name, reached in means.items():
        for part, what in enumerate(("mean", "worst tenth")):
            if reached[part] > means["ncugate"][part]:
                failed = True
                print(f"{name} reaches a higher {what}: {reached[part]:.3f} against {means['ncugate'][part]:.3f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
