"""`python -m roundhouse.cli`."""

from roundhouse.cli.main import main

if __name__ == "__main__":
    main()
