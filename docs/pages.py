"""Run the code of the site's pages: `python docs/pages.py [NAME...]` writes outputs and pictures.

A page of `PAGES` may have blocks of code, which run in their order, in one folder of the page's
own and, for Python, with one set of names. Python prints what the block of text behind it says;
lines of shell are commands of `optsched`; a block of another language that starts with a comment
`file: NAME` is such a file. The lines between `<!-- verdicts NAME... -->` and its end are taken
from docs/reproduction.md or docs/beyond.md, those between `<!-- gap rows PLAN -->` and its end from
docs/gaps.md, between `<!-- methods PROBLEM -->` and its end from `optsched.METHODS`. Blocks behind
`<!-- with FILE -->` run where the folder OPTSCHED_DATA has that file, which is not in the package.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

DOTS_PER_INCH = 140
DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "pictures"
PAGES = (
    DOCS / "start.md",
    *sorted(p for p in (DOCS / "problems").glob("*.md") if p.stem != "index"),
    *sorted(p for p in (DOCS / "how-to").glob("*.md") if p.stem != "index"),
    DOCS / "gallery.md",
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"\A(?:#|//|<!--) file: (\S+).*\n")
WITH = re.compile(r"^<!-- with (\S+) -->\n", re.M)
TAKEN = re.compile(r"(<!-- (verdicts|gap rows|methods) ([\w -]+) -->\n)(.*?)(<!-- end -->)", re.S)


def main() -> None:
    """Run all pages, or those of the names given, and write what came out."""
    PICTURES.mkdir(exist_ok=True)
    for page in PAGES:
        if sys.argv[1:] and page.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = fresh(page.read_text(encoding="utf-8"), Path(folder))
            for picture in Path(folder).glob("*.png"):
                shutil.copy(picture, PICTURES)
        page.write_text(text, encoding="utf-8")
        print(page.relative_to(DOCS))


def fresh(text: str, folder: Path) -> str:
    """A page with what its blocks print and what it takes from others; run in a folder."""
    names: dict[str, object] = {"__name__": "__main__"}

    def block(match: re.Match[str]) -> str:
        language, code, said = match.groups()
        printed = run(language, code, names)
        if said is None or language not in ("python", "sh"):
            return match[0]
        return f"```{language}\n{code}```\n\n```text\n{printed}```\n"

    always, *sections = WITH.split(text)
    with inside(folder):
        pieces = [BLOCK.sub(block, always)]
        for file, section in zip(sections[::2], sections[1::2], strict=True):
            run_it = brought(file, folder)
            pieces += [f"<!-- with {file} -->\n", BLOCK.sub(block, section) if run_it else section]
        return TAKEN.sub(taken, "".join(pieces))


def brought(file: str, folder: Path) -> bool:
    """Whether a file of real data is at hand; it is then in the page's folder, too."""
    given = Path(os.environ.get("OPTSCHED_DATA") or folder) / file
    if given.is_file():
        shutil.copy(given, folder)
    return given.is_file()


def run(language: str, code: str, names: dict[str, object]) -> str:
    """Run a block, and give what it printed."""
    named = FILE.match(code)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if named is not None:
            Path(named[1]).write_text(code[named.end() :], encoding="utf-8")
        elif language == "python":
            exec(compile(code, "page", "exec"), names)  # our own page
            if "matplotlib.pyplot" in sys.modules:  # a figure that is closed can still be saved
                sys.modules["matplotlib.pyplot"].close("all")
        elif language == "sh":
            shell(code)
    return out.getvalue()


def shell(code: str) -> None:
    """Run lines of commands; a line that is no command of the package is left alone."""
    from optsched.cli import _code

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["optsched"] and (ended := _code(words[1:])) != 0:
            raise RuntimeError(f"{line}: exit code {ended}")


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with pictures that no screen is needed for."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["savefig.dpi"] = DOTS_PER_INCH

    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))  # a page's own modules
    invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)
        pyplot.close("all")


def taken(match: re.Match[str]) -> str:
    """Rows of another page, or of the methods, between a page's two marks."""
    mark, kind, wanted, _, end = match.groups()
    if kind == "verdicts":
        pages = (DOCS / name for name in ("reproduction.md", "beyond.md"))
        sections = [text for page in pages for text in page.read_text("utf-8").split("\n## ")]
        lines = [
            "| figure | part of the claim | paper | ours | holds in |",
            "|---|---|---|---|---|",
        ]
        for name in wanted.split():
            section = next(text for text in sections if f"{name} -o results`" in text)
            table = section[section.index("| part of the claim") :].partition("\n\n")[0]
            lines += [f"| {section.partition(chr(10))[0]} {row}" for row in table.splitlines()[2:]]
    elif kind == "methods":
        import optsched

        lines = ["| method | kind | what it does |", "|---|---|---|"]
        for method in optsched.METHODS[wanted].values():
            lines.append(f"| `{method.name}` | {method.kind} | {method.summary} |")
    else:
        page = (DOCS / "gaps.md").read_text(encoding="utf-8")
        section = page.partition(f"## plans/{wanted}\n")[2]
        lines = section[section.index("| plan |") :].partition("\n\n")[0].splitlines()
    return f"{mark}\n" + "\n".join(lines) + f"\n\n{end}"


if __name__ == "__main__":
    main()
