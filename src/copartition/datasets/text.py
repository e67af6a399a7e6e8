"""Text in files: compressed or not, in UTF-8, and a sentence where it is anything else."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

GZIP = b"\x1f\x8b"
OTHERS = {  # what files in other encodings begin with; the longer ones first
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def text_of(file: Path) -> str:
    """Return the text of a file, gzipped or not, without a byte order mark; refuse what is not UTF-8."""
    data = file.read_bytes()
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{str(file)!r} is gzipped and damaged: {str(error).rstrip('.')}.") from None
    other = next((name for mark, name in OTHERS.items() if data.startswith(mark)), None)
    if other is not None:
        raise ValueError(f"{str(file)!r} is encoded in {other}; save it in UTF-8.")
    if b"\0" in data:
        raise ValueError(f"{str(file)!r} has bytes of zero: it is encoded in UTF-16, or no text; save it in UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, line = error.object[error.start], error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{str(file)!r} is not encoded in UTF-8: line {line} has the byte 0x{byte:02x}, which is "
            f"{chr(byte)!r} in Latin-1; save it in UTF-8."
        ) from None
