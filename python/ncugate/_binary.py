"""Location and calls of the program."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]


class NcugateError(RuntimeError):
    """The program failed: the config is wrong (status 2), or the environment or a tool failed (3)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message or f"ncugate ended with status {status}")
        self.status = status


def binary() -> pathlib.Path:
    """The path of the program: `$NCUGATE_BINARY`, else the one installed with this package, else the one on `PATH`.

    Raises FileNotFoundError if the program is missing.
    """
    given = os.environ.get("NCUGATE_BINARY")
    if given:
        found = shutil.which(given)
        if found is None:
            raise FileNotFoundError(f"NCUGATE_BINARY is {given}, which is not a program")
        return pathlib.Path(found)
    name = "ncugate" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin")]
    if sys.version_info >= (3, 10):
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in filter(None, folders):
        path = pathlib.Path(folder, name)
        if path.is_file() and os.access(path, os.X_OK):
            return path
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError("the program ncugate is neither installed with this package nor on PATH")
    return pathlib.Path(found)


def positional(path: PathLike) -> str:
    """A path that is never parsed as an option, even if it begins with a dash."""
    text = os.fsdecode(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def call(arguments: Sequence[PathLike]) -> "subprocess.CompletedProcess[bytes]":
    """Runs the program to its end, whatever its status. Raises NcugateError for an argument with a NUL character."""
    command = [str(binary()), *(os.fsdecode(argument) for argument in arguments)]
    for argument in command:
        if "\0" in argument:
            raise NcugateError(2, f"{argument!r} has a NUL character, which no path or argument can have")
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def output(arguments: Sequence[PathLike]) -> bytes:
    """Standard output of the program. Raises NcugateError if its status is not 0."""
    ended = call(arguments)
    if ended.returncode != 0:
        raise NcugateError(ended.returncode, ended.stderr.decode("utf-8", "replace").strip())
    return ended.stdout
