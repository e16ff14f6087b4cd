"""`python -m tests.histories --seed 7` plays one history and tells it; `--count 20000` plays many."""

from tests.histories.soak import main

main()
