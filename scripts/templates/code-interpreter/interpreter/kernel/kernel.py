# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of Python: Jupyter's, which also shows tables and charts as data."""

import sys

import environment
import shapes

sys.path.pop(0)  # this folder: cells import from their own

# pylint: disable=wrong-import-position
from ipykernel.kernelapp import IPKernelApp  # noqa: E402
from traitlets.config import Config  # noqa: E402

config = Config()
config.InteractiveShell.colors = "NoColor"
config.HistoryManager.enabled = False
app = IPKernelApp.instance(config=config)
app.initialize(sys.argv[1:])
shapes.install(app.shell)
app.shell.events.register("post_run_cell", environment.leave)
app.start()
