"""Labelled sets from disk, in whatever form they have, and a list of those at hand."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import MAIN, Dataset
from shiyi.eval.findings import KnownDataset
from shiyi.eval.readers.directory import ARCHIVE, CORPUS, exists, read_directory
from shiyi.eval.readers.fields import Parts
from shiyi.eval.readers.files import Files, open_regular, printable
from shiyi.eval.readers.locomo import read_locomo
from shiyi.eval.readers.longmemeval import read_longmemeval
from shiyi.eval.readers.strict import parse_elements

SAMPLE = Path(__file__).parent / "data" / "sample"
VARIABLE = "SHIYI_DATASETS"
UNKNOWN = "unknown"
_LICENCE = re.compile(r"\W*licen[cs]e\W*?[:：]\W*(\S.*)", re.IGNORECASE)
_NOTICE_BYTES = 256 * 1024


def load_dataset(path: Path, views: Sequence[str] | None = None) -> Dataset:
    """Return the set that lies at `path`, with all of its views or those named.

    A directory holds corpus.jsonl, or captures.jsonl and records.jsonl, with queries.jsonl and
    qrels.tsv; or it holds one JSON file. A JSON file is LoCoMo's or LongMemEval's. The digest is
    over every file of documents, queries or judgements, also of views that are not asked for.
    Raises UsageError, naming file and line, for anything malformed.
    """
    files = Files()
    file = _json_file(path)
    parts = _read_json(file, files, views) if file else read_directory(path, files, views)
    folder = path if path.is_dir() else path.parent
    return Dataset(
        name=_name(path), path=path,
        licence=_licence(folder), documents=parts.documents, views=parts.views,
        sha256=files.sha256(), archive=parts.archive, notes=parts.notes,
    )  # fmt: skip


def known_datasets(directories: Sequence[Path] | None = None) -> list[KnownDataset]:
    """Return the shipped sample and the sets in these directories, each of which may be one.

    Without directories, those in SHIYI_DATASETS count, separated as in PATH.
    """
    return [_known(path) for path in _known_paths(directories)]


def find_datasets(given: Sequence[str]) -> list[Path]:
    """Return where the known sets of these names lie, or these paths where there are none.

    Several may be joined by commas. Raises UsageError for one that is neither.
    """
    known = {_name(path): path for path in reversed(_known_paths(None))}  # the first of a name wins
    found: list[Path] = []
    for one in given:
        names = [one] if one in known or _is_there(Path(one)) else one.split(",")
        found += [_found(name.strip(), known) for name in names if name.strip()]
    return found


def _found(given: str, known: Mapping[str, Path]) -> Path:
    path = Path(given).expanduser()
    if given in known:
        return known[given]
    if not _is_there(path):
        raise UsageError(
            f"There is no set {given!r}, neither by this name nor at this path; known are "
            f"{', '.join(sorted(known))}. {VARIABLE} names directories with more."
        )
    return path


def _is_there(path: Path) -> bool:
    try:
        return exists(path)
    except OSError:  # a name that is too long, or a place that may not be looked at
        return False


def _known_paths(directories: Sequence[Path] | None) -> list[Path]:
    if directories is None:
        listed = os.environ.get(VARIABLE, "").split(os.pathsep)
        directories = [Path(one) for one in listed if one]
    shipped = [SAMPLE] if SAMPLE.is_dir() else []
    found = chain(shipped, *(_sets_in(directory) for directory in directories))
    return list(dict.fromkeys(path.resolve() for path in found))


def _name(path: Path) -> str:
    return printable(Path(path.resolve().name if path.is_dir() else path.stem))


def _sets_in(directory: Path) -> Iterator[Path]:
    """Yield the directory itself when it holds a set, else the sets below it."""
    if not directory.is_dir() or _holds_set(directory) or not os.access(directory, os.R_OK):
        yield directory
        return
    for path in sorted(directory.iterdir()):
        if (path.is_dir() and _holds_set(path)) or path.suffix == ".json":
            yield path


def _holds_set(directory: Path) -> bool:
    return any(exists(directory / name) for name in (CORPUS, *ARCHIVE, "queries.jsonl")) or (
        len(list(directory.glob("*.json"))) == 1
    )


def _known(path: Path) -> KnownDataset:
    licence = _licence(path if path.is_dir() else path.parent)
    try:
        found = load_dataset(path)
    except UsageError as error:
        return KnownDataset(
            name=printable(Path(path.name)), path=printable(path), licence=licence, documents=0,
            queries=0, views=[], problem=str(error),
        )  # fmt: skip
    return KnownDataset(
        name=found.name, path=printable(path), licence=licence, documents=len(found.documents),
        queries=len(found.views[0].queries), views=[view.name for view in found.views],
    )  # fmt: skip


def _json_file(path: Path) -> Path | None:
    """Return the JSON file that a set consists of; None when it is a directory of lines."""
    if not path.is_dir():
        return path
    if any(exists(path / name) for name in (CORPUS, *ARCHIVE)):
        return None
    found = list(path.glob("*.json"))
    if len(found) != 1:
        raise UsageError(
            f"{printable(path)}: This holds no set; a set has {CORPUS}, {' or '.join(ARCHIVE)}, "
            "or a single JSON file of LoCoMo or LongMemEval."
        )
    return found[0]


def _read_json(file: Path, files: Files, views: Sequence[str] | None) -> Parts:
    if file.suffix == ".jsonl":
        raise UsageError(f"{printable(file)}: Give the directory of the set, not one of its files.")
    for name in views or ():
        if name != MAIN:
            raise UsageError(f"{printable(file)}: There is no view {name!r}, only {MAIN!r}.")
    elements = parse_elements(file, files)
    first = next(elements, None)
    if first is None:
        raise UsageError(f"{printable(file)}: This holds no documents.")
    whole = chain([first], elements)
    if "haystack_sessions" in first.content:
        parts = read_longmemeval(whole)
    elif "conversation" in first.content:
        parts = read_locomo(whole)
    else:
        raise UsageError(f"{first.place}: This is neither a sample of LoCoMo nor of LongMemEval.")
    for some, what in ((parts.documents, "documents"), (parts.views[0].queries, "queries")):
        if not some:
            raise UsageError(f"{printable(file)}: This holds no {what}.")
    return parts


def _licence(folder: Path) -> str:
    """Return what the README says the licence is, else the first line of the licence itself."""
    for line in _lines(folder / "README.md"):
        if found := _LICENCE.match(line):
            return found[1].strip(" *|`")
    first = next((line.strip() for line in _lines(folder / "LICENSE") if line.strip()), None)
    return first or UNKNOWN


def _lines(file: Path) -> list[str]:
    try:
        with open_regular(file) as stream:
            return stream.read(_NOTICE_BYTES).decode("utf-8", "replace").splitlines()
    except UsageError:
        return []
