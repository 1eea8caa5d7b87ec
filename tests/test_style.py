"""Sentences and names that readers could not understand stay away."""

import re

from processes import ROOT

PHRASES = (
    "who is walked through",
    "somebody runs",
    "that is listed take the place",
    "that all jobs exceed that are listed",
    "what is known, how",
    "seed of the run, and its clock",
    "the horizon that would do",
    "none has a seat",
    "compile one that borrows",
    "a bound that holds, of one",
    "or its fractional likeness",
    "what is next to nothing",
    "whoever runs more jobs",
    "all else is the same everywhere",
    "seconds are of python here",
    "s, not in the table",
    "found nothing, expected",
    "found no such file",
    "print it, leave",
    "somebody's data",
    "and what is known of them",
    "heavy from alpha",
    "else --method's",
    "a legend where no data is",
    "rows count columns",
    "the prices of a path's rows",
    "what is less better",
    "how much more a selection with it costs",
    "had none waited",
    "name and hash are those of",
    "broken at name",
)
NAMES = (
    *("told", "told_apart", "stood", "no_less", "heard", "led", "what_is_left", "who_waits"),
    *("seats", "sure_ends", "FEW", "MOSTLY", "HEATS"),
)
FOLDERS = ("optsched", "docs", "models", "notebooks", "benchmarks", "instances")
SUFFIXES = (".py", ".md", ".ipynb", ".toml", ".sh")


def text_of_files() -> dict[str, str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    paths = [path for path in (*ROOT.glob("*.md"), *paths) if path.suffix in SUFFIXES]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def test_no_sentence_of_the_list_is_left() -> None:
    for name, text in text_of_files().items():
        plain = " ".join(text.split()).lower()
        assert not [phrase for phrase in PHRASES if phrase in plain], name


def test_no_name_of_the_list_is_left() -> None:
    pattern = re.compile(
        rf"^\s*(?:def |for )?\b({'|'.join(NAMES)})\b(?:,.*)? (?:=|in) ", re.MULTILINE
    )
    for name, text in text_of_files().items():
        if name.startswith("optsched/"):
            assert not pattern.findall(text), name
