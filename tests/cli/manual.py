"""usage: manual.py QLESS.1

The manual page has exactly the commands and options that the help of the program lists, in the same
order of the commands.
"""

import os
import re
import subprocess
import sys

QLESS = os.environ["QLESS"]


def help_of(*words):
    return subprocess.run([QLESS, "help", *words], capture_output=True, check=True,
                          text=True).stdout


def options_of(text):
    return {option for line in text.splitlines() if line.startswith("  -")
            for option in re.findall(r"--([a-z-]+)", line.split("   ")[0])}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    start, end = page.index(".Sh COMMANDS"), page.index(".Sh OPTIONS")
    described = re.findall(r"^\.Ss (\w+)", page[start:end], re.MULTILINE)
    commands = re.findall(r"^  ([a-z]+) +[A-Z]", help_of(), re.MULTILINE)
    if set(described) != set(commands):
        sys.exit(f"commands: {set(described) ^ set(commands)}")

    common = options_of(help_of())
    in_page = set(re.findall(r"Fl Fl ([a-z-]+)", page[end:page.index(".Sh JSON")]))
    if in_page != common:
        sys.exit(f"options of all commands: {in_page ^ common}")
    in_page = set(re.findall(r"Fl Fl ([a-z-]+)", page[start:end])) - {"json"}
    own = {option for command in commands for option in options_of(help_of(command))}
    if in_page != own - common:
        sys.exit(f"options of commands: {in_page ^ (own - common)}")
    if len(commands) < 20 or len(own) < 40:
        sys.exit("the help has no commands or options that this test understands")
    print(f"{len(commands)} commands and {len(own)} options are described")


if __name__ == "__main__":
    main()
