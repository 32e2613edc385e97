"""The dashboard: pages of a memory for the person whose memory it is, rendered on the server.

It reads, and does the few writes that a person wants at hand, by calling operations like every
other door. Memory text is shown as plain text and as nothing else.
"""
