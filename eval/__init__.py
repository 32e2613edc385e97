"""How good retrieval is, measured: labelled sets, systems, measures, comparisons, reports."""
