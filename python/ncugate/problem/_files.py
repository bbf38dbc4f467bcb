"""Files of problems: what may be read, and errors that name them."""

from __future__ import annotations

import json
import os
import pathlib
import secrets
import stat
import sys
from typing import Any, Callable, Dict, List, Tuple

LARGEST = 64 << 20
# Python is parsed before it is copied.
LARGEST_PYTHON = 4 << 20


class ProblemError(Exception):
    """A problem that does not match its format, or that a phase cannot express."""

    status = 2


class FileError(ProblemError):
    """A file that cannot be read or written."""

    status = 3


def print_files(given: str, draft: Callable[[], List[Tuple[str, str]]]) -> int:
    """Prints names and contents of drafted files as JSON; returns the exit status."""
    try:
        print(json.dumps(draft()))
        return 0
    except RecursionError:
        print(f"error: {given}: expressions nested too deeply; write the phase by hand", file=sys.stderr)
        return 2
    except ProblemError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status


def data_of(path: "str | os.PathLike[str]", largest: int = LARGEST) -> bytes:
    """The content of a regular file: reading a pipe would block, and a device never ends."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError("it is not a regular file")
            data = file.read(largest + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > largest:
        raise FileError(f"cannot read {path}: it is larger than {largest} bytes")
    return data


def replace(path: "str | os.PathLike[str]", text: str) -> None:
    """Writes a file whole. A link of its name, which a checkout could bring, is replaced and not followed."""
    target = pathlib.Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def text_of(path: "str | os.PathLike[str]", largest: int = LARGEST) -> str:
    """The text of a regular file."""
    try:
        return data_of(path, largest).decode("utf-8")
    except UnicodeDecodeError:
        raise ProblemError(f"{path}: it is not UTF-8 text") from None


def named_file(task: str, folder: pathlib.Path, source: str) -> pathlib.Path:
    """The path of a file that a task in `folder` names: in the folder or, with `..`, in the git repository of the folder.

    Links and hidden files below that root are refused, so that a task reaches no other file of the machine.
    """

    def refused(why: str) -> ProblemError:
        return ProblemError(f'{task}: `files` names "{source}", {why}; copy the file next to the task')

    own = folder.resolve()
    root = next((above for above in (own, *own.parents) if (above / ".git").exists()), own)
    if source.startswith("/"):
        raise refused("which is an absolute path")
    path = own
    for part in source.split("/"):
        if part == "..":
            if path == root:
                raise refused("which is outside its " + ("folder" if root == own else "repository"))
            path = path.parent
        elif part.startswith(".") and part != ".":
            raise refused("which is hidden")
        elif part not in ("", "."):
            path = path / part
    if os.path.realpath(path) != str(path):
        raise refused("which is a link")
    if not path.exists():
        raise FileError(f"cannot read {path}: no such file")
    return path


def field(where: Any, table: Any, key: str, kind: Any, *default: Any) -> Any:
    """The value of a key with its type; the default if it is absent or null."""
    if not isinstance(table, dict):
        raise ProblemError(f"{where}: expected a table with `{key}`")
    value = table.get(key)
    if value is None and default:
        return default[0]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise ProblemError(f"{where}: `{key}` is {'missing' if value is None else 'of another type'}")
    return value


def texts(where: Any, table: Dict[str, Any], key: str) -> List[str]:
    """A list of texts; empty if it is absent."""
    found = field(where, table, key, list, [])
    if not all(isinstance(one, str) for one in found):
        raise ProblemError(f"{where}: `{key}` has an entry that is no text")
    return list(found)
