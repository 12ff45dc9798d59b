"""``python -m misnomer``: the command line."""

from misnomer.cli import main

if __name__ == "__main__":
    main()
