"""Readers of labelled sets in the forms that others publish them in."""
