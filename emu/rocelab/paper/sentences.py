"""The sentences of chapter 4 that state a result, judged. Where a sentence gives a limit ("within", "at most") that is what is demanded, else its direction."""

from __future__ import annotations

from rocelab.paper.measured import Measured
from rocelab.paper.sentence import Judged
from rocelab.paper.sentences_basic import BASIC
from rocelab.paper.sentences_robust import ROBUST
from rocelab.paper.sentences_tables import TABLES

SENTENCES = (*BASIC, *ROBUST, *TABLES)


def judge(measured: Measured) -> list[Judged]:
    """Those whose experiments were run."""
    judged = []
    for sentence in SENTENCES:
        if not sentence.was_run(measured.points):
            continue
        numbers = sentence.numbers(measured)
        known = [v for v in numbers.values() if v is not None]
        complete = len(known) == len(numbers)
        verdict = (
            all(map(sentence.holds, known))
            if known and (complete or not all(map(sentence.holds, known)))
            else None
        )
        judged.append(Judged(sentence, numbers, verdict))
    return judged
