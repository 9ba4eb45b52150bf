"""usage: manual.py DESCRIPTION [--write] PAGE

Compares the routes in a manual page with those in a description of the API, or writes them to the
page. DESCRIPTION is the program test_http_openapi, which prints the document.
"""

import json
import pathlib
import subprocess
import sys
import textwrap

BEGIN = '.\\" The routes, as tests/http/manual.py prints them.\n'
END = '.\\" The end of the routes.\n'

# Columns of a line of names.
WIDTH = 60

GROUPS = [
    ("Queues", ("queues", "pop", "stats")),
    ("Jobs", ("jobs", "wait", "states", "search", "tracked")),
    ("Failures and tags", ("failures", "tags")),
    ("Workers", ("workers", "listeners")),
    ("Recurring jobs", ("recurring",)),
    ("Limits", ("limits",)),
    ("Endpoints", ("endpoints",)),
    ("Options of the queues", ("options",)),
]
SERVER = "The server"


def body_of(operation, schemas):
    """The schema of the body, or None."""
    body = operation.get("requestBody")
    if body is None:
        return None
    schema = body["content"]["application/json"]["schema"]
    if "oneOf" in schema:
        schema = schema["oneOf"][0]
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    return schema


def values_of(operation, schemas):
    """Pairs of a name and whether the request needs it."""
    schema = body_of(operation, schemas)
    if schema is not None:
        required = schema.get("required", ())
        return [(name, name in required) for name in schema["properties"]]
    return [(parameter["name"], parameter.get("required", False))
            for parameter in operation["parameters"]
            if parameter.get("in") == "query"]


def lines_of(method, path, operation, schemas):
    yield f".It Ic {method.upper()} No {path}"
    yield operation["summary"].replace(". ", ".\n")
    commands = [".Ic " + command.replace("|", " ").upper() for command in operation["x-commands"]]
    yield "Command:"
    yield " ,\n".join(commands) + " ."
    values = values_of(operation, schemas)
    if values:
        yield "Members:" if body_of(operation, schemas) is not None else "Parameters:"
        yield ".Bd -unfilled -offset indent -compact"
        yield from textwrap.wrap(
            " ".join(name if is_required else f"[{name}]" for name, is_required in values),
            WIDTH, break_long_words=False)
        yield ".Ed"


def text_of(description):
    schemas = description["components"]["schemas"]
    text = [BEGIN]
    known = [tag for _, tags in GROUPS for tag in tags]
    for title, tags in [*GROUPS, (SERVER, None)]:
        operations = [
            (method, path, operation)
            for path, methods in description["paths"].items()
            for method, operation in methods.items()
            if operation["x-commands"]
            and (operation["tags"][0] in tags if tags is not None
                else operation["tags"][0] not in known)]
        if not operations:
            continue
        text.append(f".Ss {title}\n.Bl -tag -width Ds\n")
        for operation in operations:
            text += (line + "\n" for line in lines_of(*operation, schemas))
        text.append(".El\n")
    return "".join([*text, END])


def main():
    description = json.loads(subprocess.run(
        [sys.argv[1], "--print"], capture_output=True, check=True).stdout)
    expected = text_of(description)
    page = pathlib.Path(sys.argv[-1])
    text = page.read_text(encoding="utf-8")
    if expected in text:
        return 0
    if "--write" in sys.argv:
        before, rest = text.split(BEGIN)
        page.write_text(before + expected + rest.split(END)[1], encoding="utf-8")
        return 0
    print(f"{page} has other routes than the server. Run: python3 tests/http/manual.py "
          f"{sys.argv[1]} --write {page}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
