"""Run a program with a new qlessd, whose API is at QLESSD_HTTP. Ends with the program's exit code."""

import os
import subprocess
import sys

import harness

server = harness.Server()
try:
    code = subprocess.run(
        sys.argv[1:], env=dict(os.environ, QLESSD_HTTP=f"http://127.0.0.1:{server.port}")).returncode
finally:
    server.stop()
sys.exit(code)
