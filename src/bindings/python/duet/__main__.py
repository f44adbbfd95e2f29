"""`python -m duet ...`, and a wheel's script `duet`: the program."""
import os
import sys

from .errors import Unavailable
from .program import program


def main():
    try:
        path = program()
    except Unavailable as error:
        sys.exit(f"duet: {error}")
    os.execv(path, [path, *sys.argv[1:]])


if __name__ == "__main__":
    main()
