"""Make figures beyond the papers: `python docs/beyond/make.py NAME... -o results [--page FILE]`.

Each is declared like a paper's figure: a plan, rows, a verdict and a picture. `all` makes every
one; `--page docs/beyond.md` writes the page of their verdicts.
"""

import argparse
import sys
from pathlib import Path

import heavy_edge_nic
import optimum_over_time
import price_robustness

from optsched.experiments.papers.artefacts import names_of, reproduce

sys.path.append(str(Path(__file__).parents[1]))
from reproduction import write_page

MODULES = (heavy_edge_nic, price_robustness, optimum_over_time)
ARTEFACTS = {module.ARTEFACT.name: module.ARTEFACT for module in MODULES}
COMMAND = "python docs/beyond/make.py"
HEAD = """# Beyond the papers

Questions that the papers do not ask, measured and judged as their claims are in
[Do the papers' claims hold?](reproduction.md).
"""


def main() -> None:
    """Make the figures that are asked for, and the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*ARTEFACTS, "all"]))
    parser.add_argument("-o", dest="folder", required=True, help="folder to write into")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, for a smoke test")
    parser.add_argument("--page", type=Path, help="page of the verdicts to write")
    arguments = parser.parse_args()
    for name in names_of(arguments.names, ARTEFACTS):
        print(reproduce(name, arguments.folder, artefacts=ARTEFACTS, quick=arguments.quick))
    if arguments.page is not None:
        write_page(arguments.page, Path(arguments.folder), ARTEFACTS, HEAD, "", COMMAND)


if __name__ == "__main__":
    main()
