"""Says what a Python file makes as inputs, by parsing it. Nothing of the file is executed.

    python3 describe.py FILE FUNCTION CLASS

Prints one JSON object: the whole numbers that the module names, what FUNCTION returns (tensors with type, extents and
distribution; numbers), the parameters of FUNCTION, the parameters of CLASS.forward, and the bounds that a module-level call of
`make_match_reference` names. What is not understood has a sentence in its place.
"""

import ast
import json
import sys

DTYPES = (
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 int64 int32 int16 int8 uint8 bool".split()
)
ALIASES = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32"}
CASTS = {**ALIASES, "bfloat16": "bfloat16", "bool": "bool", "short": "int16"}
FLOATS = ("float64", "float32", "float16", "bfloat16")
MADE = ("rand", "randn", "zeros", "ones", "full", "randperm", "randint", "empty")
SAME = ("contiguous", "cuda", "cpu", "clone", "detach", "requires_grad_", "pin_memory")
IGNORED = ("device", "generator", "requires_grad", "pin_memory", "layout", "out")


class Unknown(Exception):
    """What is not understood."""

    def __init__(self, node, why):
        super().__init__(f"line {node.lineno}: `{ast.unparse(node)[:80]}` {why}")


def dotted(node):
    """`torch.float16` as a text; none for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return None


class Scope:
    """Names with what they stand for: numbers, texts, tuples, tensors (dicts), extents (expressions), and what is not known."""

    def __init__(self, constants, parameters=()):
        self.constants = constants
        self.values = {}
        self.parameters = set(parameters)
        self.used = set()

    def number(self, node):
        """A number that is known while the file is read."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name):
            value = self.values.get(node.id, self.constants.get(node.id))
            if isinstance(value, (int, float)):
                return value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = self.number(node.left), self.number(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.FloorDiv) and right:
                return left // right
            if isinstance(node.op, ast.Div) and right:
                return left / right
            if isinstance(node.op, ast.Pow) and abs(right) < 64:
                return left**right
        if isinstance(node, ast.Call) and dotted(node.func) in ("int", "float") and len(node.args) == 1:
            return {"int": int, "float": float}[dotted(node.func)](self.number(node.args[0]))
        raise Unknown(node, "is not a number that can be read without executing it")

    def extent(self, node):
        """An extent as an expression over whole numbers of the module and parameters of the function."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
            return str(node.value)
        if isinstance(node, ast.Name):
            known = self.values.get(node.id)
            if isinstance(known, dict) and "extent" in known:
                return known["extent"]
            if isinstance(known, int):
                return str(known)
            if node.id in self.parameters or isinstance(self.constants.get(node.id), int):
                self.used.add(node.id)
                return node.id
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}[type(node.op)]
            return f"({self.extent(node.left)} {sign} {self.extent(node.right)})"
        if isinstance(node, ast.Subscript) and dotted(node.value) and dotted(node.value).endswith(".shape"):
            tensor = self.values.get(dotted(node.value)[: -len(".shape")])
            if isinstance(tensor, dict) and "shape" in tensor:
                return tensor["shape"][self.number(node.slice)]
        raise Unknown(node, "is not an extent that can be read without executing it")

    def extents(self, nodes):
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.extents([node.value])
            elif isinstance(node, (ast.Tuple, ast.List)):
                found += self.extents(node.elts)
            elif isinstance(node, ast.Name) and isinstance(self.values.get(node.id, self.constants.get(node.id)), tuple):
                for value in self.values.get(node.id, self.constants.get(node.id)):
                    if not isinstance(value, int):
                        raise Unknown(node, "has elements that are not whole numbers")
                    found.append(str(value))
            elif isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
                tensor = self.values.get(node.value.id)
                if not (isinstance(tensor, dict) and "shape" in tensor):
                    raise Unknown(node, "is not the shape of a tensor that is known")
                found += tensor["shape"]
            else:
                found.append(self.extent(node))
        return found

    def dtype(self, node):
        name = (dotted(node) or "").removeprefix("torch.")
        name = ALIASES.get(name, name)
        if name not in DTYPES:
            raise Unknown(node, "is not a type that a phase has")
        return name

    def tensor(self, node):
        """The tensor that an expression makes."""
        if isinstance(node, ast.Name):
            known = self.values.get(node.id)
            if isinstance(known, dict) and "shape" in known:
                return known
            if isinstance(known, Exception):
                raise known
            raise Unknown(node, "is not a tensor that is known")
        if isinstance(node, ast.BinOp):
            return self.scaled(node)
        if isinstance(node, ast.Call):
            name = dotted(node.func) or ""
            if name.startswith("torch."):
                return self.made(node, name.removeprefix("torch."))
            if isinstance(node.func, ast.Attribute):
                return self.cast(node, node.func.attr)
        raise Unknown(node, "is not understood")

    def made(self, node, name):
        if name.removesuffix("_like") not in MADE:
            raise Unknown(node, "is not understood")
        keywords = {word.arg: word.value for word in node.keywords}
        dtype = keywords.pop("dtype", None)
        for word in IGNORED:
            keywords.pop(word, None)
        args = list(node.args)
        if "size" in keywords:
            args.append(keywords.pop("size"))
        if name.endswith("_like") and len(args) == 1:
            like = self.tensor(args[0])
            shape, name, default = like["shape"], name.removesuffix("_like"), like["dtype"]
            values = []
        elif name in ("full", "randint", "randperm"):
            count = 1 if name == "randperm" else 1 if name == "full" else len(args) - 1
            values, default = (args[:count], "int64") if name != "full" else ([], "float32")
            if name == "full":
                fill = args[1] if len(args) > 1 else keywords.pop("fill_value", None)
                if fill is None:
                    raise Unknown(node, "does not say what it is filled with")
                values, args = [fill], args[:1]
            shape = self.extents(args[:1] if name in ("randperm", "full") else args[count:])
        else:
            shape, values, default = self.extents(args), [], "float32"
        if keywords:
            raise Unknown(node, f"has `{sorted(keywords)[0]}`, which is not understood")
        inits = {
            "rand": lambda: {"uniform": {"low": 0, "high": 1}},
            "randn": lambda: {"normal": {"mean": 0, "std": 1}},
            "zeros": lambda: {"constant": 0},
            "ones": lambda: {"constant": 1},
            "full": lambda: {"constant": self.number(values[0])},
            "randperm": lambda: "permutation",
            "randint": lambda: self.whole(values),
            "empty": lambda: None,
        }
        found = {"dtype": self.dtype(dtype) if dtype else default, "shape": shape, "init": inits[name]()}
        return {**found, "empty": name == "empty"}

    def whole(self, bounds):
        low, high = ([0, self.number(bounds[0])] if len(bounds) == 1 else [self.number(bound) for bound in bounds])
        return {"indices": high} if low == 0 else {"uniform": {"low": low - 0.5, "high": high - 0.5}}

    def cast(self, node, name):
        tensor = self.tensor(node.func.value)
        if name in SAME:
            return tensor
        if name in CASTS and not node.args:
            return self.converted(node, tensor, CASTS[name])
        if name in ("to", "type"):
            for argument in [*node.args, *(word.value for word in node.keywords if word.arg == "dtype")]:
                if (dotted(argument) or "").startswith("torch.") and dotted(argument) != "torch.device":
                    tensor = self.converted(node, tensor, self.dtype(argument))
                elif not isinstance(argument, (ast.Constant, ast.Name)):
                    raise Unknown(node, "is not understood")
            return tensor
        raise Unknown(node, "is not understood")

    @staticmethod
    def converted(node, tensor, dtype):
        if dtype == "bool" and tensor["init"] == {"indices": 2}:
            return {**tensor, "dtype": dtype, "init": {"mask": 0.5}}
        if tensor["dtype"] in FLOATS and dtype not in FLOATS and not tensor["empty"]:
            raise Unknown(node, "makes real numbers whole, which a phase's distributions do not")
        return {**tensor, "dtype": dtype}

    def scaled(self, node):
        """A distribution times or plus a number."""
        swapped = isinstance(node.op, (ast.Mult, ast.Add)) and not self.is_tensor(node.left)
        tensor = self.tensor(node.right if swapped else node.left)
        number = self.number(node.left if swapped else node.right)
        kind, init = next(iter(tensor["init"].items())) if isinstance(tensor["init"], dict) else (None, None)
        if tensor["dtype"] not in FLOATS or kind not in ("uniform", "normal", "constant"):
            raise Unknown(node, "is not understood")
        operations = {
            ast.Mult: lambda value: value * number,
            ast.Div: lambda value: value / number,
            ast.Add: lambda value: value + number,
            ast.Sub: lambda value: value - number,
        }
        operation = operations.get(type(node.op))
        if operation is None or (isinstance(node.op, ast.Div) and number == 0):
            raise Unknown(node, "is not understood")
        if kind == "constant":
            return {**tensor, "init": {kind: operation(init)}}
        if kind == "uniform":
            low, high = sorted((operation(init["low"]), operation(init["high"])))
            return {**tensor, "init": {kind: {"low": low, "high": high}}}
        scales = isinstance(node.op, (ast.Mult, ast.Div))
        std = abs(operation(init["std"])) if scales else init["std"]
        return {**tensor, "init": {kind: {"mean": operation(init["mean"]), "std": std}}}

    def is_tensor(self, node):
        try:
            self.tensor(node)
        except Unknown:
            return False
        return True

    def assign(self, target, value):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts):
                self.assign(one, other)
            return
        names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
        if not isinstance(target, ast.Name):
            for name in names:
                self.values[name] = Unknown(target, "is assigned in a way that is not understood")
            return
        for read in (self.tensor, self.number, lambda node: {"extent": self.extent(node)}):
            try:
                self.values[target.id] = read(value)
                return
            except Unknown as error:
                first = self.values.get(target.id) if read is not self.tensor else error
                self.values[target.id] = first if isinstance(first, Unknown) else error


def constants(tree):
    """Numbers, and tuples of them, that the module names."""
    scope = Scope({})
    for node in tree.body:
        pairs = []
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts))
            else:
                pairs = [(target, node.value)]
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


def mentions_tensor(scope, node):
    return any(isinstance(one, ast.Name) and isinstance(scope.values.get(one.id), dict) for one in ast.walk(node))


def returned(scope, function):
    """What the function returns, in order: a name where it has one, and what it is."""
    for node in function.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            scope.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            scope.assign(node.target, node.value)
        elif isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, ast.Pass)):
            continue
        elif isinstance(node, ast.Expr) and not mentions_tensor(scope, node.value):
            continue  # a docstring, or the seed of a generator
        elif isinstance(node, ast.Return):
            value = node.value
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
            return [part(scope, one) for one in parts], not isinstance(value, (ast.Tuple, ast.List))
        else:
            raise Unknown(node, "is not understood")
    raise Unknown(function, "returns nothing")


def part(scope, node):
    name = node.id if isinstance(node, ast.Name) else None
    try:
        return {"name": name, "tensor": scope.tensor(node)}
    except Unknown as error:
        try:
            return {"name": name, "number": scope.number(node)}
        except Unknown:
            return {"name": name, "unknown": str(error)}


def parameters(function):
    names = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    return [name for name in names if name != "self"]


def bounds(tree, constants):
    """`rtol` and `atol` of a module-level `make_match_reference(...)`; none where there is no such call."""
    for node in tree.body:
        call = node.value if isinstance(node, ast.Assign) else None
        if isinstance(call, ast.Call) and dotted(call.func) == "make_match_reference":
            words = {word.arg: word.value for word in call.keywords}
            try:
                return {key: Scope(constants).number(words[key]) for key in ("rtol", "atol") if key in words}
            except Unknown:
                return None
    return None


def main(path, function, model):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    known = constants(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    answer = {
        "functions": sorted(functions),
        "classes": sorted(classes),
        "constants": {name: value for name, value in known.items() if type(value) is int},
        "forward": None,
        "parameters": [],
        "returned": None,
        "single": False,
        "problem": None,
        "used": [],
        "bounds": bounds(tree, known),
    }
    for node in classes[model].body if model in classes else []:
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            answer["forward"] = parameters(node)
    if function in functions:
        answer["parameters"] = parameters(functions[function])
        scope = Scope(known, answer["parameters"])
        try:
            answer["returned"], answer["single"] = returned(scope, functions[function])
        except Unknown as error:
            answer["problem"] = str(error)
        answer["used"] = sorted(scope.used)
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:4])
