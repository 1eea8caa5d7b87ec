"""JSON arrays that are read object by object, however long they are."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.io.reading import text_blocks

MAX_JOB_LENGTH = 2**22
"""Characters of one object; the largest of Philly's jobs have some 100,000."""


def objects_of(path: str | Path, key: str = "") -> Iterator[tuple[int, dict[str, Any]]]:
    """Parse the objects of a JSON array as they are read; yield each with its first line.

    With a key, the array may also be that value of an object, which begins within the first block.
    """
    source, blocks = str(path), text_blocks(path)
    decoder = json.JSONDecoder()
    text, line, expected = next(blocks, ""), 1, "["
    if key and (array := re.match(rf'\s*\ufeff?\s*\{{[^[]*?"{key}"\s*:\s*(?=\[)', text)):
        line += text.count("\n", 0, array.end())
        text = text[array.end() :]
    while True:
        rest = text.lstrip("\ufeff \t\r\n")
        line += text.count("\n", 0, len(text) - len(rest))
        text = rest
        if not text:
            block = next(blocks, None)
            if block is None:
                raise InputError(source, f"line {line}", "end of file", "a JSON array of jobs")
            text = block
            continue
        if text[0] not in expected:
            raise InputError(source, f"line {line}", shown(text[:60]), "a JSON array of jobs")
        if text[0] == "]":
            return
        if text[0] != "{":
            text, expected = text[1:], "{]" if text[0] == "[" else "{"
            continue
        while True:  # a job may go on in the next blocks
            try:
                job, end = decoder.raw_decode(text)
                break
            except json.JSONDecodeError as error:
                block = next(blocks, None) if len(text) <= MAX_JOB_LENGTH else None
                if block is None:
                    at = line + text.count("\n", 0, error.pos)
                    found = f"invalid JSON ({error.msg})"
                    raise InputError(source, f"line {at}", found, "jobs in an array") from None
                text += "".join((block, *islice(blocks, len(text) // len(block))))
            except (ValueError, RecursionError):
                found = "a number or nesting beyond the limits of the JSON parser"
                raise InputError(source, f"line {line}", found, "jobs in an array") from None
        yield line, job
        line += text.count("\n", 0, end)
        text, expected = text[end:], ",]"
