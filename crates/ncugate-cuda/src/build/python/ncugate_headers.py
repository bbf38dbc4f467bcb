"""Prints where packages of this Python have headers: `python3 ncugate_headers.py PACKAGE...`. It imports none of them, except
the packages around one.

One JSON object: for each package null, or its folders, and its version if a distribution owns it.
"""

import importlib.metadata
import importlib.util
import json
import os
import sys
import sysconfig

# Of most packages, of PyTorch's C++ API, and of NumPy.
FOLDERS = ("include", "include/torch/csrc/api/include", "_core/include", "core/include")


def version(name, place):
    """The version of the distribution that has the package in this folder; None for a folder that has none."""
    try:
        distribution = importlib.metadata.distribution(name.replace(".", "-"))
    except importlib.metadata.PackageNotFoundError:
        return None
    own = os.path.realpath(distribution.locate_file(name.replace(".", "/")))
    return distribution.version if own == os.path.realpath(place) else None


def headers(name):
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        return None
    folders = [os.path.join(place, folder) for place in places for folder in FOLDERS]
    return {
        "version": version(name, places[0]) if len(places) == 1 else None,
        "folders": [os.path.abspath(folder) for folder in folders if os.path.isdir(folder)],
    }


def main(names):
    own = sysconfig.get_path("include")
    python = {"version": sys.version.split()[0], "folders": [own] if own and os.path.isdir(own) else []}
    print(json.dumps({"python": python, "packages": {name: headers(name) for name in names}}))


if __name__ == "__main__":
    sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    main(sys.argv[1:])
