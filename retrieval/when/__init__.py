"""Time words in a query, read as days: 去年三月, 上個禮拜五, last spring, between May and July.

Good for: dates, offsets, seasons, festivals and school holidays in Chinese of both scripts and in
English. Not for: what only the speaker can date (大二那年, when I was a kid); it is left unread.
"""

from shiyi.retrieval.when.door import may_have_times, read_times
from shiyi.retrieval.when.reading import Reading
from shiyi.retrieval.when.spans import Interval

__all__ = ["Interval", "Reading", "may_have_times", "read_times"]
