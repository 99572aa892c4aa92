"""Models in files, and models that write down what they learn. No pickle anywhere.

`save` and `load` keep a model in one file. `open_online` opens such a file for a service: what the
model learns and forgets goes into a journal beside the file, before the call returns.
"""

from .encoding import REGISTRY, ArrayInPieces, register
from .model_file import ModelFileError, load, save
from .online import OnlineModel, open_online

__all__ = [
    "REGISTRY",
    "ArrayInPieces",
    "ModelFileError",
    "OnlineModel",
    "load",
    "open_online",
    "register",
    "save",
]
