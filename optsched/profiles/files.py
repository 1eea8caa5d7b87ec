"""Profile files: layers of a network and what one mini-batch takes on them, as JSON."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from optsched.files import read_document
from optsched.profiles.profile import Layer, LayerProfile
from optsched.schema import (
    FORMAT,
    PROVENANCE,
    VERSION,
    About,
    Between,
    FileModel,
    Name,
    NonNegative,
    Version,
    parse,
    require_schema,
)

MAX_LAYERS, MAX_EDGES = 20_000, 200_000

_Position = Annotated[int, Between(0, MAX_LAYERS)]


class ProfiledLayer(FileModel):
    """One layer: seconds and bytes of a mini-batch on one GPU."""

    name: Annotated[Name, About("Name of the layer.", "", "encoder.0 Linear")]
    forward_time: Annotated[NonNegative, About("Forward pass.", "seconds", 0.002)]
    backward_time: Annotated[NonNegative, About("Backward pass.", "seconds", 0.004)]
    output_bytes: Annotated[NonNegative, About("Size of its output.", "bytes", 4.2e6)]
    parameter_bytes: Annotated[NonNegative, About("Size of its parameters.", "bytes", 1.6e7)]


class ProfileFile(FileModel):
    """A measured network, as `optsched profile` writes it."""

    schema_: Annotated[Literal["optsched/profile"], FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    model: Annotated[Name, About("Name of the network.", "", "resnet50")]
    layers: Annotated[
        tuple[ProfiledLayer, ...],
        Field(strict=False, min_length=1, max_length=MAX_LAYERS),
        About("Layers in a topological order of the edges."),
    ]
    edges: Annotated[
        tuple[Annotated[tuple[_Position, _Position], Field(strict=False)], ...],
        Field(strict=False, max_length=MAX_EDGES),
        About("[u, v]: layer v reads the output of layer u, u < v.", "positions", [[0, 1]]),
    ]
    bytes_per_number: Annotated[int, Between(1, 16), About("Of a parameter.", "bytes", 4)] = 4
    provenance: Annotated[dict[str, Any], PROVENANCE] = Field(default_factory=dict)


def read_profile(path: str | Path) -> LayerProfile:
    """Read a profile's file; raises InputError."""
    document = read_document(path)
    require_schema(ProfileFile, document, str(path))
    file = parse(ProfileFile, document, str(path))
    layers = tuple(Layer(**layer.model_dump()) for layer in file.layers)
    return LayerProfile(
        file.model, layers, file.edges, file.provenance, bytes_per_number=file.bytes_per_number
    )


def profile_document(profile: LayerProfile) -> dict[str, Any]:
    """Return the JSON object of a profile without tensor slices and experts."""
    names = ProfiledLayer.model_fields
    return {
        "schema": "optsched/profile",
        "version": 1,
        "model": profile.model,
        "layers": [{name: getattr(layer, name) for name in names} for layer in profile.layers],
        "edges": [list(edge) for edge in profile.edges],
        "bytes_per_number": profile.bytes_per_number,
        "provenance": profile.provenance,
    }
