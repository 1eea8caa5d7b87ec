"""The site: `sphinx-build -W -b html docs DIR`, which opens offline; with the extra `docs`.

Pages are the Markdown files of this folder, written by hand or by commands; the statements of the
problems and the notebooks are taken from their own folders, as they are stored there, and the
reference from docstrings. Nothing is fetched.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "docs"
sys.path.insert(0, str(HERE))

from inventories import ALIASES, write_inventories  # noqa: E402

REPOSITORY_ONLY = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)]*)\)")

project = "optsched"
author = "the authors of optsched"
extensions = ["myst_nb", "sphinx-mathjax-offline", "sphinx.ext.autodoc", "numpydoc"]
extensions += ["sphinx.ext.intersphinx"]
autodoc_typehints = "none"
default_role = "py:obj"
intersphinx_mapping = write_inventories(HERE / "site" / "inventories")
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_aliases = ALIASES
numpydoc_xref_ignore = {"optional", "or", "of", "sequence", "mapping", "callable", "array", "by"}
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
html_title = "optsched"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
}
html_sidebars = {name: [] for name in ("gallery", "index", "start", "search", "genindex")}
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
exclude_patterns = ["_build"]


def taken() -> None:
    """Copy what the site shows of other folders, with the names that its pages have."""
    for folder in ("models", "notebooks"):
        shutil.rmtree(HERE / "site" / folder, ignore_errors=True)
        (HERE / "site" / folder).mkdir(parents=True)
    for page in (ROOT / "models").rglob("*.md"):
        shutil.copy(page, HERE / "site" / "models" / f"{_of_models(page)}.md")
    for page in (ROOT / "notebooks").glob("*.ipynb"):
        stored = page.read_text(encoding="utf-8").replace("](../docs/", "](../../")
        (HERE / "site" / "notebooks" / page.name).write_text(stored, encoding="utf-8")
    shutil.copy(ROOT / "instances" / "README.md", HERE / "site" / "instances.md")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    start = re.sub(r"!\[([^\]]*)\]\(docs/", r"![\1](../", readme)
    (HERE / "site" / "start.md").write_text(start, encoding="utf-8")


def _of_models(page: Path) -> str:
    """What a page of models/ is called: its folder, and its own name unless that is README."""
    parts = [*page.relative_to(ROOT / "models").parent.parts, page.stem]
    return "-".join(parts).removesuffix("-README") if len(parts) > 1 else "index"


def relinked(app: object, docname: str, source: list[str]) -> None:
    """Links to files that are no page of the site become the files' names."""

    def link(match: re.Match[str]) -> str:
        words, target = match.groups()
        file, _, anchor = target.partition("#")
        page = PAGES.get((ROOT / _home(docname) / file).resolve())
        if page is None:
            return words
        up = "../" * docname.count("/")
        return f"[{words}]({up}{page}{'#' + anchor if anchor else ''})"

    if docname.startswith("site/notebooks/"):
        return  # JSON: their links stay as they are
    source[0] = REPOSITORY_ONLY.sub(link, source[0])


def _home(docname: str) -> str:
    """The folder that a page's links start from."""
    if docname == "site/start":
        return "."
    if docname == "site/instances":
        return "instances"
    if docname.startswith("site/models/"):
        name = docname.rpartition("/")[2].partition("-")[0]
        return "models" if name == "index" else f"models/{name}"
    return "notebooks" if docname.startswith("site/") else f"docs/{docname}".rpartition("/")[0]


taken()
PAGES = {
    page.resolve(): page.relative_to(HERE).as_posix()
    for page in HERE.rglob("*.md")
    if "site" not in page.relative_to(HERE).parts
}
PAGES |= {
    (ROOT / "README.md").resolve(): "site/start.md",
    (ROOT / "instances" / "README.md").resolve(): "site/instances.md",
    (ROOT / "models" / "README.md").resolve(): "site/models/index.md",
    (ROOT / "models").resolve(): "site/models/index.md",
}
PAGES |= {
    page.resolve(): f"site/models/{_of_models(page)}.md"
    for page in (ROOT / "models").glob("*/*.md")
}
PAGES |= {
    page.resolve(): f"site/notebooks/{page.name}" for page in (ROOT / "notebooks").glob("*.ipynb")
}


def unsigned(app: object, what: str, name: str, *_: object) -> tuple[str, None] | None:
    """Classes go without their arguments, which stand below, one a line."""
    return ("", None) if what in ("class", "exception") else None


def setup(app: object) -> None:
    """Rewrite links as pages are read, and shorten signatures."""
    app.connect("source-read", relinked)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", unsigned)  # type: ignore[attr-defined]
