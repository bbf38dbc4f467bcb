"""Phase files as TOML."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any, Dict, List, Mapping

# Tables of a phase whose entries have a line each.
NESTED = {"workload": ("scalars", "shapes", "buffers"), "imported": ("workloads", "solutions")}


def project_root(folder: pathlib.Path) -> pathlib.Path:
    """The project's folder, to which paths in a phase are relative: the nearest with an `ncugate.toml`, else `folder`."""
    for candidate in (folder, *folder.parents):
        if (candidate / "ncugate.toml").is_file():
            return candidate
    return folder


def read(text: str) -> Dict[str, Any]:
    """The tables of a TOML text. Raises ValueError if it is none, or if this Python has no reader of TOML."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[import-not-found, no-redef]
        except ImportError:
            raise ValueError("TOML is read by Python 3.11 or later, or with `pip install tomli`") from None
    return tomllib.loads(text)


def written(tables: Mapping[str, Any]) -> str:
    """The text of a phase. Raises ValueError for a number that TOML does not have, TypeError for another kind of value."""
    lines: List[str] = [f"{_key(key)} = {_value(value)}" for key, value in tables.items() if not _is_table(value)]

    def table(title: str, content: Mapping[str, Any], nested: "tuple[str, ...]" = ()) -> None:
        lines.append(f"\n[{title}]")
        lines.extend(f"{_key(key)} = {_value(value)}" for key, value in content.items() if key not in nested)
        for key in nested:
            if key in content:
                table(f"{title}.{key}", content[key])

    for key, content in tables.items():
        if isinstance(content, Mapping):
            table(_key(key), content, NESTED.get(key, ()))
        elif _is_table(content):
            for entry in content:
                lines.append(f"\n[[{_key(key)}]]")
                lines.extend(f"{_key(inner)} = {_value(value)}" for inner, value in entry.items())
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} is not a number that a phase can have")
        return repr(value) if "." in repr(value) or "e" in repr(value) else f"{value!r}.0"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }" if value else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"a {type(value).__name__} is not a value of a phase")
