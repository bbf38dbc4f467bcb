"""Location and calls of the program."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import zipimport
from typing import IO, Callable, Iterator, List, Optional, Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]
UNKNOWN = "0+unknown"
"""The version of a package that is not installed, such as a checkout."""
PATIENCE = 10.0
"""Seconds that a stopped program has to end its own processes."""


@functools.lru_cache(maxsize=None)
def version() -> str:
    """The version of this package."""
    # The name of the folder is enough; importlib.metadata takes longer than all other imports of this package.
    beside = [path.name[len("ncugate-") : -len(".dist-info")] for path in pathlib.Path(__file__).parents[1].glob("ncugate-*.dist-info")]
    if len(beside) == 1:
        return beside[0]
    import importlib.metadata

    try:
        return importlib.metadata.version("ncugate")
    except importlib.metadata.PackageNotFoundError:
        return UNKNOWN


def comparable(text: str) -> str:
    """A version of Cargo as one of Python: `0.2.0-rc.1` is `0.2.0rc1`."""
    return re.sub(r"[-.]?(a|b|rc)[a-z]*[-.]?(?=\d)", r"\1", text)


class NcugateError(RuntimeError):
    """The program failed: the config is wrong (status 2), or the environment or a tool failed (3)."""

    def __init__(self, status: int, message: str = "") -> None:
        # both are arguments of the exception, because it is pickled by them
        super().__init__(status, message)
        self.status = status
        self.message = message or f"ncugate ended with status {status}"

    def __str__(self) -> str:
        return self.message


def binary() -> pathlib.Path:
    """The path of the program: `$NCUGATE_BINARY`, else the one of this package, else one of its version on `PATH`.

    Raises FileNotFoundError if the program is missing, or if only other versions are found.
    """
    given = os.environ.get("NCUGATE_BINARY")
    if given:
        found = shutil.which(given)
        if found is None:
            raise FileNotFoundError(f"NCUGATE_BINARY is {given}, which is not a program")
        return pathlib.Path(found)
    name = "ncugate" + (sysconfig.get_config_var("EXE") or "")
    others = []
    for path in _candidates(name):
        found = _version(path)
        # A checkout has no version to compare with: only the environment's own program is taken.
        is_of_environment = path.parent == pathlib.Path(sysconfig.get_path("scripts"))
        if comparable(found) == comparable(version()) or (version() == UNKNOWN and is_of_environment):
            return path
        others.append(f"; {path} is version {found}")
    raise FileNotFoundError(
        f"the program of ncugate {version()} is neither installed with this package nor on PATH{''.join(others)}"
        "; hint: pip install --force-reinstall ncugate, or name a program by NCUGATE_BINARY"
    )


def _candidates(name: str) -> Iterator[pathlib.Path]:
    """Programs of this name, the likeliest first."""
    package = pathlib.Path(__file__).parent
    loader = __spec__.loader
    if isinstance(loader, zipimport.zipimporter):
        yield from _unpacked(loader, name)
    # `pip install --target FOLDER` and shiv have FOLDER/ncugate and FOLDER/bin.
    folders: List[Optional[PathLike]] = [package.parent / "bin", sysconfig.get_path("scripts"), os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin")]
    if sys.version_info >= (3, 10):
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in [*folders, *os.environ.get("PATH", "").split(os.pathsep)]:
        path = pathlib.Path(folder or "", name)
        if folder and path.is_file() and os.access(path, os.X_OK):
            yield path


@functools.lru_cache(maxsize=None)
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder that is deleted when this process ends."""
    return tempfile.TemporaryDirectory(prefix="ncugate-")


def _unpacked(archive: zipimport.zipimporter, name: str) -> Iterator[pathlib.Path]:
    """The program in the archive that this package is imported from."""
    path = pathlib.Path(_folder().name, name)
    if not path.exists():
        try:
            content = archive.get_data(os.path.join(archive.archive, "bin", name))
        except OSError:
            return
        path.write_bytes(content)
        path.chmod(0o755)
    yield path


@functools.lru_cache(maxsize=None)
def _version(path: pathlib.Path) -> str:
    """The version that a program prints."""
    try:
        null = subprocess.DEVNULL
        ended = subprocess.run([str(path), "--version"], stdin=null, stdout=subprocess.PIPE, stderr=null, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    words = ended.stdout.decode("utf-8", "replace").split()
    return words[1] if ended.returncode == 0 and words[:1] == ["ncugate"] and len(words) > 1 else "unknown"


def positional(path: PathLike) -> str:
    """A path that is never parsed as an option, even if it begins with a dash."""
    text = os.fsdecode(path)
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def is_shown(progress: Optional[bool]) -> bool:
    """Whether progress is printed: as chosen, else on a terminal and in a notebook."""
    return progress if progress is not None else sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def call(
    arguments: Sequence[PathLike],
    *,
    timeout: Optional[float] = None,
    progress: bool = False,
    watched: Optional[pathlib.Path] = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the program to its end, whatever its status.

    With `progress`, its standard error also appears on `sys.stderr`, and so does text that is appended to the file `watched`.
    Raises NcugateError for an argument with a NUL character, or if the program takes more than `timeout` seconds.
    """
    command = [str(binary()), *(os.fsdecode(argument) for argument in arguments)]
    for argument in command:
        if "\0" in argument:
            raise NcugateError(2, f"{argument!r} has a NUL character, which no path or argument can have")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    outputs: List[List[bytes]] = [[], []]

    def read(stream: IO[bytes], lines: List[bytes], shown: bool) -> None:
        for line in stream:
            lines.append(line)
            if shown:
                sys.stderr.write(line.decode("utf-8", "replace"))
                sys.stderr.flush()
        stream.close()

    assert process.stdout is not None and process.stderr is not None
    streams = ((process.stdout, outputs[0], False), (process.stderr, outputs[1], progress))
    readers = [threading.Thread(target=read, args=arguments, daemon=True) for arguments in streams]
    end = None if timeout is None else time.monotonic() + timeout
    position = 0
    try:
        for reader in readers:
            reader.start()
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise NcugateError(3, f"ncugate {command[1]}: not done after {timeout} s; raise `timeout`")
            waits = 0.2 if progress and watched else left
            try:
                process.wait(waits if left is None or waits is None else min(waits, left))
                break
            except subprocess.TimeoutExpired:
                position = _shown(watched, position) if progress and watched else position
    except KeyboardInterrupt:
        # Ctrl-C reaches the program too, and a second signal would end it before its records are kept.
        _stop(process, [process.terminate, process.kill])
        raise
    except BaseException:
        process.terminate()
        _stop(process, [process.kill])
        raise
    for reader in readers:
        reader.join()
    if progress and watched:
        _shown(watched, position)
    return subprocess.CompletedProcess(command, process.returncode, *map(b"".join, outputs))


def _shown(path: pathlib.Path, position: int) -> int:
    """Prints what was appended to a file behind a position, and returns the next position."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            file.seek(position)
            sys.stderr.write(file.read())
            position = file.tell()
    return position


def _stop(process: "subprocess.Popen[bytes]", remedies: Sequence[Callable[[], None]]) -> None:
    """Waits until the program has ended its compilers and workers and itself; the remedies are for one that does not."""
    for remedy in remedies:
        try:
            process.wait(PATIENCE)
            return
        except subprocess.TimeoutExpired:
            remedy()
    process.wait()


def output(arguments: Sequence[PathLike], *, progress: bool = False, watched: Optional[pathlib.Path] = None) -> bytes:
    """Standard output of the program. Raises NcugateError if its status is not 0."""
    ended = call(arguments, progress=progress, watched=watched)
    if ended.returncode != 0:
        raise NcugateError(ended.returncode, ended.stderr.decode("utf-8", "replace").strip())
    return ended.stdout
