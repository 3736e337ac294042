"""The answer of a set of studies in words, from the headline numbers of its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from explainlab.analyses.registry import get_analysis
from explainlab.analyses.sets.records import Mean, SetCell, StudySet
from explainlab.analyses.significance import Groups, groups_of, groups_of_intervals
from explainlab.analyses.summary import Measure, Number
from explainlab.analyses.wording import counted, joined


def overview(studies: StudySet, measure: str = "") -> str:
    """Say how a measure (its key; empty: the first) runs over all cells, and what is best in how many of them."""
    if not studies.done:
        return none_done(studies)
    over = f"Over {cells_words(studies)}"
    if not studies.measures:
        return f"{over}, there is no number that could be compared."
    facts = studies.measures.get(measure) or next(iter(studies.measures.values()))
    means = studies.means(facts.key)
    if not means:
        return f"{over}, {inside(facts.label)} has no value."
    return f"{over}, {'; '.join(filter(None, (_range(studies, facts, means), _told_apart(studies, facts, means))))}."


def points(studies: StudySet) -> list[str]:
    """Return the numbers behind the answer: a sentence for every measure, and the answer of every cell."""
    cells = [f"{cell.model.name} on {cell.data_name}: {_answer(cell)}" for cell in studies.cells]
    return [*(overview(studies, measure) for measure in studies.measures), *cells]


def none_done(studies: StudySet) -> str:
    """Say that there is no result, or none yet."""
    yet = " yet" if any(cell.status == "waiting" for cell in studies.cells) else ""
    return f"None of {counted(len(studies.cells), 'cell')} has a result{yet}."


def cells_words(studies: StudySet) -> str:
    """Return the number of cells with a result, as ``3 of 4 cells (2 models × 2 data sets)``."""
    models = len({cell.model.id for cell in studies.cells})
    done = "" if len(studies.done) == len(studies.cells) else f"{len(studies.done)} of "
    grid = f"{counted(models, 'model')} × {counted(len(studies.data), 'data set')}"
    return f"{done}{counted(len(studies.cells), 'cell')} ({grid})"


def inside(label: str) -> str:
    """Return ``label`` within a sentence; an abbreviation stays in capitals."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _answer(cell: SetCell) -> str:
    if cell.result is None:
        return cell.reason or "waiting"
    return get_analysis(cell.result.request.question).report(cell.result).headline


def _range(studies: StudySet, facts: Measure, means: Sequence[Mean]) -> str:
    """Name the lowest and the highest value; where there are several methods, of the best value in each cell."""
    best: dict[str, Mean] = {}
    for mean in means:
        place = studies.place(mean.group, mean.data)
        best[place] = max(best.get(place, mean), mean, key=lambda own: own.merit)
    several = len(studies.series_of(facts.key)) > 1
    words = {place: _value(mean, facts, place) for place, mean in best.items()}
    ordered = sorted(best, key=lambda place: best[place].value.mean or 0.0)
    name = f"the {'highest' if facts.higher_is_better else 'lowest'} " if several else ""
    runs = f"is {words[ordered[0]]}" if len(best) == 1 else f"runs from {words[ordered[0]]} to {words[ordered[-1]]}"
    return f"{name}{inside(facts.label)}{' in a cell' if several and len(best) > 1 else ''} {runs}"


def _value(mean: Mean, facts: Measure, where: str) -> str:
    return f"{facts.words(mean.value.mean)} ({'; '.join(filter(None, (facts.between(mean.value), where)))})"


def _told_apart(studies: StudySet, facts: Measure, means: Sequence[Mean]) -> str:
    """Count in how many cells each method is the single best one; empty where there is nothing to compare.

    Where numbers are the model's own, count on how many data sets each model is.
    """
    several = len(studies.series_of(facts.key)) > 1
    contests: dict[str, dict[str, Number]] = {}
    for mean in means:
        place = studies.place(mean.group, mean.data) if several else studies.data[mean.data]
        contests.setdefault(place, {})[mean.number.label if several else mean.group.name] = mean.number
    held = [numbers for numbers in contests.values() if len(numbers) > 1]
    groups = [_groups(numbers, facts, several, len(held)) for numbers in held]
    if len(groups) == 1:
        return groups[0].words()
    return _counts(groups, "cell" if several else "data set") if groups else ""


def _groups(numbers: Mapping[str, Number], facts: Measure, alone: bool, of: int) -> Groups:
    """Group the names of one of ``of`` contests, text by text where all have values of the same texts.

    ``alone``: the numbers are of one result, and so of its texts.
    """
    rows = {tuple(number.rows) for number in numbers.values()}
    shared = alone or (len(rows) == 1 and rows != {()})
    if shared and all(len(number.values) == number.n for number in numbers.values()):
        return groups_of({name: number.values for name, number in numbers.items()}, facts.higher_is_better, of)
    return groups_of_intervals(
        {name: (number.value, number.n) for name, number in numbers.items()}, facts.higher_is_better, of
    )


def _counts(groups: Sequence[Groups], unit: str) -> str:
    alone = Counter(each.winner for each in groups if each.winner).most_common()
    untold = sum(not each.winner for each in groups)
    words = [f"{name} is best {_in(times, len(groups), unit)}" for name, times in alone]
    if untold:
        words.append(f"the best ones cannot be distinguished {_in(untold, len(groups), unit)}")
    return joined(words)


def _in(times: int, of: int, unit: str) -> str:
    every = str(times) if times < of else "both" if of == 2 else f"all {of}"
    return f"{'in' if unit == 'cell' else 'on'} {every} {unit}{'' if times == 1 else 's'}"
