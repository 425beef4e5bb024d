"""Cases as data: what happened, made again by code, and what is to be said of it."""

from __future__ import annotations

from typing import Final

from tests.cases.keys import FEW, HOT, NO_KEY
from tests.cases.offsets import CONSUMERS, FALSE_LAG, STUCK
from tests.cases.placing import PLACING
from tests.cases.sketching import SKETCHING
from tests.cases.time import TIME
from tests.cases.treatments import TREATMENTS

ALL: Final = (*HOT, *FEW, *NO_KEY, *PLACING, *STUCK, *FALSE_LAG, *CONSUMERS, *TIME, *SKETCHING, *TREATMENTS)
