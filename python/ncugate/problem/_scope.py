"""Values of the expressions in a function that creates inputs, from its syntax tree."""

from __future__ import annotations

import ast
import operator

from ._phase import DTYPES

ALIASES = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32"}
CASTS = {**ALIASES, "bfloat16": "bfloat16", "bool": "bool", "short": "int16"}
FLOATS = ("float64", "float32", "float16", "bfloat16")
MADE = ("rand", "randn", "zeros", "ones", "full", "randperm", "randint", "empty")
SAME = ("contiguous", "cuda", "cpu", "clone", "detach", "requires_grad_", "pin_memory")
FILLS = ("uniform_", "normal_", "fill_", "zero_", "random_")
IGNORED = ("device", "generator", "requires_grad", "pin_memory", "layout", "out")


OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class Unknown(Exception):
    """An unsupported expression."""

    def __init__(self, node, why):
        super().__init__(f"line {node.lineno}: `{shown(node)}` {why}")
        self.name = None  # the unknown name, once the name of this value is known


def bounded(node, compute):
    """A computed number. A power of a power would need all memory."""
    try:
        value = compute()
    except (ArithmeticError, ValueError):
        raise Unknown(node, "is not a number") from None
    if isinstance(value, complex) or (isinstance(value, int) and value.bit_length() > 128):
        raise Unknown(node, "is not a number of a problem")
    return value


def shown(node):
    return " ".join(ast.unparse(node).split())[:80]


def dotted(node):
    """A dotted name as text, such as `torch.float16`; None for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return None


def is_tensor_value(value):
    return isinstance(value, dict) and "shape" in value


def is_scalar(value):
    return is_tensor_value(value) and not value["shape"]


class Scope:
    """Names and their values: numbers, texts, tuples, tensors (dicts), extents (expressions) and unknown values."""

    def __init__(self, constants, parameters=(), given=()):
        self.constants = constants
        self.given = dict(given)
        self.values = {}
        self.parameters = set(parameters)
        self.notes = []

    def number(self, node):
        """A number that is known without execution."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name):
            value = self.values.get(node.id, self.constants.get(node.id))
            if isinstance(value, (int, float)):
                return value
            if is_scalar(value):
                return self.mean(node, value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.number(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = self.number(node.left), self.number(node.right)
            if not isinstance(node.op, ast.Pow) or abs(right) < 64:
                return bounded(node, lambda: OPERATIONS[type(node.op)](left, right))
        if isinstance(node, ast.Call) and dotted(node.func) in ("int", "float") and len(node.args) == 1:
            value = self.number(node.args[0])
            return bounded(node, lambda: {"int": int, "float": float}[dotted(node.func)](value))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            tensor = self.tensor(node.func.value)
            if tensor["shape"] in ([], ["1"]):
                return self.mean(node, tensor)
        raise Unknown(node, "is not a number that can be read without executing it")

    def mean(self, node, tensor):
        """The mean of a number that is random for each seed."""
        init = tensor["init"] if isinstance(tensor["init"], dict) else {}
        if "uniform" in init and tensor["dtype"] in FLOATS:
            value = (init["uniform"]["low"] + init["uniform"]["high"]) / 2
        elif "constant" in init:
            return init["constant"]
        else:
            raise Unknown(node, "is random for each seed")
        note = f"`{shown(node)}` is random for each seed in the problem; the phase uses its mean, {value:g}"
        if note not in self.notes:
            self.notes.append(note)
        return value

    def extent(self, node):
        """An extent as an expression over integer constants of the module and parameters of the function."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
            return str(node.value)
        if isinstance(node, ast.Name):
            known = self.values.get(node.id)
            if isinstance(known, Unknown):
                raise known  # a parameter or a constant that was set to something else
            if isinstance(known, dict) and "extent" in known:
                return known["extent"]
            if isinstance(known, int):
                return str(known)
            if node.id in self.parameters or isinstance(self.constants.get(node.id), int):
                return node.id
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}[type(node.op)]
            return f"({self.extent(node.left)} {sign} {self.extent(node.right)})"
        if isinstance(node, ast.Subscript) and dotted(node.value) and dotted(node.value).endswith(".shape"):
            tensor = self.values.get(dotted(node.value)[: -len(".shape")])
            if is_tensor_value(tensor):
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
                if not is_tensor_value(tensor):
                    raise Unknown(node, "is not the shape of a known tensor")
                found += tensor["shape"]
            else:
                found.append(self.extent(node))
        return found

    def dtype(self, node):
        name = (dotted(node) or "").removeprefix("torch.")
        name = ALIASES.get(name, name)
        if name not in DTYPES:
            raise Unknown(node, "is not a type that a phase supports")
        return name

    def tensor(self, node):
        """The tensor that an expression creates."""
        if isinstance(node, ast.Name):
            known = self.values.get(node.id)
            if is_tensor_value(known):
                return known
            if isinstance(known, Exception):
                raise known
            raise Unknown(node, "is not a known tensor")
        if isinstance(node, ast.BinOp):
            return self.scaled(node)
        if isinstance(node, ast.Call):
            name = dotted(node.func) or ""
            if name.startswith("torch."):
                return self.made(node, name.removeprefix("torch."))
            if isinstance(node.func, ast.Attribute):
                return self.cast(node, node.func.attr)
        raise Unknown(node, "is not supported")

    def made(self, node, name):
        if name.removesuffix("_like") not in MADE:
            raise Unknown(node, "is not supported")
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
                    raise Unknown(node, "has no fill value")
                values, args = [fill], args[:1]
            shape = self.extents(args[:1] if name in ("randperm", "full") else args[count:])
        else:
            shape, values, default = self.extents(args), [], "float32"
        if keywords:
            raise Unknown(node, f"has `{sorted(keywords)[0]}`, which is not supported")
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
        low, high = [0, self.number(bounds[0])] if len(bounds) == 1 else [self.number(bound) for bound in bounds]
        return {"indices": high} if low == 0 else {"uniform": {"low": low - 0.5, "high": high - 0.5}}

    def cast(self, node, name):
        tensor = self.tensor(node.func.value)
        if name in FILLS:
            return self.filled(node, tensor, name)
        if name == "clone":
            return dict(tensor)
        if name in SAME:
            return tensor
        if name in CASTS and not node.args:
            return self.converted(node, tensor, CASTS[name])
        if name in ("to", "type"):
            for argument in [*node.args, *(word.value for word in node.keywords if word.arg == "dtype")]:
                if (dotted(argument) or "").startswith("torch.") and dotted(argument) != "torch.device":
                    tensor = self.converted(node, tensor, self.dtype(argument))
                elif not isinstance(argument, (ast.Constant, ast.Name)):
                    raise Unknown(node, "is not supported")
            return tensor
        raise Unknown(node, "is not supported")

    def filled(self, node, tensor, name):
        """The tensor after a method filled it, under all of its names."""
        words = {word.arg: word.value for word in node.keywords if word.arg != "generator"}
        bounds = {"uniform_": ("from", "to"), "normal_": ("mean", "std"), "fill_": ("value",)}.get(name, ())
        words.update(zip(bounds, node.args))
        if tensor["dtype"] not in FLOATS and name not in ("fill_", "zero_", "random_") or set(words) - set(bounds):
            raise Unknown(node, "is not supported")
        if name == "random_":
            if tensor["dtype"] in FLOATS or not node.args or len(node.args) > 2:
                raise Unknown(node, "is not supported")
            init = self.whole(node.args)
        elif name == "uniform_":
            low, high = (self.number(words[key]) if key in words else default for key, default in (("from", 0), ("to", 1)))
            init = {"uniform": {"low": low, "high": high}}
        elif name == "normal_":
            mean, std = (self.number(words[key]) if key in words else default for key, default in (("mean", 0), ("std", 1)))
            init = {"normal": {"mean": mean, "std": std}}
        else:
            init = {"constant": self.number(words["value"]) if "value" in words else 0}
        tensor.update(init=init, empty=False)
        return tensor

    @staticmethod
    def converted(node, tensor, dtype):
        if dtype == tensor["dtype"]:
            return tensor
        if dtype == "bool" and tensor["init"] == {"indices": 2}:
            return {**tensor, "dtype": dtype, "init": {"mask": 0.5}}
        if tensor["dtype"] in FLOATS and dtype not in FLOATS and not tensor["empty"]:
            raise Unknown(node, "converts floats to integers, which a phase's distributions cannot")
        return {**tensor, "dtype": dtype}

    def scaled(self, node):
        """A distribution times or plus a number."""
        swapped = isinstance(node.op, (ast.Mult, ast.Add)) and self.is_number(node.left)
        tensor = self.tensor(node.right if swapped else node.left)
        number = self.number(node.left if swapped else node.right)
        kind, init = next(iter(tensor["init"].items())) if isinstance(tensor["init"], dict) else (None, None)
        if tensor["dtype"] not in FLOATS or kind not in ("uniform", "normal", "constant"):
            raise Unknown(node, "is not supported")
        operations = {
            ast.Mult: lambda value: value * number,
            ast.Div: lambda value: value / number,
            ast.Add: lambda value: value + number,
            ast.Sub: lambda value: value - number,
        }
        operation = operations.get(type(node.op))
        if operation is None or (isinstance(node.op, (ast.Mult, ast.Div)) and number == 0):
            raise Unknown(node, "is not supported")
        if kind == "constant":
            return {**tensor, "init": {kind: operation(init)}}
        if kind == "uniform":
            low, high = sorted((operation(init["low"]), operation(init["high"])))
            return {**tensor, "init": {kind: {"low": low, "high": high}}}
        scales = isinstance(node.op, (ast.Mult, ast.Div))
        std = abs(operation(init["std"])) if scales else init["std"]
        return {**tensor, "init": {kind: {"mean": operation(init["mean"]), "std": std}}}

    def is_number(self, node):
        try:
            self.number(node)
        except Unknown:
            return False
        return True

    def forget(self, node):
        """Marks tensors that a statement mentions, under any name, as changed, together with the names
        that the statement sets."""
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        mentioned = [self.values[one.id] for one in names if is_tensor_value(self.values.get(one.id))]
        changed = {name for name, value in self.values.items() if any(value is one for one in mentioned)}
        for name in changed | {one.id for one in names if isinstance(one.ctx, ast.Store)}:
            self.set(name, Unknown(node, "is not supported"))

    def set(self, name, value):
        """Sets the value of a name from here on; a description on the command line overrides the parsed value."""
        known = self.given.get(name)
        if isinstance(value, Unknown):
            value.name = value.name or name
        self.values[name] = {**known, "empty": False} if known else value

    def augment(self, node):
        """`x *= 2`: changes a tensor under all of its names."""
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        after, known = ast.copy_location(ast.BinOp(before, node.op, node.value), node), self.values.get(node.target.id)
        if not is_tensor_value(known):
            return self.assign(node.target, after)
        try:
            known.update(self.scaled(after))
        except Unknown:
            self.forget(node)

    def assign(self, target, value):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts):
                self.assign(one, other)
            return
        names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
        if not isinstance(target, ast.Name):
            for name in names:
                self.set(name, Unknown(target, "has an assignment that is not supported"))
            return
        if target.id in self.given:
            self.set(target.id, None)
            return
        known, first = self.values.pop(target.id, None), None
        for read in (self.tensor, self.number, lambda node: {"extent": self.extent(node)}):
            try:
                if known is not None:
                    self.values[target.id] = known
                self.values[target.id] = read(value)
                return
            except Unknown as error:
                first = first or error
        # The call that creates it can also fill an empty tensor.
        for one in ast.walk(value):
            if isinstance(one, ast.Name) and is_tensor_value(self.values.get(one.id)) and self.values[one.id]["empty"]:
                self.set(one.id, first)
        self.set(target.id, first)
