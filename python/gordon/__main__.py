"""`python -m gordon` is `gordon`."""

from gordon.cli import main

if __name__ == "__main__":
    main()
