def extension(files, function, name, binding, flags):
    """A function of C++ and CUDA sources next to this file, through its binding: a PyTorch extension or a module of TVM-FFI.

    It is built at its first import, under a name derived from its sources; both bindings cache their builds.
    """
    folder = pathlib.Path(__file__).resolve().parent
    known = hashlib.sha256(repr(flags).encode())
    for file in files:
        known.update(file.encode() + b"\0" + (folder / file).read_bytes())
    name = f"{name}_{known.hexdigest()[:16]}"
    compiled = [str(folder / file) for file in files if not file.endswith((".h", ".hpp", ".cuh"))]
    cuda = [path for path in compiled if path.endswith(".cu")]
    if binding == "torch":
        from torch.utils import cpp_extension

        lists = {kind: list(given) for kind, given in flags.items()}

        module = cpp_extension.load(
            name=name, sources=compiled, extra_include_paths=[str(folder)], with_cuda=bool(cuda), **lists
        )
        return getattr(module, function)
    import tvm_ffi
    import tvm_ffi.cpp

    plain = [path for path in compiled if path not in cuda]
    library = tvm_ffi.cpp.build(name=name, cpp_files=plain, cuda_files=cuda, extra_include_paths=[str(folder)])
    return getattr(tvm_ffi.load_module(library), function)
