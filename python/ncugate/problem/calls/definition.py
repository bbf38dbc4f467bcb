def given(name, array):
    """An input, converted from float64 to its type."""
    torch = sys.modules.get("torch")
    if torch is None:
        import numpy as np

        # NumPy has no bfloat16 and no FP8; float32 holds their values exactly.
        kind = TYPES[name]
        typed = array.astype("float32" if kind.startswith(("bfloat", "float8")) else kind)
        return typed.reshape(()) if name in WITHOUT_AXES else np.ascontiguousarray(typed)
    return with_axes(name, torch.from_numpy(array).to(getattr(torch, TYPES[name])))
