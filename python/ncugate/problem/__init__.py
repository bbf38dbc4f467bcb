"""Problems of FlashInfer-Trace, KernelBench and gpu-mode as phases, and results in their formats.

`ncugate problem import` and `ncugate problem export` call this package. An import executes nothing of a problem: it parses its Python, and
writes a phase with a Python file that calls the problem's functions when the phase runs.
"""
