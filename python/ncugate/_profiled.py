"""`python -m ncugate._profiled REQUEST`: calls a profiled function under ncu."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys

from . import _profile


def main(path: str) -> None:
    """Calls the function of the request for each configuration and run."""
    request = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    sys.path[:] = request["path"]
    name = pathlib.Path(request["file"]).stem
    spec = importlib.util.spec_from_file_location(name, request["file"])
    if spec is None or spec.loader is None:
        sys.exit(f"{request['file']} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    profiled = getattr(module, request["function"])
    for run in range(request["runs"]):
        for number, config in enumerate(request["configs"]):
            _profile._measured = (number, run)
            profiled.function(*config)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1])
