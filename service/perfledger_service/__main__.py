"""Runs the command line; `python -m perfledger_service` is `perfledger`."""

import signal
import sys
import traceback

from perfledger_service.cli.app import app
from perfledger_service.errors import PerfledgerError


def main() -> None:
    """Run the command line; our own errors are shown plainly, all others are bugs."""
    # A cancelled CI job gets SIGTERM: end through every `finally`, so that nothing is left behind.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        app(prog_name="perfledger")
    except PerfledgerError as error:
        sys.stderr.write(f"perfledger: {error}\n")
        sys.exit(error.exit_code)
    except SystemExit as ending:
        # Where nobody reads on (`| head`), typer and rich end with 1: that would be a regression.
        if isinstance(ending.__context__, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)
        raise
    except Exception:  # a boundary: a bug ends with its traceback and exit code 4
        traceback.print_exc()
        sys.exit(4)


if __name__ == "__main__":
    main()
