"""The paper's experiments, by one command: ``locallinear reproduce``.

One way through: ``models`` and ``tuning`` (what is compared, and how it is tuned) → ``protocol``
(one run: split, tune, refit, test) → ``store`` (a row a finished run, a claim a running one) →
``runner`` and ``live`` (many runs, watched; ``provenance`` stamps them) → ``summary``, ``tables``
and ``render`` (what the paper shows, ``published`` beside ours) and ``figures`` → ``command``.
"""
