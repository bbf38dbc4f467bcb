"""Describes the inputs that a Python file creates. It parses the file and executes nothing.

    python3 -c "$(cat scope.py describe.py)" FILE FUNCTION CLASS GIVEN

Prints one JSON object: the integer constants of the module, the results of FUNCTION (tensors with type, extents and
distribution; numbers), the parameters of FUNCTION, the parameters of CLASS.forward, and the bounds in a module-level call of
`make_match_reference`. GIVEN is a JSON object that describes tensors of FUNCTION by name: type, extents and distribution. An
unsupported expression becomes a sentence in its place; a changed meaning becomes a note.
"""

import ast
import json
import re
import sys

# Scope, Unknown and dotted come from scope.py, which precedes this text.


def constants(tree):
    """Constants of the module: numbers and tuples of numbers."""
    scope = Scope({})
    for node in tree.body:
        pairs = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs += zip(target.elts, node.value.elts)
                else:
                    pairs.append((target, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        for target, value in pairs:
            if not isinstance(target, ast.Name):
                continue
            scope.constants.pop(target.id, None)
            try:
                if isinstance(value, (ast.Tuple, ast.List)):
                    scope.constants[target.id] = tuple(scope.number(one) for one in value.elts)
                else:
                    scope.constants[target.id] = scope.number(value)
            except Unknown:
                pass
    return scope.constants


def returned(scope, function):
    """The results of the function, in order, with their names if they have one."""
    for node in function.body:
        if isinstance(node, ast.Assign):
            value = node.value
            for target in node.targets:
                scope.assign(target, value)
                # `a = b = torch.empty(N)`: one tensor with two names
                value = ast.copy_location(ast.Name(target.id, ast.Load()), node) if isinstance(target, ast.Name) else value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            scope.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            scope.augment(node)
        elif isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.Pass)):
            continue
        elif isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if is_sequence(node.value) else [node.value]
            return [part(scope, one) for one in parts], not is_sequence(node.value)
        elif any(isinstance(one, ast.Return) for one in ast.walk(node)) and not isinstance(node, ast.FunctionDef):
            raise Unknown(node, "is not supported")
        elif isinstance(node, ast.Expr) and fills(node.value):
            try:
                scope.tensor(node.value)
            except Unknown:
                scope.forget(node)
        else:
            scope.forget(node)  # a docstring and the seed of a generator have no effect
    raise Unknown(function, "returns nothing")


def fills(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLS


def part(scope, node):
    inner = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr in SAME:
        inner = inner.func.value
    name = inner.id if isinstance(inner, ast.Name) else None
    try:
        return {"name": name, "tensor": scope.tensor(node)}
    except Unknown as error:
        unknown = error
    try:
        number = scope.number(node)
        if number - number == 0:
            return {"name": name, "number": repr(number)}
    except Unknown:
        pass
    return {"name": name, "unknown": str(unknown), "asked": unknown.name}


def parameters(function):
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in arguments if argument.arg != "self"]


def defaults(function):
    """Optional parameters with their defaults; None for a default that is not an integer."""
    placed = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(placed), reversed(function.args.defaults)), *zip(function.args.kwonlyargs, function.args.kw_defaults)]
    value = lambda node: node.value if isinstance(node, ast.Constant) and is_whole(node.value) else None
    return {argument.arg: value(default) for argument, default in pairs if default is not None}


def is_whole(value):
    return type(value) is int and abs(value) < 1 << 63


def is_sequence(value):
    return isinstance(value, (ast.Tuple, ast.List))


def bounds(tree, constants):
    """`rtol` and `atol` of a module-level `make_match_reference(...)`; None without such a call."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and dotted(call.func) == "make_match_reference":
            words = {word.arg: word.value for word in call.keywords}
            try:
                return {key: Scope(constants).number(words[key]) for key in ("rtol", "atol") if key in words}
            except Unknown:
                return None
    return None


def main(path, function, model, given):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    known = constants(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    answer = {
        "functions": sorted(functions),
        "classes": sorted(classes),
        "constants": {name: value for name, value in known.items() if is_whole(value)},
        "forward": None,
        "parameters": [],
        "defaults": {},
        "returned": None,
        "single": False,
        "problem": None,
        "used": [],
        "notes": [],
        "set": [],
        "bounds": bounds(tree, known),
    }
    for node in classes[model].body if model in classes else []:
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            answer["forward"] = parameters(node)
    if function in functions:
        answer["parameters"], answer["defaults"] = parameters(functions[function]), defaults(functions[function])
        # A parameter of `forward` refers to the passed value, not to a value with the same name here.
        of_here = {name: tensor for name, tensor in json.loads(given).items() if name not in (answer["forward"] or [])}
        scope = Scope(known, answer["parameters"], of_here)
        try:
            answer["returned"], answer["single"] = returned(scope, functions[function])
        except Unknown as error:
            answer["problem"] = str(error)
            found = [node for node in ast.walk(functions[function]) if isinstance(node, ast.Return)]
            answer["single"] = not any(is_sequence(node.value) for node in found)
        shapes = [part["tensor"]["shape"] for part in answer["returned"] or [] if "tensor" in part]
        words = {word for shape in shapes for extent in shape for word in re.findall(r"[A-Za-z_]\w*", extent)}
        answer["used"] = sorted(words & (set(known) | set(answer["parameters"])))
        answer["notes"], answer["set"] = scope.notes, sorted(scope.values)
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:5])
