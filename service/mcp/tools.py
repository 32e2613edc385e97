"""The tools that a model sees: few, each made from one operation or a small choice of them.

The words are made for a model: when to use a tool, when not, what comes back. Nothing here holds or
repeats stored text.
"""

from shiyi.service.mcp import answers, outputs
from shiyi.service.mcp.tool import Input, Switch, Tool, same

_BUDGET = "the most tokens the answer may cost; more only when it was truncated"
_KEY = "a random text of yours: a repeat with the same key is done only once"
_RESUME = "truncated.resume of the answer before, with the same other arguments, for the rest"
_TURN = "a judged turn: refused until its words are kept"
_WINDOW = "only what was then: 2025-03, 2025-03:2025-08, :2024, or the name of a phase"
_STATEMENT = {
    "kind": "what it is",
    "title": "a few words that name it",
    "gist": "one sentence that stands alone, in the person's language, with names and dates",
    "detail": "more, if one sentence is not enough",
    "topics": "a few topics, in the words already used in this memory",
    "date": "when it was, not when it was said: 2021, 2021-03, 2021-03-05 or 2021-03..2021-05",
    "salience": "how much it matters: 0 passing, 30 related, 60 key, 80 an axis of this life",
}

_VIEWS = {
    "overview": "survey", "domain": "routing", "timeline": "recall", "directory": "catalog",
    "now": "current", "followups": "followup list", "conflicts": "conflicts", "review": "review",
    "starter": "starters",
}  # fmt: skip
_ACTIONS = {
    "edit": "edit", "supersede": "supersede", "contradict": "contradict", "archive": "archive",
    "link": "link", "close_followup": "followup close", "feedback": "feedback",
}  # fmt: skip
_ALL = {"limit": 1000}  # the budget decides

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
        operation="search",
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
        output=outputs.SEARCH,
    ),
    Tool(
        name="memory_fetch",
        title="Read one memory whole",
        description=(
            "Read one record or capture whole, by the id that another tool gave. Use it before "
            "you quote somebody or rely on a detail; a capture is what was said, word for word, "
            "a record is a statement about it, and its metadata names the captures that it "
            "quotes and what was said of it (feedback). For the attachment that a capture names, "
            "it tells name, type, size and the captures read from it. Not for looking around. A "
            "long text is cut, and truncated.next_start says where it goes on."
        ),
        operation="show",
        inputs={"id": Input(("show.id",), "a record, a capture or an attachment", required=True)},
        extra=answers.FETCH_EXTRA,
        answer=answers.fetch,
        output=outputs.FETCH,
    ),
    Tool(
        name="memory_survey",
        title="Draw a map of the memory",
        description=(
            "See what there is before you know a word to search for. Use it at the start of a "
            "session, and when a question is wide ('how have I been?'). view overview: timeline, "
            "state, people, topics, follow-ups and gaps; domain: one person, topic or phase "
            "(about); timeline: titles along time, newest first; directory: every title; now: the "
            "states that hold; followups: what is due; conflicts: both sides of what contradicts; "
            "review: what is owed, such as what was corrected, is unsourced or undated; starter: "
            "one thing worth asking the person. It shows titles and ids, hardly ever the words "
            "themselves: read those with memory_probe, memory_deep or memory_fetch."
        ),
        switch=Switch("view", _VIEWS, "which map; domain when about is given, else overview"),
        by_presence={"about": "routing"},
        implied={
            "current": _ALL,
            "followup list": _ALL,
            "conflicts": _ALL,
            "review": {"deep": True},
        },
        inputs={
            "about": Input(
                ("routing.about", "recall.about", "current.of"),
                "a person, place, topic or phase by its name, or a record by its id; now: or self",
            ),
            "query": Input(("survey.query",), "words that the overview leans towards"),
            **same(
                tuple(_VIEWS.values()),
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
        answer=answers.mapped,
        output=outputs.MAP,
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
        operation="probe",
        by_presence={"absent_topic": "absence"},
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
        operation="deep",
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
        operation="preflight",
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
        operation="capture",
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
        operation="remember",
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
        answer=answers.kept,
        output=outputs.KEPT,
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
        operation="add-record",
        inputs={
            **same(
                ("add-record",),
                {
                    **_STATEMENT,
                    "quotes": 'the words that it rests on: {"capture": id, "text": "…"}, or with '
                    '"start" and "end"',
                    "aliases": "other names of an entity",
                    "attrs": "what its kind has of its own; followup: question, due, context; "
                    "state: of (self, or an entity), block, name, value",
                    "summary_only": "it rests on no words that are kept",
                    "key": _KEY,
                },
                kind={"required": True},
            ),
        },
        answer=answers.kept,
        output=outputs.KEPT,
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
        operation="session-check",
        by_presence={"capture": "finalize"},
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
        answer=answers.closed,
        output=outputs.CLOSED,
        trusted=False,
    ),
    Tool(
        name="memory_correct",
        title="Correct a record, or say something of it",
        description=(
            "Change what holds, when the person corrects something and after you kept their "
            "words. action edit: give the record a new version (only the fields that change); "
            "supersede: another record holds instead (other); contradict: two records cannot both "
            "be so and both stay (other, reason); archive: take it out of ordinary search; link: "
            "tie it to another memory (rel, other); close_followup: say what came of it (outcome, "
            "note); feedback: keep what the person said of a memory or an answer (verdict, "
            "source), before you change it. Nothing is lost: older versions stay readable, and "
            "words themselves never change."
        ),
        switch=Switch("action", _ACTIONS, "what to do"),
        inputs={
            "id": Input(
                (
                    "edit.id",
                    "supersede.old",
                    "contradict.record",
                    "archive.id",
                    "link.src",
                    "followup close.id",
                    "feedback.target",
                ),
                "the record; for feedback also a capture, or the trace of an answer",
                required=True,
            ),
            "other": Input(
                ("supersede.new", "contradict.other", "link.dst"),
                "supersede, contradict, link: the other record, or a capture that it quotes",
            ),
            "rel": Input(("link.rel",), "link: how they belong together"),
            **same(("edit",), {**_STATEMENT, "status": "active brings back what was archived"}),
            "source": Input(
                ("supersede.source", "contradict.source", "feedback.evidence"),
                'supersede, contradict, feedback: the words that say so, {"capture": id, '
                '"text": "…"}',
            ),
            "verdict": Input(("feedback.verdict",), "feedback: what the person said of it"),
            "outcome": Input(("followup close.outcome",), "close_followup: how it ended"),
            **same(
                tuple(_ACTIONS.values()),
                {
                    "note": "close_followup: what came of it; feedback: what to make of it",
                    "trace": "feedback: the answer in which it was shown",
                    "reason": "why, in one sentence",
                    "if_match": "the etag that you read: refused when it changed meanwhile",
                    "key": _KEY,
                },
            ),
        },
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
        switch=Switch("what", {"state": "status", "pending": "pending"}, "what to say"),
        by_presence={"trace": "trace"},
        inputs={"trace": Input(("trace.id",), "the trace of an answer")},
        answer=answers.status,
        output=outputs.STATUS,
        trusted=False,
    ),
)


def find_tool(name: str) -> Tool:
    """Return the tool of that name; raises KeyError when there is none."""
    return {tool.name: tool for tool in TOOLS}[name]
