#!/usr/bin/env bash
# `ncugate.profile` with the real ncu, in each form that a user can write.
#
#     tests/gpu/profile_python.sh WHEEL [FOLDER OF WHEELS]
#
# Prints a line a form: what it did, its launches, seconds. Fails if one has other rows, or another error, than it should.
# Needs an NVIDIA GPU, ncu with counter permission, and Python 3 with PyTorch; takes about two minutes.
. "$(dirname "$0")/site.sh"
script=$(realpath tests/gpu/profile_python.py)
mkdir "$work/forms"
cd "$work/forms"
cp "$script" forms.py
ncu --version | tail -n 1
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 forms.py
