"""The schema of an Arrow IPC file, read without an Arrow library."""

from __future__ import annotations

import struct
from typing import Dict, List, Optional, Tuple

FOOTER_END = 10
"""Bytes behind the footer: its length and the magic word."""
# Positions of fields in the flatbuffers of Arrow's File.fbs, Schema.fbs and Message.fbs.
FOOTER_SCHEMA, FOOTER_BATCHES, BLOCK_BYTES = 1, 3, 24
SCHEMA_FIELDS, FIELD_NAME, FIELD_METADATA, KEY, VALUE = 1, 0, 6, 0, 1
MESSAGE_HEADER, BATCH_LENGTH, MESSAGE_PREFIX = 2, 0, 8


class _Flatbuffer:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def number(self, form: str, at: int) -> int:
        return int(struct.unpack_from(form, self.content, at)[0])

    def target(self, at: int) -> int:
        """The position that the offset at a position leads to."""
        return at + self.number("<I", at)

    def field(self, table: int, position: int) -> Optional[int]:
        """The place of a field; None if it has its default."""
        layout = table - self.number("<i", table)
        entry = 4 + 2 * position
        offset = self.number("<H", layout + entry) if entry < self.number("<H", layout) else 0
        return table + offset if offset else None

    def items(self, table: int, position: int, size: int = 4) -> List[int]:
        """The places of the items of a vector."""
        field = self.field(table, position)
        if field is None:
            return []
        vector = self.target(field)
        return [vector + 4 + size * item for item in range(self.number("<I", vector))]

    def text(self, table: int, position: int) -> str:
        field = self.field(table, position)
        if field is None:
            return ""
        at = self.target(field)
        return self.content[at + 4 : at + 4 + self.number("<I", at)].decode("utf-8")


def schema(ipc: bytes) -> Tuple[Dict[str, str], int]:
    """The columns with their units, which are empty where a column has none; and the number of rows.

    Raises ValueError if this is not an Arrow IPC file.
    """
    buffer = _Flatbuffer(ipc)
    try:
        if not ipc.endswith(b"ARROW1"):
            raise ValueError("the last bytes differ")
        footer = buffer.target(len(ipc) - FOOTER_END - buffer.number("<i", len(ipc) - FOOTER_END))
        columns: Dict[str, str] = {}
        described = buffer.field(footer, FOOTER_SCHEMA)
        for field in buffer.items(buffer.target(described), SCHEMA_FIELDS) if described is not None else []:
            table = buffer.target(field)
            metadata = map(buffer.target, buffer.items(table, FIELD_METADATA))
            named = {buffer.text(entry, KEY): buffer.text(entry, VALUE) for entry in metadata}
            columns[buffer.text(table, FIELD_NAME)] = named.get("unit", "")
        rows = 0
        for block in buffer.items(footer, FOOTER_BATCHES, BLOCK_BYTES):
            message = buffer.target(buffer.number("<q", block) + MESSAGE_PREFIX)
            header = buffer.field(message, MESSAGE_HEADER)
            length = buffer.field(buffer.target(header), BATCH_LENGTH) if header is not None else None
            rows += buffer.number("<q", length) if length is not None else 0
        return columns, rows
    except (struct.error, ValueError) as error:
        raise ValueError(f"not an Arrow IPC file: {error}") from None
