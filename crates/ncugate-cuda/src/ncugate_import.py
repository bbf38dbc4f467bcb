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


# Imported modules by the file's path, and errors of imports.
_imported = {}


def loaded(path):
    """The module of a file, imported once a process. If the import failed before, it raises the same error: a second one would
    find the parts of a package that the first one imported, and skip the part that failed."""
    path = os.path.abspath(path)
    if path not in _imported:
        try:
            _imported[path] = _import(path), None
        except (Exception, SystemExit) as error:
            _imported[path] = None, error
    found, error = _imported[path]
    if error is not None:
        raise error
    return found


def named(value):
    """The object that the text `FILE.py:NAME` names, such as a layout, a type or a device function; another value is itself."""
    path, _, name = value.rpartition(":") if isinstance(value, str) else ("", "", "")
    if not path.endswith(".py") or not name.isidentifier():
        return value
    found = loaded(path)
    if not hasattr(found, name):
        raise AttributeError(f"{path} has no `{name}`")
    return getattr(found, name)


def forget(path):
    """Lets the next import of a file start again if the last one failed."""
    path = os.path.abspath(path)
    if _imported.get(path, (None, None))[1] is not None:
        del _imported[path]


def unloaded(path):
    """A further module of a file under its name, before its code runs."""
    _, name = place(path)
    found = importlib.util.module_from_spec(importlib.util.spec_from_file_location(name, path))
    sys.modules[name] = found
    return found


def known(path):
    """The module of a file if something has imported it; None if not."""
    found = sys.modules.get(place(path)[1])
    own = getattr(found, "__file__", None)
    return found if own and os.path.realpath(own) == os.path.realpath(path) else None


def _import(path):
    folders, name = place(path)
    for folder in reversed(folders):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    package, _, own = name.rpartition(".")
    parts = package.split(".") if package else []
    for end in range(1, len(parts) + 1):  # a package whose import failed is imported again, although its parts are known
        importlib.import_module(".".join(parts[:end]))
    if known(path) is not None:  # the package imports it
        return known(path)
    found = unloaded(path)
    try:
        found.__spec__.loader.exec_module(found)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    found = sys.modules.get(name, found)
    if package:
        setattr(sys.modules[package], own, found)
    return found
