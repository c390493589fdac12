"""Folders of classes that ImageFolder stops at, or numbers otherwise than is meant.

What it finds
    Folders that a source of the job gives to `torchvision.datasets.ImageFolder`, which takes each
    folder in them for a class, hidden ones too, and numbers them by their names in order:

    a class without an image, or no class at all, at which it raises (unless `allow_empty=True`);
    classes of one split that have other numbers than those of the same names in training, as one
    folder more or less moves all behind it; the folder above `train` and `val`, which gives these
    for classes; `.ipynb_checkpoints`, `__MACOSX` and the like taken for a class; `._` files of
    macOS taken for images; images of suffixes that it leaves out, such as `.gif`.

    Of live loaders, the labels themselves are compared, by the folders of their files: an error
    where these lie side by side, and else a warning.

    Sources are read, not run. It is an error where the script that is started writes the folder
    out, by literals, defaults of its options and keys of its files of settings; else a warning, as
    a guess: where only the end of a path is known (`os.path.join(args.data, "train")`), under a
    test, or in a folder of sources in a file that is not started. Splits without a class in common
    are left alone, and so are labels that the source changes (`target_transform`, `.samples = …`)
    or does not use.

    Where nothing of a path is known, or timm finds it (`create_dataset`), and where no source was
    looked at at all, splits that lie side by side and have most of their classes in common are held
    against each other, as a guess: a class that is missing in one of them, or has no image there.
    Without a source, a list of classes beside the splits (`classes.txt`) leaves that to the reader.

Why it matters
    ImageFolder raises `FileNotFoundError: Found no valid file for the classes …` at the start.
    Labels that have moved raise nothing: a model is judged, and the best of its weights chosen, by
    labels of other classes.

What to do
    Remove the folder, or fill it; have each split hold the same folders, or take the numbers of
    training for all.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import ClassFolder, ClassFolders, OtherNumbers, ReadsClasses, SplitClasses
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

_JUNK = frozenset({"__MACOSX", "@eaDir", "lost+found", "$RECYCLE.BIN", "__pycache__"})
_NAMED = 5


def _is_junk(one: ClassFolder) -> bool:
    return one.name.startswith(".") or one.name in _JUNK


@check(
    over=(ClassFolders, SplitClasses, OtherNumbers),
    title="folders of classes that ImageFolder stops at, or numbers otherwise than is meant",
    many="folders of classes are not as ImageFolder needs them",
    severity=Severity.ERROR,
)
def dataset_classes(
    facts: ClassFolders | SplitClasses | OtherNumbers, _job: Job
) -> Iterator[Finding]:
    """Say what ImageFolder makes of the folders in a folder."""
    if isinstance(facts, OtherNumbers):
        yield from _of_loaders(facts)
        return
    if isinstance(facts, SplitClasses):
        yield from _moved(facts)
        return
    if not facts.classes:
        beside = f", and {counted(facts.loose, 'image')} beside none" if facts.loose else ""
        yield _found(
            facts,
            f"holds no folder for a class{beside}",
            why="ImageFolder raises FileNotFoundError: Couldn't find any class folder.",
            fix="Put the images of each class into a folder of its own, or name the folder that "
            "holds these folders.",
            about="none",
        )
        return
    if len(facts.classes) > 1 and len(facts.splits) == len(facts.classes):
        yield _found(
            facts,
            f"has {first_of(facts.splits, len(facts.splits))} for its classes, which hold the "
            "folders of the classes themselves",
            why="Each image's label is then the split in which it lies.",
            fix=f"Read {facts.file}/{facts.splits[0]} and the others each by itself.",
            about="splits",
            by_label=True,
        )
        return
    yield from _at_start(facts)
    if facts.reads.at.file is not None:
        yield from _misread(facts)


def _at_start(facts: ClassFolders) -> Iterator[Finding]:
    reads = facts.reads
    empty = [one for one in facts.classes if not one.images]
    if not empty or reads.allow_empty or reads.own_rule:
        return
    names = [one.name for one in empty]
    why = "ImageFolder raises FileNotFoundError: Found no valid file for the classes "
    why += f"{shown(', '.join(names[:_NAMED]))}."
    why += "" if reads.at.file else " timm leaves it out, and numbers those behind it otherwise."
    suffixes = sorted({one.left_suffix for one in empty if one.left})
    holding = f" of a suffix that it takes (they hold {', '.join(suffixes)})" if suffixes else ""
    of = counted(len(facts.classes), "folder")
    what = "holds no image" if len(empty) == 1 else "hold no image"
    yield _found(
        facts,
        f"has {of} for classes, of which {len(empty):,} {what}{holding}: "
        f"{first_of(names, len(names))}",
        why=why,
        fix="Remove it, hidden folders too, or fill it."
        if len(empty) == 1
        else "Remove them, hidden folders too, or fill them.",
        about="empty",
    )


def _misread(facts: ClassFolders) -> Iterator[Finding]:
    junk = [one for one in facts.classes if one.images and _is_junk(one)]
    for one in junk:
        yield _found(
            facts,
            f"has {shown(one.name)} for a class, with {counted(one.images, 'image')}",
            why="It is numbered with the others, so that labels behind it are one more than meant, "
            "and the last has no output in a model of as many classes as there should be.",
            fix=f"Remove {shown(one.name)}.",
            about=one.name,
            by_label=True,
        )
    if facts.reads.own_rule:
        return
    attributes = sum(one.attributes for one in facts.classes if one not in junk)
    if attributes:
        first = next(one for one in facts.classes if one.attributes)
        yield _found(
            facts,
            f"holds {counted(attributes, 'file')} of macOS that ImageFolder takes for images, such "
            f"as {shown(f'{first.name}/{first.attributes_name}')}",
            why="A worker stops at the first that it comes to: UnidentifiedImageError.",
            fix="Remove these files, which macOS has put beside what it copied; their names begin "
            "with ._",
            about="attributes",
        )
    some = [one for one in facts.classes if one.images and one.left]
    left, images = sum(one.left for one in some), sum(one.images for one in facts.classes)
    if some:
        suffix = some[0].left_suffix
        yield _found(
            facts,
            f"holds {left:,} of {counted(left + images, 'image')} that ImageFolder leaves out, "
            f"such as those of {shown(suffix)}",
            why="They are not trained on, and nothing says so.",
            fix="Convert them, or take them, too: is_valid_file=….",
            about="left",
            most=Severity.WARNING,
        )


def _numbered(facts: ClassFolders) -> list[str]:
    """Name classes in order, but for what has to go before any are read, or is left out."""
    skips = facts.reads.skips_empty
    return [one.name for one in facts.classes if one.images or not (skips or _is_junk(one))]


def _moved(facts: SplitClasses) -> Iterator[Finding]:
    train, other = facts.train, facts.other
    if train.reads.relabels or other.reads.relabels:
        return
    names, its = _numbered(train), _numbered(other)
    numbers = {name.casefold(): place for place, name in enumerate(names)}
    shared = [
        (name, place, numbers[name.casefold()])
        for place, name in enumerate(its)
        if name.casefold() in numbers
    ]
    moved = [(name, here, there) for name, here, there in shared if here != there]
    beyond = its[len(names) :] if other.reads.at.file is not None else []
    if not moved and not (shared and beyond):
        return
    own = {name.casefold() for name in its}
    more = [name for name in its if name.casefold() not in numbers]
    less = [name for name in names if name.casefold() not in own]
    apart = f"; only here: {first_of(more, len(more))}" if more else ""
    apart += f"; only there: {first_of(less, len(less))}" if less else ""
    if moved:
        name, here, there = moved[0]
        said = f"gives {len(moved):,} of {counted(len(shared), 'class', 'classes')} other labels "
        said += f"than {shown(train.file)}: {shown(name)} is {here} here, and {there} there{apart}"
    else:
        said = f"has classes beyond the {len(names):,} of {shown(train.file)}{apart}"
    yield _found(
        other,
        said,
        why="ImageFolder and timm number the folders of each by their names, and nothing compares "
        "them: the model is judged by labels of other classes."
        if moved
        else "Their labels have no output in a model of these.",
        fix=_same_labels(other.reads),
        about="moved",
        by_label=True,
        sure=train.sure,
        most=Severity.ERROR if moved else Severity.WARNING,
        also=(Location(file=train.file),),
    )


def _same_labels(reads: ReadsClasses) -> str:
    if reads.at.file is None:
        return "Have both hold the same folders, or give all of them the labels of training."
    if reads.skips_empty:
        return "Have both hold the same folders with images, or read both by one class_map."
    return (
        "Have both hold the same folders (an empty one needs allow_empty=True), or give the labels "
        "of training: target_transform=…."
    )


def _of_loaders(facts: OtherNumbers) -> Iterator[Finding]:
    """Tell labels of one live loader that are not those of the one that trains."""
    if not facts.moved:
        return
    name, here, there = facts.moved[0]
    yield dataset_classes.found(
        f"gives {len(facts.moved):,} of {counted(facts.shared, 'class', 'classes')} other labels "
        f"than {facts.train}: {shown(name)} is {here} here, and {there} there",
        at=facts.defined.at(facts.name),
        severity=Severity.WARNING if facts.apart else Severity.ERROR,
        why="Nothing compares them: the model is judged by labels of other classes"
        + (", unless these are two data sets." if facts.apart else "."),
        fix="Give all loaders the labels of training, or have all folders hold the same classes.",
        evidence={"moved": len(facts.moved), "shared": facts.shared},
        about=f"{facts.name} numbers",
    )


def _found(
    facts: ClassFolders,
    message: str,
    *,
    why: str,
    fix: str,
    about: str,
    by_label: bool = False,
    sure: bool = True,
    most: Severity = Severity.ERROR,
    also: tuple[Location, ...] = (),
) -> Finding:
    at = facts.reads.at
    sure = facts.sure and sure and not (by_label and facts.reads.labels_unused)
    guess = "" if facts.sure else " (a guess: the source does not write the path out for every run)"
    guess = guess if at.file is not None else " (a guess: nothing says what reads these folders)"
    by = (Location(file=at.file, line=at.line),) if at.file is not None else ()
    return dataset_classes.found(
        f"{message}{guess}",
        at=Location(file=facts.file),
        also=(*by, *also),
        severity=most if sure else Severity.WARNING,
        why=why,
        fix=fix,
        about=about,
    )
