"""Check a built site: `python docs/check_site.py DIR`; exit code 1 if anything is found.

Every link inside the site leads to a page and an anchor that exist, nothing that a page needs is
fetched from elsewhere, and the search's index has the words of `WORDS`.
"""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WORDS = ("due", "date", "heavi", "edg", "certif")
"""Stems of what a reader looks for: due date, Heavy-Edge, certificate."""
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(HTMLParser):
    """What a page links to, what it needs, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.needed: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given.get("id", ""), given.get("name", "")}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given and given.get("rel") != "canonical":
            self.needed.append(given[FETCHED[tag]])


def faults(site: Path) -> list[str]:
    """What is wrong with a site, a line each."""
    kept = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in kept}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for link in (*page.links, *page.needed):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.needed and parts.scheme != "data":
                    found.append(f"{name}: {link} is fetched from elsewhere")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name}: {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link} has no such anchor")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    terms = json.loads(index[index.index("{") : index.rindex("}") + 1])["terms"]
    found += [f"the search does not find {word}" for word in WORDS if word not in terms]
    return found if pages else [f"{site} has no page"]


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print("\n".join(lines) or "every link leads somewhere, and nothing is fetched")
    sys.exit(bool(lines))
