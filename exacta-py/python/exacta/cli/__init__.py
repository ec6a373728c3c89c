"""The command line, ``exacta evaluate PRED TARGET`` (extra ``cli``).

Importing this package imports neither click, rich nor SimpleITK; :func:`main` does.
"""

import sys

__all__ = ["main"]

_EXTRA = frozenset({"click", "rich"})


def main() -> None:
    """Run the command line on ``sys.argv`` and end the process with its exit status.

    The status is 0 when every case was measured, 1 when one was not, 2 for wrong usage and 130 after an interruption.
    """
    try:
        from exacta.cli._app import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.exit(f"exacta: the command line needs {missing}, which is not installed: pip install 'exacta[cli]'")
    app(prog_name="exacta")
