def entry(file, function, name):
    """A function of a file next to this one, under a module name that is unique to the solution."""
    path = pathlib.Path(__file__).resolve().parent / file
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, function)
