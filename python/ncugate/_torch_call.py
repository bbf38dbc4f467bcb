"""Calls a PyTorch function in float64 on the CPU and prints its signature and results as JSON.

It is not imported: the Python that has PyTorch may be another, which does not have this package.

Called as `python3 -c PROGRAM REQUEST`; REQUEST is JSON with `folder`, `module`, `function`, `names` (null: by position), `arguments`
(Python literals by name), `dtype`, `backward` and `sizes`, each the extents of every input.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"it needs PyTorch: {error}; `--python` names a Python that has it")

# Contents of inputs, the first of which that gives finite results is used.
NORMAL, POSITIVE = "normal", "positive"


def parameters(function) -> list:
    """Names of the parameters; of a built-in those that its documentation begins with."""
    try:
        signature = inspect.signature(function).parameters.values()
        return [one.name for one in signature if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        said = re.match(r"\s*[\w.]*\(([^)]*)", function.__doc__ or "")
        return re.findall(r"(?:^|,)\s*(\w+)", said.group(1)) if said else []


def drawn(content, extents) -> torch.Tensor:
    values = torch.randn(extents, dtype=torch.float64)
    return values if content == NORMAL else values.abs() + 0.5


def tensors(results) -> tuple:
    """The results as a tuple of tensors, and whether there is one that is not in a tuple."""
    found = tuple(results) if isinstance(results, (tuple, list)) else (results,)
    if not found or not all(isinstance(one, torch.Tensor) for one in found):
        sys.exit(f"it returns {', '.join(type(one).__name__ for one in found) or 'nothing'}, expected tensors")
    return found


def dtype_of(call, request, extents, number, computed) -> torch.dtype:
    """The type of a result for inputs of the requested type, found without computing it where the function allows that."""
    try:
        given = [torch.empty(one, dtype=getattr(torch, request["dtype"]), device="meta") for one in extents]
        return tensors(call(given))[number].dtype
    except Exception:
        return getattr(torch, request["dtype"]) if computed.dtype == torch.float64 else computed.dtype


def described(one, dtype) -> dict:
    values = one.detach().double()
    scale = float(values.pow(2).mean().sqrt()) if values.numel() else 0.0
    return {"extents": list(one.shape), "dtype": str(dtype).split(".")[-1], "scale": scale}


def evaluated(call, request, extents, content) -> dict:
    """The results, and the gradients of the inputs, at one size."""
    torch.manual_seed(0)
    given = [drawn(content, one).requires_grad_(request["backward"]) for one in extents]
    returned = call(given)
    results = tensors(returned)
    outputs = [described(one, dtype_of(call, request, extents, at, one)) for at, one in enumerate(results)]
    gradients = []
    if request["backward"]:
        upstream = [torch.randn_like(one) for one in results]
        found = torch.autograd.grad(results, given, upstream)
        gradients = [described(one, getattr(torch, request["dtype"])) for one in found]
    return {"single": isinstance(returned, torch.Tensor), "outputs": outputs, "gradients": gradients}


def finite(size) -> bool:
    return all(one["scale"] < float("inf") for one in size["outputs"] + size["gradients"])


def main(request) -> None:
    if request["folder"] is not None:
        sys.path.insert(0, request["folder"])
    function = importlib.import_module(request["module"])
    for part in request["function"].split("."):
        function = getattr(function, part)
    arguments = {name: ast.literal_eval(text) for name, text in request["arguments"]}
    known = [name for name in parameters(function) if name not in arguments and name not in request["names"]]
    by_position = request["names"].count(None)
    names = known[:by_position] + [f"x{at}" for at in range(len(known), by_position)]
    names += [name for name in request["names"] if name is not None]

    def call(given) -> object:
        named = dict(zip(names[by_position:], given[by_position:]))
        return function(*given[:by_position], **named, **arguments)

    for content in (NORMAL, POSITIVE):
        first = evaluated(call, request, request["sizes"][0], content)
        if finite(first):
            break
    else:
        sys.exit("it gives NaN or infinite values, also for positive inputs")
    sizes = [first]
    for extents in request["sizes"][1:]:
        try:
            size = evaluated(call, request, extents, content)
            sizes.append(size if finite(size) else None)
        except Exception:
            # the function needs extents that fit its arguments or one another
            sizes.append(None)
    print(json.dumps({"names": names, "by_position": by_position, "content": content, "sizes": sizes}))


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
