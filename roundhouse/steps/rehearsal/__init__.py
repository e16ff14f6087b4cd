"""A rehearsal's steps: begin (claim, create), look (judge), end (delete, keep), tidy (clear leftovers). Ports only."""
