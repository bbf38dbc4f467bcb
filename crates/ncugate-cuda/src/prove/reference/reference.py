"""Runs the reference function of a phase: NumPy files in, NumPy files out.

Called by ncugate as `python3 ncugate_reference.py FOLDER FILE FUNCTION`. FOLDER has `request.json` and `inputs/NAME.npy`; the answers
go to `outputs/NAME.npy` as float64. If it has `answers/count`, the function judges as many sets of outputs,
`answers/NUMBER/NAME.npy` from number 1 on; the expected ones have number 0. Its texts go to `verdicts.json`.
"""

import inspect
import json
import pathlib
import sys

from ncugate_import import loaded

try:
    import numpy as np
except ImportError as error:
    sys.exit(f"{sys.executable} has no NumPy ({error}); install it, or name a Python that has it: `[build] python`")


def load(path):
    """The module of a file; the file can import others from its folder."""
    if not pathlib.Path(path).is_file():
        sys.exit(f"no file `{path}` in {pathlib.Path.cwd()}")
    return loaded(path)


def function(module, path, name):
    """The function with this name in the module of a file."""
    found = getattr(module, name, None)
    if not callable(found):
        functions = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        sys.exit(f"`{path}` has no function `{name}`; it has {', '.join(functions) or 'none'}")
    return found


def asks_for_torch(parameter):
    """Whether a parameter is annotated as `torch.Tensor`."""
    asked = parameter.annotation
    if not isinstance(asked, str):
        asked = f"{getattr(asked, '__module__', '')}.{getattr(asked, '__qualname__', '')}"
    return asked in ("torch.Tensor", "Tensor")


def value(parameter, array):
    """An input, as a tensor if the parameter is annotated as one."""
    if not asks_for_torch(parameter):
        return array
    import torch

    return torch.from_numpy(array)


def arguments(function, request, folder, own):
    """Arguments by the names of the function's parameters; `own` come before inputs, dimensions and scalars."""
    inputs = {one["name"]: folder / "inputs" / f"{one['name']}.npy" for one in request["inputs"] if one["name"] not in own}
    known = {**request["dims"], **request["scalars"], **request["params"], "shape": request["shape"], **own}
    given = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            rest = {key: np.load(path) for key, path in inputs.items() if key not in given}
            given.update(rest)
        elif name in inputs:
            given[name] = value(parameter, np.load(inputs[name]))
        elif name in known:
            given[name] = known[name]
        elif parameter.default is parameter.empty or parameter.kind is parameter.VAR_POSITIONAL:
            names = ", ".join([*inputs, *known])
            sys.exit(f"`{function.__name__}` takes `{name}`, which is not an input, dimension or scalar; known: {names}")
    return given


def answers(result, outputs):
    """The returned arrays, by output."""
    if isinstance(result, dict):
        missing = [one["name"] for one in outputs if one["name"] not in result]
        if missing:
            sys.exit(f"the reference returns no output `{missing[0]}`; it returns {', '.join(map(str, result))}")
        return {one["name"]: result[one["name"]] for one in outputs}
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(outputs):
        names = ", ".join(one["name"] for one in outputs)
        sys.exit(f"the reference returns {len(results)} arrays; the outputs are {names}")
    return {one["name"]: array for one, array in zip(outputs, results)}


def verdict(function, name, given):
    """What the function says is wrong; an empty text if nothing is."""
    try:
        said = function(**given)
    except Exception as error:  # outputs that the function cannot read are wrong
        return f"it raises {type(error).__name__}: {error}"
    if not isinstance(said, str):
        sys.exit(f"`{name}` returns {said!r}, expected a text: what is wrong with the outputs, or \"\" if nothing is")
    return said


def judge(function, name, request, folder):
    """Judges every set of outputs. Each call has its own copies of all arrays."""
    count = int((folder / "answers" / "count").read_text())

    def arrays(number):
        names = [one["name"] for one in request["outputs"]]
        return {one: np.load(folder / "answers" / str(number) / f"{one}.npy") for one in names}

    def given(number):
        own = {"outputs": arrays(number), "expected": arrays(0)}
        return arguments(function, request, folder, own)

    said = [verdict(function, name, given(number)) for number in range(1, count + 1)]
    (folder / "verdicts.json").write_text(json.dumps(said))


def answer(folder, function, name):
    """Answers the request in a folder."""
    request = json.loads((folder / "request.json").read_text())
    if (folder / "answers" / "count").is_file():
        judge(function, name, request, folder)
        return
    given = arguments(function, request, folder, {"seed": request["seed"]})
    found = answers(function(**given), request["outputs"])
    for one in request["outputs"]:
        array = found[one["name"]]
        if hasattr(array, "detach"):
            array = array.detach().cpu().double().numpy()
        array = np.asarray(array)
        if array.dtype.kind not in "fiub":
            sys.exit(f"the reference returns `{one['name']}` of type {array.dtype}, expected real numbers")
        if list(array.shape) != one["extents"]:
            sys.exit(f"the reference returns `{one['name']}` of shape {list(array.shape)}; the output has {one['extents']}")
        np.save(folder / "outputs" / f"{one['name']}.npy", np.ascontiguousarray(array, dtype="<f8"))


def main(folder, path, name):
    answer(pathlib.Path(folder), function(load(path), path, name), name)


if __name__ == "__main__":
    main(*sys.argv[1:4])
