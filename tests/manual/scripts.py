"""The script that the tests load where a client would load its copy of qless."""

import hashlib
import pathlib

SCRIPT = pathlib.Path(__file__).parent.parent / "clients" / "qless.lua"
SHA = hashlib.sha1(SCRIPT.read_bytes()).hexdigest()
LOAD = 'SCRIPT LOAD "{}"'.format(SCRIPT.read_text(encoding="utf-8").replace("\n", "\\n"))
