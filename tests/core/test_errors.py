"""Errors: one tree, drawn in its docstring, each leaf with its own code."""

import inspect

from shiyi.core import errors

TREE = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, errors.ShiyiError)
}


def test_the_tree_is_drawn_whole() -> None:
    """Every error stands in the drawing, and has a sentence of its own."""
    assert errors.__doc__ is not None
    for name, kind in TREE.items():
        assert name in errors.__doc__
        assert kind.__doc__


def test_each_error_has_its_own_code() -> None:
    """A program can tell errors apart by code, a script by an exit status that is not success."""
    codes = [kind.code for kind in TREE.values()]

    assert len(set(codes)) == len(codes)
    assert all(0 < kind.exit_code < 128 for kind in TREE.values())


def test_an_error_is_also_the_builtin_it_resembles() -> None:
    """Code that expects the usual exceptions catches ours."""
    assert issubclass(errors.UsageError, ValueError)
    assert issubclass(errors.NotFoundError, LookupError)
    assert issubclass(errors.HomeBusyError, OSError)
