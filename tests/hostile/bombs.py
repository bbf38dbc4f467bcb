#!/usr/bin/env python3
"""Configs designed to exhaust time or memory, and invalid names and arguments.

    tests/hostile/bombs.py BINARY [SEED [MUTANTS]]

Each run must end without help with a status from 0 to 4, within the limits of time and memory, and print at most
twice its input. MUTANTS (2000) more cases are shipped
configs with random changes of bytes and tokens. Needs only Python; no GPU, no nvcc.
"""
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

SECONDS = float(os.environ.get("SECONDS_EACH", "20"))
MEMORY = 2 << 30
# Bytes said of a file: some, and twice its own.
LEAST_SAID = 64 << 10
ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = (ROOT / "tests/data/copy.toml").read_text()
ONE = '\n[[variant]]\nname = "a"\nparams = { THREADS = 64 }\n'


def gate(require, on="each"):
    return f'\n[[gate]]\nname = "g"\non = "{on}"\nrequire = "{require}"\n'


def bombs():
    """Texts of phases by name."""
    for depth in (1000, 20000, 100000):
        yield f"arrays {depth}", BASE + "\n[sweep]\nX = " + "[" * depth + "]" * depth
        yield f"inline tables {depth}", BASE + "\nx = " + "{a=" * depth + "1" + "}" * depth
        yield f"dotted keys {depth}", BASE + "\n[" + ".".join(["a"] * depth) + "]"
        for name, text in (("plus", "1+" * depth + "1"), ("minus", "-" * depth + "1"), ("not", "not " * depth + "1"),
                           ("parentheses", "(" * depth + "1" + ")" * depth), ("powers", "9**" * depth + "9"),
                           ("if", "1 if 1 else " * depth + "1"), ("calls", "min(1," * depth + "1" + ")" * depth)):
            yield f"{name} {depth}", BASE + ONE + gate("latency_p50 <= " + text)
            yield f"{name} {depth} in a grid", BASE.replace("S // THREADS", text) + ONE
    for text in ("9**9**9**9", "1 << 9999999999", "10**400", "S * 9223372036854775807", "S // 0", "0.0 / 0.0"):
        yield f"grid {text}", BASE.replace("S // THREADS", text) + ONE
    for text in ("{% for i in range(10) %}x{% endfor %}", "{{ 'a' * 1000000000 }}", "{{ '%1000000000d' | format(1) }}", "{{ x ~ x }}"):
        yield f"flag {text}", BASE.replace('defines = ', f'flags = ["{text}"]\ndefines = ') + ONE
    for n in (250, 20000):
        yield f"glob braces {n}", BASE + ONE + gate("latency_p50 <= 1", "{a," * n + "}" * n)
        yield f"glob stars {n}", BASE + ONE + gate("latency_p50 <= 1", "a*" * n)
        yield f"long glob {n}", BASE + ONE + gate("latency_p50 <= 1", "a" * (n * 16))
    named = lambda at: f'\n[[variant]]\nname = "v{at}"\nparams = {{ THREADS = 64 }}\n'
    for n in (2000, 8000):
        yield f"{n} variants", BASE + "".join(map(named, range(n)))
    yield "2000 gates", BASE + ONE + "".join(gate("latency_p50 <= 1").replace('"g"', f'"g{at}"') for at in range(2000))
    yield "2000 shapes", BASE.replace("only = ", "only = ") .replace("[workload.buffers]", "".join(f"s{at} = {{ S = {at + 1} }}\n" for at in range(2000)) + "[workload.buffers]") + ONE
    yield "100000 seeds", BASE.replace("seeds = [0, 1]", f"seeds = {list(range(100000))}") + ONE
    yield "100000 unknown keys", BASE + ONE + "[zzz]\n" + "".join(f"k{at} = 1\n" for at in range(100000))
    yield "one seed 100000 times", BASE.replace("seeds = [0, 1]", f"seeds = {[7] * 100000}") + ONE
    loops = "{% for i in [0,0,0,0,0,0,0,0,0,0] %}" * 10 + "x" + "{% endfor %}" * 10
    yield "nested loops in a flag", BASE.replace("defines = ", f'flags = ["{loops}"]\ndefines = ') + ONE
    yield "a sweep of 10^9", BASE + "\n[sweep]\n" + "".join(f"P{axis} = {list(range(1000))}\n" for axis in range(3))
    yield "a name of 1 MB", BASE + ONE.replace('"a"', '"' + "a" * 1000000 + '"')
    yield "a file of 50 MB", "#" + "x" * 50000000
    yield "escapes in a name", BASE + ONE.replace('"a"', '"\\u001b]52;c;YQ==\\u0007\\n::error::x"')
    yield "an extent of 2^62", BASE.replace("S = 2048", f"S = {1 << 62}") + ONE
    yield "no text", "\0" * 4096


def mutants(seed, count):
    """Shipped phases with random changes."""
    chance = random.Random(seed)
    texts = [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.toml"))]
    words = sorted({word for text in texts for word in text.split()})
    for at in range(count):
        text = bytearray(chance.choice(texts))
        for _ in range(chance.randint(1, 6)):
            place = chance.randrange(len(text) + 1)
            end = min(len(text), place + chance.randint(0, 12))
            text[place:end] = chance.choice([b"", bytes([chance.randrange(256)]), chance.choice(words), b"1e308", b"-1", b'"""', b"[["])
        yield f"mutant {seed}:{at}", bytes(text)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def flaw(arguments, folder, size):
    """The error in the program's response to these, or None."""
    started = time.monotonic()
    try:
        ended = subprocess.run(arguments, cwd=folder, capture_output=True, timeout=SECONDS, preexec_fn=limited,
                               env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "RAYON_NUM_THREADS": "2"})
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    said = ended.stdout + ended.stderr
    if ended.returncode not in range(5):
        return f"status {ended.returncode} after {time.monotonic() - started:.1f} s: {ended.stderr[-300:]!r}"
    if len(said) > LEAST_SAID + 2 * size:
        return f"{len(said)} bytes said"
    if b"\x1b]" in said or b"\n::error::x" in said:
        return "an escape sequence or a workflow command out of the file"
    return None


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    seed, count = (int(word) for word in (sys.argv[2:] + ["1", "2000"][len(sys.argv) - 2:])[:2])
    flagged = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "phase.toml"
        cases = [(name, text.encode(), None) for name, text in bombs()]
        cases += [(name, BASE.encode(), arguments) for name, arguments in (
            ("a config that is no text", [b"check", b"\xff.toml"]),
            ("folders that are no text", [b"gate", b"phase.toml", b"\xff"]),
            ("a device", [b"check", b"/dev/zero", b"--no-build"]),
            ("a folder", [b"check", b"/", b"--no-build"]))]
        cases += [(name, text, None) for name, text in mutants(seed, count)]
        for name, text, arguments in cases:
            path.write_bytes(text)
            tried += 1
            found = flaw([binary.encode()] + (arguments or [b"check", b"phase.toml", b"--no-build"]), folder, len(text))
            if found:
                flagged += 1
                print(f"FLAGGED  {name}: {found}", flush=True)
    print(f"{tried} cases, {flagged} flagged")
    return 1 if flagged else 0


if __name__ == "__main__":
    sys.exit(main())
