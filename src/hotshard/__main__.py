"""``python -m hotshard`` is ``hotshard``."""

import sys

from hotshard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
