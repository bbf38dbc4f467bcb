"""Stands for the Python of `[build]`: keeps what the compilers of another Python answer, or answers the same where they are not.

    python3 compiled.py FOLDER PYTHON PROGRAM ARGUMENT      asks PYTHON, and keeps what it answers in FOLDER
    python3 compiled.py FOLDER - PROGRAM ARGUMENT           answers from FOLDER

PROGRAM and ARGUMENT are ncugate's own: its program that calls the compilers, and `--version` or a request.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys

folder, python, program, argument = sys.argv[1:]
kept = os.path.join(folder, "versions.json")


def key(request, unit):
    """What decides an answer, wherever the repository lies."""
    about = {name: value for name, value in unit.items() if name not in ("unit", "code")}
    with open(unit["source"], "rb") as file:
        source = hashlib.sha256(file.read()).hexdigest()
    text = json.dumps([request["capability"], request["arch"], about, source], sort_keys=True)
    return os.path.join(folder, hashlib.sha256(text.encode()).hexdigest())


def record():
    os.makedirs(folder, exist_ok=True)
    ended = subprocess.run([python, program, argument], stdout=subprocess.PIPE, text=True, check=True)
    if argument == "--version":
        with open(kept, "w") as file:
            file.write(ended.stdout)
    else:
        with open(argument) as file:
            request = json.load(file)
        units = {unit["unit"]: unit for unit in request["units"]}
        for answer in map(json.loads, ended.stdout.splitlines()):
            if "error" in answer:
                continue
            unit = units[answer["unit"]]
            answer["files"] = [os.path.relpath(path) for path in answer["files"]]
            shutil.copyfile(unit["code"], key(request, unit) + ".code")
            with open(key(request, unit) + ".json", "w") as file:
                json.dump(answer, file)
    sys.stdout.write(ended.stdout)


def answer():
    if argument == "--version":
        with open(kept) as file:
            sys.stdout.write(file.read())
        return
    with open(argument) as file:
        request = json.load(file)
    for unit in request["units"]:
        try:
            with open(key(request, unit) + ".json") as file:
                said = json.load(file)
            shutil.copyfile(key(request, unit) + ".code", unit["code"])
            said = {**said, "unit": unit["unit"], "files": [os.path.realpath(path) for path in said["files"]]}
        except FileNotFoundError:
            said = {"unit": unit["unit"], "error": f"{folder} has no such kernel: record it anew"}
        print(json.dumps(said))


answer() if python == "-" else record()
