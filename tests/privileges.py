"""What a user without special rights meets, also when root runs the tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def as_nobody(call: Callable[[], str]) -> str:
    """What a function returns in a child process that is not root."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            text = call()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that everybody may enter and list, and nobody write into."""
    os.chmod(folder, 0o555)
    for parent in list(folder.parents)[:4]:
        if parent.owner() == Path.home().owner() and parent != Path("/"):
            os.chmod(parent, 0o755)
    try:
        yield
    finally:
        os.chmod(folder, 0o755)
