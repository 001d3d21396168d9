# SPDX-License-Identifier: GPL-2.0-or-later
"""Let the lists of apt name another file for a package: NAME SHA256 SIZE. Print how many lists have the package."""

import glob
import os
import re
import subprocess
import sys

name, digest, size = sys.argv[1:]
found = 0
for path in glob.glob("/var/lib/apt/lists/*_Packages*"):
    text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], capture_output=True, check=True).stdout.decode()
    entry = re.search(rf"^Package: {name}\n.*?(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    if entry is None:
        continue
    found += 1
    new = re.sub(r"^(MD5sum|SHA1|SHA512|Depends|Pre-Depends): .*\n", "", entry[0], flags=re.MULTILINE)
    new = re.sub(r"^SHA256: .*$", f"SHA256: {digest}", new, flags=re.MULTILINE)
    new = re.sub(r"^Size: .*$", f"Size: {size}", new, flags=re.MULTILINE)
    os.unlink(path)
    with open(re.sub(r"\.(lz4|gz|xz|zst)$", "", path), "w", encoding="utf-8") as file:
        file.write(text.replace(entry[0], new))
print(found)
