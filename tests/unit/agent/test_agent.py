# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives the built agent over loopback, as nginx and the control plane do. Speaks TAP; arguments
are names of cases: Files, Files.test_ranges."""

import sys
import unittest

from cases_binary import *
from cases_coding import *
from cases_compressed import *
from cases_files import *
from cases_guard import *
from cases_hang_up import *
from cases_input import *
from cases_names import *
from cases_ports import *
from cases_process import *
from cases_secret import *
from cases_services import *
from cases_tree import *
from cases_watch import *


class Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0

    def say(self, test, word, more=""):
        self.count += 1
        print(f"{word} {self.count} - {'.'.join(test.id().split('.')[-2:])}{more}", flush=True)

    def addSuccess(self, test):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        self.say(test, "ok", f" # SKIP {reason}")

    def complain(self, test, error):
        self.say(test, "not ok")
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.complain(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.complain(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.complain(test, error)


if __name__ == "__main__":
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = (loader.loadTestsFromNames(names, sys.modules["__main__"]) if names
             else loader.loadTestsFromModule(sys.modules["__main__"]))
    print(f"1..{suite.countTestCases()}")
    sys.exit(not suite.run(Tap()).wasSuccessful())
