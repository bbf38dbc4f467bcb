"""Forms of `ncugate.profile`, each with the rows or the error that it should have; tests/gpu/profile_python.sh runs it."""

import dataclasses
import pathlib
import re
import subprocess
import sys
import time

import ncugate
import torch

SIZES = [1024, 2048]


@dataclasses.dataclass(frozen=True)
class Config:
    size: int


def extent(config):
    """The size in a configuration of any kind."""
    if isinstance(config, Config):
        return config.size
    if isinstance(config, dict):
        return config[1]
    return int(config[0] if isinstance(config, tuple) else config)


@ncugate.profile(configs=SIZES, metrics=["duration", "achieved_occupancy"], runs=3)
def decorated(n):
    x = torch.randn(n, n, device="cuda")
    with ncugate.annotate("softmax"):
        torch.softmax(x, dim=-1)


def plain(n, scale=2):
    x = torch.randn(n, n, device="cuda")
    with ncugate.annotate("scaled"):
        scale * x


@ncugate.profile
def any_config(config):
    x = torch.randn(extent(config), 8, device="cuda")
    with ncugate.annotate(type(config).__name__):
        x + 1


@ncugate.annotate("decorator")
def annotated(x):
    return torch.sort(x)


@ncugate.profile
def several(n):
    annotated(torch.randn(n, n, device="cuda"))


@ncugate.profile
def raises(n):
    raise ValueError("planted")


@ncugate.profile
def unmarked(n):
    torch.ones(n, device="cuda")


@ncugate.profile(timeout=20)
def endless(n):
    time.sleep(600)


def enclosed():
    size, double = 256, lambda n: 2 * n

    def inner(n):
        x = torch.randn(double(n), size, device="cuda")
        with ncugate.annotate("inner"):
            x + 1

    return ncugate.profile(inner)(128)


def packaged():
    folder = pathlib.Path("package")
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "sizes.py").write_text("N = 512\n")
    (folder / "bench.py").write_text(
        "import ncugate\nimport torch\nfrom .sizes import N\n\n@ncugate.profile\ndef bench(n=N):\n"
        "    x = torch.randn(n, device='cuda')\n    with ncugate.annotate('package'):\n        x + 1\n"
    )
    import package.bench

    return package.bench.bench()


PROMPT = """import ncugate, torch
@ncugate.profile
def bench(n):
    x = torch.randn(n, device="cuda")
    with ncugate.annotate("prompt"):
        x + 1

print("rows", [(row["annotation"], row["n"]) for row in bench(1024)])
"""


def prompt():
    ran = subprocess.run([sys.executable], input=PROMPT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ran.stdout.strip().splitlines()[-1]


def colliding():
    def named(duration):
        pass

    return ncugate.profile(named)


def intervals():
    rows = decorated().summary("duration").rows
    return all(row["count"] == 3 and row["low"] <= row["mean"] <= row["high"] and row["unit"] == "ns" for row in rows)


def values(table, *names):
    return [tuple(row[name] for name in names) for row in table]


FORMS = [
    ("a decorated function", lambda: values(decorated(), "n", "run"), [(n, run) for run in range(3) for n in SIZES]),
    ("intervals of three runs", intervals, True),
    ("profile(...)(function)", lambda: values(ncugate.profile(metrics="duration")(plain)(1024), "n", "scale"), [(1024, 2)]),
    ("keywords", lambda: values(ncugate.profile(plain)(n=2048, scale=3), "n", "scale"), [(2048, 3)]),
    ("integers", lambda: values(any_config(configs=SIZES), "annotation", "config"), [("int", n) for n in SIZES]),
    ("tuples", lambda: values(any_config(configs=[((n, 1),) for n in SIZES]), "config"), [((n, 1),) for n in SIZES]),
    ("dataclasses", lambda: values(any_config(configs=map(Config, SIZES)), "config"), [(Config(n),) for n in SIZES]),
    ("dictionaries with integers as keys", lambda: values(any_config({1: 512}), "config"), [({1: 512},)]),
    ("several kernels of an annotation", lambda: len({row["kernel"] for row in several(1024)}) > 1, True),
    ("a function in a function", lambda: values(enclosed(), "annotation", "n"), [("inner", 128)]),
    ("a module of a package", lambda: values(packaged(), "n"), [(512,)]),
    ("a prompt", prompt, "rows [('prompt', 1024)]"),
    ("an exception in the function", lambda: raises(1), re.compile("ValueError: planted")),
    ("no annotation", lambda: unmarked(1), re.compile("n=1: no launch in|[Nn]o kernels were profiled|no launch")),
    ("a time limit", lambda: endless(1), re.compile("time limit")),
    ("a parameter named as a column", colliding, re.compile("the parameter `duration` has the name of a column")),
]


def main():
    failed = 0
    for name, form, wanted in FORMS:
        started = time.monotonic()
        try:
            found = form()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        is_right = bool(wanted.search(str(found))) if isinstance(wanted, re.Pattern) else found == wanted
        failed += not is_right
        shown = " ".join(str(found).split())
        print(f"{'ok' if is_right else 'FAILED':7} {name:36} {time.monotonic() - started:5.1f} s  {shown[:160] if is_right else shown}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
