"""Run the command line: ``python -m exacta``."""

from exacta.cli import main

# The guard matters: the worker processes of --jobs import this module again.
if __name__ == "__main__":
    main()
