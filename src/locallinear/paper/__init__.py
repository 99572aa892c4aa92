"""The paper's experiments, by one command: ``locallinear reproduce``.

The modules, in the order in which a result passes them: ``tuning`` and ``models`` (how models are
tuned, and which are compared) → ``protocol`` (one run: split, tune, refit, test) → ``runner`` (many
runs) with ``provenance`` (versions, commit, machine) → ``store`` (one row per finished run, one
claim per running one) and ``live`` (the progress) → ``summary``, ``tables`` with ``published`` (the
paper's figures), and ``render`` → ``command``. ``figures`` draws the paper's figures.
"""
