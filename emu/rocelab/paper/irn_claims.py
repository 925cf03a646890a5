"""The sentences of chapter 4 that state a result, judged. Where a sentence gives a limit ("within", "at most") that is what is demanded, else its direction."""

from __future__ import annotations

from rocelab.paper.claims import Claim
from rocelab.paper.results import Results
from rocelab.paper.irn_claims_basic import BASIC
from rocelab.paper.irn_claims_discussion import DISCUSSION
from rocelab.paper.irn_claims_robust import ROBUST
from rocelab.paper.irn_claims_tables import TABLES

SENTENCES = (*BASIC, *ROBUST, *TABLES, *DISCUSSION)


def claims(results: Results) -> list[Claim]:
    """Those whose experiments were run."""
    return [sentence.claim(results) for sentence in SENTENCES if sentence.was_run(results.points)]
