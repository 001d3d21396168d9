# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts that check_words.py must refuse or accept: (path, text, begin of the message, or None)."""

LONG = "The worker reads the row and writes the answer. " * 12
SENTENCE = ("The worker reads the row of the sandbox from the database and then writes the whole answer into the "
            "buffer of the request. ")
ADVICE = "Start the service. Look at your log. "

EXAMPLES = [
    # Clauses without an actor, and things without a name.
    ("doc/x.md", "What is left over is deleted by the sweep.\n", '"What" (a clause'),
    ("doc/x.md", "The sweep deletes what is left over.\n", '"what" (a clause'),
    ("doc/x.md", "Nothing stops it. Who holds the lease may write.\n", '"Who" (a clause'),
    ("doc/x.md", "- Who holds the lease may write.\n", '"Who" (a clause'),
    ("doc/x.md", "The log names the file. It says what to do next.\n", None),
    ("doc/x.md", "What is a lease? A row with a worker and a time.\n", None),
    ("doc/x.md", "The user who signed in first owns the key.\n", None),
    ("doc/x.md", "The dispatcher asks for `what is due` once a second.\n", None),
    ("doc/x.md", 'The page shows "what is new" to a user.\n', None),
    ("doc/x.md", "Two hosts answer, and the worker takes one of them.\n", '"of them" (of it'),
    ("doc/x.md", "The size of it is fixed.\n", '"of it" (of it'),
    ("doc/x.md", "The size of its disk is fixed.\n", None),
    ("doc/x.md", "Nobody waits for the copy.\n", '"Nobody" (nobody'),
    ("doc/x.md", "Send it to whoever asks.\n", '"whoever" (nobody'),
    ("doc/x.md", "| word | meaning |\n|---|---|\n| copy | nobody waits for it |\n", '"nobody" (nobody'),
    # Words that no page has.
    ("doc/x.md", "The stream goes on after the restart.\n", '"goes on"'),
    ("doc/x.md", "The team that is named is none.\n", '"is none"'),
    ("doc/x.md", "The file is written anew.\n", '"anew"'),
    ("doc/x.md", "The programs of before run for some seconds.\n", '"of before"'),
    ("doc/x.md", "The agent tells its state.\n", '"tells"'),
    ("doc/x.md", "# How it goes on\n", '"goes on"'),
    ("doc/x.md", "The stream continues after the restart.\n", None),
    ("doc/x.md", "Run this:\n\n    echo it goes on anew\n\nThen wait.\n", None),
    ("doc/x.md", "```\nit goes on anew\n```\n", None),
    # Lengths. A list, a table and a command end a paragraph.
    ("doc/x.md", LONG + "\n", "paragraph of 108 words"),
    ("doc/x.md", LONG[:len(LONG) // 2] + "\n\n" + LONG[len(LONG) // 2:] + "\n", None),
    ("doc/x.md", LONG[:len(LONG) // 2] + "\n- " + LONG[len(LONG) // 2:] + "\n", None),
    ("doc/x.md", "\n\n".join([SENTENCE * 2] * 3) + "\n", "sentences have"),
    ("doc/x.md", "\n\n".join([SENTENCE + "It waits. It reads. "] * 3) + "\n", None),
    # Readers of tutorials and how-tos are addressed.
    ("doc/howto/x.md", "The service starts. It writes a log.\n", '"you" and "your"'),
    ("doc/howto/x.md", ADVICE + "\n", None),
    ("doc/reference/x.md", "The service starts. It writes a log.\n", None),
]
