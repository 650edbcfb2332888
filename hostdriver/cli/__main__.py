"""`python -m hostdriver.cli`: the same as the command `emuzero`."""

from hostdriver.cli.main import main

if __name__ == "__main__":
    main()
