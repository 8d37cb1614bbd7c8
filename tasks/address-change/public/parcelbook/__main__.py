"""`python3 -m parcelbook`."""

import sys

from parcelbook.cli import main

sys.exit(main())
