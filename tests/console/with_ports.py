#!/usr/bin/env python3
"""usage: with_ports.py COMMAND [ARGUMENT]...

Run a test with two ports that no other test gets: for RESP in QLESSD_PORT, and for HTTP in
QLESSD_HTTP_PORT.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "lib"))
from ports import Reserved  # noqa: E402

resp, http = Reserved(), Reserved()
os.environ.update(QLESSD_PORT=str(resp.port), QLESSD_HTTP_PORT=str(http.port))
sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
