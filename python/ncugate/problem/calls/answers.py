def with_axes(name, tensor):
    """A tensor with the problem's axes: a phase stores a tensor without axes as one element."""
    return tensor.reshape(()) if name in WITHOUT_AXES else tensor


def results(found):
    """Results by the names of the outputs."""
    if not isinstance(found, dict):
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(OUTPUTS):
            raise TypeError(f"it returns {len(found)} results; the outputs are {', '.join(OUTPUTS)}")
        found = dict(zip(OUTPUTS, found))
    return {name: found[name].reshape(1) if name in WITHOUT_AXES else found[name] for name in OUTPUTS}
