#!/usr/bin/env bash
# Runs the cells of examples/profile.ipynb, without Jupyter.
#
#     tests/gpu/notebook.sh WHEEL [FOLDER OF WHEELS]
#
# Prints what each cell shows; fails with the cell that fails. The folder may have matplotlib and what it needs; without it the
# notebook draws nothing. Needs an NVIDIA GPU, ncu with counter permission, and Python 3 with PyTorch and Triton.
. "$(dirname "$0")/site.sh"
root=$PWD
cd "$work"
python3 "$root/tests/notebook.py" "$root/examples/profile.ipynb"
