"""`python -m ncugate`: the program."""

import os
import sys

from ._binary import binary

program = str(binary())
os.execv(program, [program, *sys.argv[1:]])
