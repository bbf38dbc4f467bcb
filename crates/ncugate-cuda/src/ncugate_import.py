"""Imports a file as the program that owns it would: as a module of its package, or as `python3 FILE` has it."""

import importlib
import importlib.util
import os
import sys


def search_path():
    """The folders of `PYTHONPATH`."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.abspath(folder) for folder in folders if folder]


def place(path):
    """The folders to import the file from, and the name of its module there: of a file in a package the folder above the
    outermost package; of another file its own folder, and the folder of `PYTHONPATH` that contains it, if one does."""
    own, name = os.path.split(os.path.abspath(path))
    folder, parts = own, [os.path.splitext(name)[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    roots = [root for root in search_path() if folder.startswith(os.path.join(root, ""))]
    if not roots:
        return [folder], ".".join(parts)
    # A package without `__init__.py` is one by the search path alone.
    root = max(roots, key=len)
    parts = os.path.relpath(folder, root).split(os.sep) + parts
    return [root] if folder != own else [own, root], ".".join(parts)


def unloaded(path):
    """The module of a file before its code runs. The packages around it are imported."""
    folders, name = place(path)
    for folder in reversed(folders):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    package, _, _ = name.rpartition(".")
    if package:
        importlib.import_module(package)
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    return found
