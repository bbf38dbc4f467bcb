"""The files that a kernel is made of: modules of the user's, without packages and without the caches of compilers and frameworks."""

import importlib.machinery
import os
import sys
import tempfile

from ncugate_import import search_path

# Folders that compilers and frameworks write modules to, by the variable that names them.
CACHES = (
    "NCUGATE_CACHE",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "NUMBA_CACHE_DIR",
    "CUTE_DSL_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "XDG_CACHE_HOME",
)
EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
# Times of extension modules when they were loaded, in nanoseconds.
_loaded = {}


def watch():
    """Notes the time of each extension module before it is loaded: one that its importer has just built is as new as that."""

    def note(event, arguments):
        if event == "import" and arguments[1]:
            path = os.path.realpath(arguments[1])
            if path not in _loaded and os.path.isfile(path):
                _loaded[path] = os.stat(path).st_mtime_ns

    sys.addaudithook(note)


def caches():
    """The caches of this process, as prefixes of paths."""
    named = [os.environ[name] for name in CACHES if os.environ.get(name)]
    home = os.path.expanduser("~")
    usual = [os.path.join(home, ".cache"), os.path.join(os.environ.get("TRITON_HOME") or home, ".triton"), tempfile.gettempdir()]
    return [prefix(folder) for folder in [*_first, *named, *usual]]


def prefix(folder):
    return os.path.join(os.path.realpath(folder), "")


# A module can change its environment.
_first = [os.environ[name] for name in CACHES if os.environ.get(name)]


def sources(found):
    """Files of the modules imported from the folder of the kernel, the working directory or `PYTHONPATH`, without packages
    installed below them and caches that lie in them; and the times of the extension modules among them when they were loaded."""
    roots = [prefix(root) for root in (os.getcwd(), os.path.dirname(found.__file__), *search_path())]
    # A project can lie in a folder for temporary files, so only caches inside of a root count.
    skipped = {root: [cache for cache in caches() if cache.startswith(root) and cache != root] for root in roots}
    own = prefix(os.path.dirname(__file__))

    def is_source(path):
        return any(
            path.startswith(root) and "site-packages" not in path[len(root) :] and not path.startswith(tuple(skipped[root]))
            for root in roots
        )

    files = {os.path.realpath(found.__file__)}
    for other in [module for name, module in sys.modules.items() if name != "__main__"]:
        path = getattr(other, "__file__", None)
        # A module without a file can say a relative one: `torch.classes` does.
        path = os.path.realpath(path) if path and os.path.isabs(path) and os.path.isfile(path) else None
        if path and is_source(path) and not path.startswith(own):
            files.add(path)
    return {"files": sorted(files), "loaded": {path: at for path, at in _loaded.items() if path in files and path.endswith(EXTENSIONS)}}
