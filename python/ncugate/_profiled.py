"""`python -m ncugate._profiled REQUEST`: calls a profiled function under ncu."""

from __future__ import annotations

import pathlib
import pickle
import sys

from . import _profile, _travel


def main(path: str) -> None:
    """Calls the function of the request for each configuration and run."""
    request = pickle.loads(pathlib.Path(path).read_bytes())
    sys.path[:] = request["path"]
    function, calls = _travel.unpacked(request)
    decorated = function
    while hasattr(decorated, "__wrapped__") and not isinstance(decorated, _profile.ProfiledFunction):
        decorated = decorated.__wrapped__
    if isinstance(decorated, _profile.ProfiledFunction):
        function = decorated.function
    total = len(calls) * request["runs"]
    with open(request["progress"], "w", encoding="utf-8") as progress:
        for run in range(request["runs"]):
            for number, (positional, named) in enumerate(calls):
                print(f"{request['function']}: call {run * len(calls) + number + 1} of {total}", file=progress, flush=True)
                _profile._measured = (number, run)
                function(*positional, **named)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1])
