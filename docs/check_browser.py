"""Measure a built site in a browser: `python docs/check_browser.py DIR [--require]`.

Every page is laid out by an installed Chromium, 1280 and 390 pixels wide, in the light and in the
dark theme. The script lists each code block, table, formula and picture that is cut off or that
leaves its column without a scroll bar of its own, each page that scrolls sideways, and text whose
colour is the colour of its background. The exit code is 1 if anything is listed. Without a Chromium
on PATH the check is skipped, with exit code 0, unless `--require` is given.

A local server hands the pages to the browser; `check_browser.js` opens each of them in an iframe
and posts what it measured.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WIDTHS = (1280, 390)
THEMES = ("light", "dark")
SECONDS = 300
"""Time limit for the whole site; 140 pages take about 40 s."""
SCRIPT = Path(__file__).with_suffix(".js")
WRAPPER = """<!doctype html><meta charset="utf-8"><body style="margin: 0">
<script>const PAGES = {pages}, WIDTHS = {widths}, THEMES = {themes};
{script}</script>"""


class Handler(SimpleHTTPRequestHandler):
    """Serve the site, the wrapper page, and take the results."""

    results: list[dict[str, object]]
    done: threading.Event
    wrapper: bytes

    def do_GET(self) -> None:
        """Serve the wrapper, or a file of the site."""
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.wrapper)

    def do_POST(self) -> None:
        """Take the results."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.results.extend(json.loads(body))
        self.send_response(204)
        self.end_headers()
        self.done.set()

    def log_message(self, *_: object) -> None:
        """Print nothing per request."""


def measured(site: Path, browser: str) -> list[dict[str, object]]:
    """Return one entry per page, width and theme; empty if the browser gave no answer in time."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    wrapper = WRAPPER.format(
        pages=json.dumps(pages),
        widths=json.dumps(WIDTHS),
        themes=json.dumps(THEMES),
        script=SCRIPT.read_text(encoding="utf-8"),
    )
    state = {"results": [], "done": threading.Event(), "wrapper": wrapper.encode()}
    handler = type("SiteHandler", (Handler,), state)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        flags += ["--window-size=1400,1000", "--no-first-run", f"--user-data-dir={profile}"]
        address = f"http://127.0.0.1:{server.server_port}/"
        quiet = subprocess.DEVNULL
        process = subprocess.Popen([browser, *flags, address], stdout=quiet, stderr=quiet)
        handler.done.wait(SECONDS)
        process.terminate()
        process.wait()
    server.shutdown()
    return handler.results


def main() -> int:
    """Measure a site and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--require", action="store_true", help="fail where there is no Chromium")
    given = parser.parse_args()
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("check_browser: skipped, no Chromium on PATH")
        return int(given.require)
    results = measured(given.site.resolve(), browser)
    found = [(each, fault) for each in results for fault in each["faults"]]
    for each, fault in found:
        print(f"{each['address']} ({each['width']} px, {each['theme']}): {fault}")
    pages = len({each["address"] for each in results})
    wide = [each["column"] for each in results if each["width"] == WIDTHS[0]]
    print(f"{pages} pages, {len(found)} faults, text column {min(wide, default=0):.0f} px or more")
    return int(bool(found) or not results)


if __name__ == "__main__":
    sys.exit(main())
