"""`python -m milepost.cli`."""

from milepost.cli import main

if __name__ == "__main__":
    main()
