def given(name, array):
    """An input, float64 until now, in its type."""
    torch = sys.modules.get("torch")
    if torch is None:
        import numpy as np

        # NumPy has no bfloat16 and no FP8; float32 holds their values exactly.
        kind = TYPES[name]
        typed = array.astype("float32" if kind.startswith(("bfloat", "float8")) else kind)
        return typed.reshape(()) if name in WITHOUT_AXES else np.ascontiguousarray(typed)
    return with_axes(name, torch.from_numpy(array).to(getattr(torch, TYPES[name])))


def with_axes(name, tensor):
    """A tensor as the definition has it: a phase has one of no axes as one element."""
    return tensor.reshape(()) if name in WITHOUT_AXES else tensor


def results(found):
    """Results by the names of the outputs."""
    if not isinstance(found, dict):
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(OUTPUTS):
            raise TypeError(f"run returns {len(found)} results; the outputs are {', '.join(OUTPUTS)}")
        found = dict(zip(OUTPUTS, found))
    return {name: found[name].reshape(1) if name in WITHOUT_AXES else found[name] for name in OUTPUTS}
