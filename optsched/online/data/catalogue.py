"""The catalogue: the configuration (a placement job) behind each model key of a workload."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from optsched.files import read_document, write_document
from optsched.placement.instance import Job, Stage
from optsched.schema import FORMAT, PROVENANCE, VERSION, About, FileModel, Name, Version, parse

SCHEMA = "optsched/catalogue"
MAX_MODELS = 2**17


class Catalogue(FileModel):
    """catalogue.json: model key -> stages and replicas."""

    schema_: Annotated[Literal["optsched/catalogue"], FORMAT] = Field(alias="schema")
    version: Annotated[Version, VERSION]
    models: Annotated[
        dict[Name, Job],
        Field(max_length=MAX_MODELS),
        About("The configuration behind each model key of a workload."),
    ]
    provenance: Annotated[dict[str, Any], PROVENANCE] = Field(default_factory=dict)

    @classmethod
    def from_dict(cls, document: Any, source: str = "catalogue") -> Self:
        """Create a catalogue from a parsed JSON document; raises InputError."""
        return parse(cls, document, source)

    @classmethod
    def of(cls, models: dict[str, Job], provenance: dict[str, Any] | None = None) -> Self:
        return cls(schema=SCHEMA, version=1, models=models, provenance=provenance or {})

    def to_dict(self) -> dict[str, Any]:
        models = {
            key: job.model_dump(mode="json", exclude_unset=True) for key, job in self.models.items()
        }
        return {**self.model_dump(mode="json", by_alias=True), "models": models}


def read_catalogue(path: str | Path) -> Catalogue:
    """Read catalogue.json; raises InputError.

    Parameters
    ----------
    path : str or Path
        catalogue.json.

    Returns
    -------
    Catalogue
        The configurations by model key.

    Examples
    --------
    >>> from optsched.library import shipped_folder
    >>> catalogue = read_catalogue(shipped_folder() / "online/small-400x40/catalogue.json")
    >>> len(catalogue.models)
    66
    """
    return Catalogue.from_dict(read_document(path), str(path))


def write_catalogue(path: str | Path, catalogue: Catalogue) -> None:
    write_document(path, catalogue.to_dict())


def single_stage(job: Job, gpus: int) -> Job:
    """One stage of `gpus` replicas with the job's summed times and parameters.

    Used if a job's GPU count differs from its configuration.
    """
    return Job(
        model=job.model,
        all_reduce=job.all_reduce,
        stages=(
            Stage(
                name="all",
                replicas=gpus,
                forward_time=sum(stage.forward_time for stage in job.stages),
                backward_time=sum(stage.backward_time for stage in job.stages),
                input_bytes=0,
                output_bytes=0,
                parameter_bytes=sum(stage.parameter_bytes for stage in job.stages),
            ),
        ),
    )
