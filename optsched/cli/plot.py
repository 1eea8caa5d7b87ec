"""Commands `plot` and `export`."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from optsched.cli.exit_codes import DONE
from optsched.cli.settings import InstanceFile, Options, OutputFile, read_options
from optsched.cli.show import note
from optsched.errors import InputError, require_extras, shown
from optsched.experiments.store.store import files_of_store
from optsched.io.outputs import require_outputs
from optsched.io.writing import replacing
from optsched.library import files_read
from optsched.methods import export as export_model
from optsched.verbs.picturing import plot as plot_axes

FORMATS = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}
"""Metadata removed per format, for reproducible files."""
DOTS_PER_INCH = 160


def plot(
    file: Annotated[
        str,
        Argument(
            metavar="FILE",
            help="Instance, solution of a shipped instance, `compare --csv` table or result store.",
        ),
    ],
    output: Annotated[str, Option("-o", metavar="F.png|svg|pdf", help="Output file.")],
    solution: Annotated[
        str | None,
        Argument(
            metavar="[SOLUTION|STORE]",
            help="Solution file or result store. [default: computed by --method]",
        ),
    ] = None,
    picture: Annotated[
        str | None, Option(metavar="NAME", help="Kind, e.g. contention; an invalid name lists all.")
    ] = None,
    method: Annotated[str | None, Option(metavar="M", help="Method that computes it.")] = None,
    option: Options = None,
) -> int:
    """Draw a solution, a run or a gap table."""
    stores = files_of_store(solution) if solution is not None else ()
    options = read_options(option) or None

    def draw() -> Any:
        return plot_axes(file, solution, picture=picture, method=method, options=options)

    save_picture(output, [*files_read(file), *files_of_store(file), *stores], draw)
    return DONE


def export(
    file: InstanceFile,
    method: Annotated[str, Option(metavar="M", help="Method with a Pyomo model.")],
    file_format: Annotated[str, Option("--format", metavar="mps|lp|nl", help="File format.")],
    output: OutputFile,
    option: Options = None,
    pruned: Annotated[
        bool,
        Option("--pruned", help="Write the smaller model that `solve` uses; add no constraints."),
    ] = False,
) -> int:
    """Write a method's Pyomo model to a file that other solvers read."""
    require_outputs([output], files_read(file))
    options = read_options(option)
    objective_doc = export_model(file, method, file_format, output, options=options, pruned=pruned)
    note(f"wrote {output}: {objective_doc}")
    return DONE


def save_picture(output: str, inputs: Iterable[str | Path], draw: Callable[[], Any]) -> None:
    """Write the picture whose Axes `draw` returns, in the format of the file's ending."""
    ending = output.rpartition(".")[2]
    if ending not in FORMATS:
        expected = "a file that ends in .png, .svg or .pdf"
        raise InputError("plot", "-o", shown(output), expected)
    require_outputs([output], inputs)
    require_extras(["matplotlib"])
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.use("Agg")
    with mpl.rc_context({"svg.hashsalt": "optsched"}):
        figure = draw().figure
        assert isinstance(figure, Figure)
        with replacing(output) as temporary:
            metadata = {FORMATS[ending]: None}
            figure.savefig(temporary, format=ending, dpi=DOTS_PER_INCH, metadata=metadata)
    note(f"wrote {output}")
