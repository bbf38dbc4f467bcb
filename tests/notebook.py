"""Runs the cells of a notebook without Jupyter, and prints what each shows.

    tests/notebook.py NOTEBOOK

A cell is, as in Jupyter, a text of `__main__` that has lines but no file.
"""

import ast
import json
import linecache
import pathlib
import sys
import types


def run(path):
    """The names of the notebook after its last cell."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    for cell in json.loads(pathlib.Path(path).read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "outputs are not kept"
        text, name = "".join(cell["source"]), f"<{cell['id']}>"
        print(f"\n--- {cell['id']}\n{text}\n---", flush=True)
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        tree = ast.parse(text, name)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), module.__dict__)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), name, "eval"), module.__dict__)
            print(shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown), flush=True)
    return module.__dict__


if __name__ == "__main__":
    program = sys.modules["__main__"]
    run(sys.argv[1])
