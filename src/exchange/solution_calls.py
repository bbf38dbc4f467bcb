def entry(file, function, name):
    """A function of a file beside this one, under a module name that no other solution has."""
    path = pathlib.Path(__file__).resolve().parent / file
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, function)


def with_axes(name, tensor):
    """A tensor as the definition has it: a phase has one of no axes as one element."""
    return tensor.reshape(()) if name in WITHOUT_AXES else tensor


def results(found):
    """Results by the names of the outputs."""
    if not isinstance(found, dict):
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(OUTPUTS):
            raise TypeError(f"the solution returns {len(found)} results; the outputs are {', '.join(OUTPUTS)}")
        found = dict(zip(OUTPUTS, found))
    return {name: found[name].reshape(1) if name in WITHOUT_AXES else found[name] for name in OUTPUTS}
