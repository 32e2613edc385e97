"""Which operation the arguments of a tool ask for, where it has several."""

from shiyi.core.errors import UsageError
from shiyi.service.mcp.tool import Values

VIEWS = {
    "overview": "survey", "domain": "routing", "timeline": "recall", "directory": "catalog",
    "now": "current", "followups": "followup list",
}  # fmt: skip


def choose_map(given: Values) -> tuple[str, Values]:
    """Return the operation of the map that is asked for."""
    view = given.get("view", "domain" if "about" in given else "overview")
    if view == "domain" and "about" not in given:
        raise UsageError("The view domain needs about: a name, a topic, a phase or an id.")
    return VIEWS[view], {}


def choose_probe(given: Values) -> tuple[str, Values]:
    """Return the cards, or the proof of absence."""
    return ("absence" if "absent_topic" in given else "probe"), {}


def choose_correction(given: Values) -> tuple[str, Values]:
    """Return the operation of the action."""
    action = given.get("action", "edit")
    if action in {"supersede", "contradict"} and "other" not in given:
        raise UsageError(f"The action {action} needs other: the id of the other record.")
    if action == "close_followup":
        return "followup close", {}
    return action, {}


def choose_closing(given: Values) -> tuple[str, Values]:
    """Return the closing of a capture, or the check of a turn."""
    return ("finalize" if "capture" in given else "session-check"), {}


def choose_state(given: Values) -> tuple[str, Values]:
    """Return the operation that says what is asked."""
    if "trace" in given:
        return "trace", {}
    return {"state": "status", "pending": "pending"}[given.get("what", "state")], {}
