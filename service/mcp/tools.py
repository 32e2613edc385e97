"""The tools that a model sees: few, each made from one operation or a small choice of them.

The words are made for a model: when to use a tool, when not, what comes back. Nothing here holds or
repeats stored text.
"""

from shiyi.service.mcp import answers
from shiyi.service.mcp.choices import (
    VIEWS,
    choose_closing,
    choose_correction,
    choose_map,
    choose_probe,
    choose_state,
)
from shiyi.service.mcp.tool import Input, Tool, same

_BUDGET = "the most tokens the answer may cost; larger ones only when the answer was truncated"
_KEY = "a random text of yours: repeating the call with the same key does it only once"
_RESUME = "truncated.resume of the answer before, with the same other arguments, for the rest"
_TURN = "a judged turn: refused until its words are kept"
_WINDOW = "only what was then: 2025-03, 2025-03:2025-08, :2024, or the name of a phase"
_STATEMENT = {
    "kind": "what it is: fact, event, preference, decision, promise, followup …",
    "title": "a few words that name it",
    "gist": "one sentence that stands alone, in the person's language, with names and dates",
    "detail": "more, if one sentence is not enough",
    "topics": "a few topics, in the words already used in this memory",
    "date": "when it was, not when it was said: 2021, 2021-03, 2021-03-05 or 2021-03..2021-05",
    "salience": "how much it matters: 0 passing, 30 related, 60 key, 80 an axis of this life",
}

TOOLS: tuple[Tool, ...] = (
    Tool(
        name="memory_search",
        title="Search memory",
        description=(
            "Find memories by keywords, names, dates or identifiers, Chinese and English. Use it "
            "first, whenever the answer may depend on what this person said before. Give "
            "keywords in their language, not a sentence; a time word such as 去年三月 or last "
            "spring narrows it. Not for several questions at once (memory_probe), nor to prove "
            "that something was never said (memory_probe with absent_topic). Returns results "
            "with id, title, text, trust and date, best first; memory_fetch reads one whole. "
            "outcome 'empty' means that nothing fits, 'unavailable' that it could not be looked "
            "for."
        ),
        operations=("search",),
        inputs={
            "query": Input(("search.text",), "keywords, names or an identifier", required=True),
            "limit": Input(("search.limit",), "the most results"),
            "budget": Input(("search.budget",), _BUDGET),
            "kind": Input(("search.kind",), "only records of these kinds"),
            "topic": Input(("search.topic",), "only what has one of these topics"),
            "since": Input(("search.since",), "only what is dated then or later: 2024-05"),
            "until": Input(("search.until",), "only what is dated then or earlier"),
            "turn": Input(("search.turn",), _TURN),
            "weak": Input(("search.weak",), "also show the nearest when nothing really fits"),
        },
        answer=answers.search,
        output=answers.SEARCH,
    ),
    Tool(
        name="memory_fetch",
        title="Read one memory whole",
        description=(
            "Read one record or capture whole, by the id that another tool gave. Use it before "
            "you quote somebody or rely on a detail; a capture is what was said, word for word, "
            "a record is a statement about it, and its metadata names the captures that it "
            "quotes. Not for looking around. Returns id, title, text, url and metadata; a long "
            "text is cut and truncated.next_start says where it goes on."
        ),
        operations=("show",),
        inputs={"id": Input(("show.id",), "the id of a record or a capture", required=True)},
        extra=answers.FETCH_EXTRA,
        check=answers.check_fetch,
        answer=answers.fetch,
        output=answers.FETCH,
    ),
    Tool(
        name="memory_survey",
        title="Draw a map of the memory",
        description=(
            "See what there is before you know a word to search for: the timeline, the state of "
            "things, people, topics, open follow-ups and gaps. Use it at the start of a session, "
            "and when a question is wide ('how have I been?'). view overview: everything; "
            "domain: one person, topic or phase (about); timeline: titles along time, newest "
            "first; directory: every title; now: the states that hold; followups: what is due. "
            "It shows titles and ids, never the words themselves: "
            "read those with memory_probe, memory_deep or memory_fetch."
        ),
        operations=tuple(VIEWS.values()),
        switch={
            "view": {
                "type": "string",
                "enum": list(VIEWS),
                "description": "which map; domain when about is given, else overview",
            }
        },
        inputs={
            "about": Input(
                ("routing.about", "recall.about", "current.of"),
                "a person, place, topic or phase by its name, or a record by its id",
            ),
            "query": Input(("survey.query",), "words that the overview leans towards"),
            **same(
                tuple(VIEWS.values()),
                {
                    "window": _WINDOW,
                    "before": "timeline: only what is dated before this day or record",
                    "after": "timeline: only what is dated after this day or record",
                    "by": "directory: what titles stand together by",
                    "as_of": "as things stood at the end of that day",
                    "turn": _TURN,
                    "budget": _BUDGET,
                    "resume": _RESUME,
                },
                budget={"default": 6000},
            ),
        },
        choose=choose_map,
    ),
    Tool(
        name="memory_probe",
        title="Ask several questions, or prove that there is nothing",
        description=(
            "Read cards of what fits up to four questions, with what supports, contradicts or "
            "replaces them, who is in them, and what stands beside them in time. Use it when one "
            "search is not enough, or give ids to see cards of known memories. Before you say "
            "that something was never mentioned, give absent_topic alone: it asks in every way "
            "there is and says what was tried. Not for the exact words (memory_deep)."
        ),
        operations=("probe", "absence"),
        inputs={
            **same(
                ("probe",),
                {
                    "queries": "up to four questions, each a few keywords",
                    "ids": "records or captures to see cards of",
                },
            ),
            "absent_topic": Input(
                ("absence.topic",), "what there may be nothing about, in a few words"
            ),
            **same(
                ("probe",),
                {
                    "window": _WINDOW,
                    "as_of": "as things stood at the end of that day",
                    "kind": "only records of these kinds",
                    "budget": _BUDGET,
                    "resume": _RESUME,
                },
                budget={"default": 8000},
            ),
            **same(("probe", "absence"), {"turn": _TURN}),
        },
        choose=choose_probe,
    ),
    Tool(
        name="memory_deep",
        title="Read the words themselves",
        description=(
            "Read what was really said, byte for byte, behind questions or ids, with speaker, "
            "time and how exact it is. Use it before quoting, when a summary is not enough, and "
            "when records disagree. A summary never poses as an original: it comes apart, in "
            "summaries. Not for a first look (memory_search)."
        ),
        operations=("deep",),
        inputs=same(
            ("deep",),
            {
                "queries": "up to four questions, each a few keywords",
                "ids": "captures, or records whose sources are wanted",
                "neighbours": "turns before and after each, as well",
                "turn": _TURN,
                "budget": _BUDGET,
                "resume": _RESUME,
            },
            budget={"default": 10_000},
        ),
    ),
    Tool(
        name="memory_preflight",
        title="Judge a message before anything else",
        description=(
            "The first step of a turn that is done step by step: judges whether a message has to "
            "be kept, before you search or answer. Give its words exactly, and a name for the "
            "turn, one a message. When required is true, memory_capture comes next, then your "
            "records, then memory_finalize. Not needed with memory_remember, which goes the whole "
            "way in one call. Keeps no words."
        ),
        operations=("preflight",),
        inputs=same(
            ("preflight",),
            {
                "text": "the message, exactly as it was said",
                "turn": "a name for this message, of your own making",
                "tier": "auto unless the person asked to keep it (full) or not to (skip)",
                "key": _KEY,
            },
            text={"required": True},
            turn={"required": True},
        ),
        trusted=False,
    ),
    Tool(
        name="memory_capture",
        title="Keep the words of a judged message",
        description=(
            "The second step: keeps the words of a turn that memory_preflight judged, byte for "
            "byte. Give the same text and turn. Returns capture_id, which memory_add_record "
            "quotes and memory_finalize closes. Not for summaries, and not for what recall showed."
        ),
        operations=("capture",),
        inputs=same(
            ("capture",),
            {
                "text": "the same words as in memory_preflight",
                "turn": "the same turn",
                "speaker": "who said them: user, assistant, or a name",
                "session": "the dialogue that they belong to",
                "said_at": "when they were said, ISO 8601; now by default",
                "key": _KEY,
            },
            text={"required": True},
            turn={"required": True},
        ),
        trusted=False,
    ),
    Tool(
        name="memory_remember",
        title="Keep words",
        description=(
            "Keep what somebody just said, exactly, with a record that quotes it: the whole way "
            "in one call. Use it when the person says something worth keeping, before you answer. "
            "text is their words, unchanged: never your summary, which belongs in gist. Not for "
            "what recall showed you, and not for secrets, which are refused. Returns the ids; "
            "what was acknowledged is on disk."
        ),
        operations=("remember",),
        inputs=same(
            ("remember",),
            {
                "text": "the words, exactly as they were said",
                "speaker": "who said them: user, assistant, or a name",
                "session": "the dialogue that they belong to",
                "turn": "the turn that they belong to",
                **_STATEMENT,
                "words_only": "keep the words and make no record",
                "key": _KEY,
            },
            text={"required": True},
        ),
        trusted=False,
    ),
    Tool(
        name="memory_add_record",
        title="Add a statement that quotes words",
        description=(
            "Add a statement that you derived from words that are kept: a decision, a "
            "preference, somebody's birthday. Use it after the words were captured, one "
            "statement a call, each with quotes. Say summary_only when no kept words carry it. "
            "Not for a correction of a record (memory_correct). Returns the id."
        ),
        operations=("add-record",),
        inputs={
            **same(
                ("add-record",),
                {
                    **_STATEMENT,
                    "quotes": 'the words that it rests on: {"capture": id, "text": "…"}, or with '
                    '"start" and "end"',
                    "aliases": "other names of an entity",
                    "attrs": "what its kind has of its own",
                    "summary_only": "it rests on no words that are kept",
                    "key": _KEY,
                },
                kind={"required": True},
            ),
        },
        answer=answers.added,
        output=answers.ADDED,
    ),
    Tool(
        name="memory_finalize",
        title="Close a capture, or check a turn",
        description=(
            "The last step: closes a capture. outcome derived when records quote it; "
            "no_derivation_needed, with a reason, when a search showed that none are needed "
            "(trace). With turn alone it checks whether that turn may be called saved: say "
            "'saved' only after verdict pass."
        ),
        operations=("finalize", "session-check"),
        inputs={
            **same(
                ("finalize",),
                {
                    "capture": "the id of the capture to close",
                    "outcome": "whether records were derived from it",
                    "reason": "why none is needed",
                    "records": "the records that quote it; all of them by default",
                    "trace": "the trace of the search that shows that none is needed",
                    "key": _KEY,
                },
            ),
            "turn": Input(("session-check.turn",), "alone: the turn to check"),
        },
        choose=choose_closing,
        trusted=False,
    ),
    Tool(
        name="memory_correct",
        title="Correct a record",
        description=(
            "Change what holds. action edit: give the record a new version (only the fields that "
            "change); supersede: another record holds instead (other); contradict: two records "
            "cannot both be so and both stay (other, reason); archive: take it out of ordinary "
            "search; close_followup: say what came of it (outcome, note). Nothing is lost: "
            "older versions stay readable. Use it when the person corrects something, after you "
            "kept their words. Words themselves never change."
        ),
        operations=("edit", "archive", "supersede", "contradict", "followup close"),
        switch={
            "action": {
                "type": "string",
                "enum": ["edit", "supersede", "contradict", "archive", "close_followup"],
                "description": "what to do",
                "default": "edit",
            }
        },
        inputs={
            "id": Input(
                (
                    "edit.id",
                    "archive.id",
                    "supersede.old",
                    "contradict.record",
                    "followup close.id",
                ),
                "the record that is corrected",
                required=True,
            ),
            "other": Input(
                ("supersede.new", "contradict.other"), "supersede, contradict: the other record"
            ),
            **same(("edit",), _STATEMENT),
            **same(
                ("edit", "archive", "supersede", "contradict", "followup close"),
                {
                    "source": 'supersede, contradict: the words that say so, {"capture": id, '
                    '"text": "…"}',
                    "outcome": "close_followup: how it ended",
                    "note": "close_followup: what came of it",
                    "reason": "why, in one sentence",
                    "if_match": "the etag that you read: refused when it changed meanwhile",
                    "key": _KEY,
                },
            ),
        },
        choose=choose_correction,
        trusted=False,
    ),
    Tool(
        name="memory_status",
        title="How the memory stands",
        description=(
            "Say how many memories there are, whether search by meaning works, and what is "
            "wrong. Use it when another tool answered 'unavailable', or once at the start. what "
            "pending: the turns that are still open, each with its next step. With trace, the id "
            "that an answer gave, it says why that answer was what it was."
        ),
        operations=("status", "pending", "trace"),
        switch={
            "what": {
                "type": "string",
                "enum": ["state", "pending"],
                "description": "what to say",
                "default": "state",
            }
        },
        inputs={"trace": Input(("trace.id",), "the trace of an answer")},
        choose=choose_state,
        answer=answers.status,
        output=answers.STATUS,
        trusted=False,
    ),
)


def find_tool(name: str) -> Tool:
    """Return the tool of that name; raises KeyError when there is none."""
    return {tool.name: tool for tool in TOOLS}[name]
