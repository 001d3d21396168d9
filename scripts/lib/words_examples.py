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
    # A number at the end of a sentence is no mark of a list.
    ("doc/x.md", "\n\n".join(["The worker reads the row from the database and writes 12. " * 2] * 6) + "\n", None),
    # A list item and a step are paragraphs of their own; one long item is too long.
    ("doc/x.md", "".join(f"- {LONG[:240]}\n" for _ in range(5)), None),
    ("doc/x.md", "".join(f"{number}. {LONG[:240]}\n" for number in range(1, 6)), None),
    ("doc/x.md", f"- {LONG}\n", "paragraph of 108 words"),
    ("doc/x.md", f"- first\n- {LONG[:288]}\n  {LONG[288:]}\n", "paragraph of 108 words"),
    ("doc/x.md", f"- one\n\n  {LONG}\n", "paragraph of 108 words"),
    # Long pages show something.
    ("doc/x.md", "It waits.\n\n" * 50, "over 90 lines without"),
    ("doc/x.md", "It waits.\n\n" * 50 + "    sandlotctl status\n", None),
    ("doc/x.md", "It waits.\n\n" * 50 + "![The programs](images/x.svg)\n", None),
    ("doc/x.md", "It waits.\n\n" * 40, None),
    # Readers of tutorials and how-tos are addressed.
    ("doc/howto/x.md", "The service starts. It writes a log.\n", '"you" and "your"'),
    ("doc/howto/x.md", ADVICE + "\n", None),
    ("doc/tutorial/x.md", "The service starts. It writes a log.\n", '"you" and "your"'),
    ("doc/reference/x.md", "The service starts. It writes a log.\n", None),
    ("NEWS", "* api: whatever a client sends\n", '"whatever" (nobody'),
    ("README.md", "What is new stands in NEWS.\n", '"What" (a clause'),
    # Manual pages: macros mark names; literal displays are commands.
    ("conf/man/x.8.in", ".Sh DESCRIPTION\nIt deletes what is left over.\n", '"what" (a clause'),
    ("conf/man/x.8.in", ".Sh DESCRIPTION\nIt deletes the rest.\n.Cm what\n", None),
    ("conf/man/x.8.in", ".Bd -literal\nit goes on anew\n.Ed\nIt stops.\n", None),
    ("conf/man/x.8.in", f".Sh DESCRIPTION\n{LONG}\n", "paragraph of 108 words"),
    ("conf/man/x.8.in", f".Sh DESCRIPTION\n{LONG[:288]}\n.Pp\n{LONG[288:]}\n", None),
    ("conf/man/x.8.in", ".It Fl -all\nThe daemon is told.\n", '"is told"'),
    # Settings.
    ("fcgi/drivers/config/settings.def", 'SETTING_NUMBER(x, 1, 0, 2, "s",\n    "How long what is "\n    "old stays.")\n',
     '"what" (a clause'),
    ("fcgi/drivers/config/settings.def", 'SETTING_NUMBER(x, 1, 0, 2, "s", "How long old rows stay.")\n', None),
    # Messages: neighbours are one text; statements and names are not for readers.
    ("fcgi/front/x.c", 'log_info("it is not known "\n         "what is due");\n', '"what" (a clause'),
    ("fcgi/front/x.c", 'log_info("nobody has removed the file");\n', '"nobody" (nobody'),
    ("fcgi/front/x.c", 'fail("the team is none that exists");\n', '"is none"'),
    ("fcgi/front/x.c", 'fail("the size of it is fixed");\n', '"of it" (of it'),
    ("fcgi/front/x.c", 'puts("the delete goes on\\n");\n', '"goes on"'),
    ("fcgi/front/x.c", f'puts("{LONG}");\n', "paragraph of 108 words"),
    ("fcgi/front/x.c", 'log_info("cannot read due jobs from the database");\n', None),
    ("fcgi/front/x.c", 'db_run("SELECT what FROM those WHERE whatever of it");\n', None),
    ("fcgi/front/x.c", 'use("what", "nobody");\n', None),
    # Texts of the console.
    ("console/src/x.tsx", "<h2>What was refused there</h2>\n", '"What" (a clause'),
    ("console/src/x.tsx", "<Field hint=\"The key that nobody else has.\" />\n", '"nobody" (nobody'),
    ("console/src/x.tsx", "say('The stream goes on in the background.')\n", '"goes on"'),
    ("console/src/x.tsx", "<h2>Refused connections of it</h2>\n", '"of it" (of it'),
    ("console/src/x.tsx", "const what = nobody\n<h2>Refused connections</h2>\n", None),
    # Descriptions of the OpenAPI documents. Each text counts once; an empty line ends a paragraph.
    ("conf/openapi/api/x.json", '{"description": "What the sandbox uses."}\n', '"What" (a clause'),
    ("conf/openapi/api/x.json", '{\n  "type": "string", "summary": "Get what is there"\n}\n', '"what" (a clause'),
    ("conf/openapi/api/x.json", '{"description": "The size of it, in MiB."}\n', '"of it" (of it'),
    ("conf/openapi/e2b/x.json", '{"description": "Nobody else may read it."}\n', '"Nobody" (nobody'),
    ("conf/openapi/common.json", '{"description": "The \\"trial\\" goes on."}\n', '"goes on"'),
    ("conf/openapi/api/x.json", f'{{"description": "{LONG}"}}\n', "paragraph of 108 words"),
    ("conf/openapi/api/x.json", f'{{"description": "{LONG[:288]}\\n\\n{LONG[288:]}"}}\n', None),
    ("conf/openapi/api/x.json", '{"description": {"type": "string", "examples": ["what is left over"]}}\n', None),
    ("conf/openapi/api/x.json", '{"what": {"$use": "nobody"}, "description": "The usage of the sandbox."}\n', None),
    # Comments.
    ("fcgi/base/x.c", "/* Delete what is left over. */\n", '"what" (a clause'),
    ("fcgi/base/x.h", "/*\n * Delete the rows. Who holds the lease\n * may write.\n */\n", '"Who" (a clause'),
    ("fcgi/base/x.h", "int x; // the size of\n", None),
    ("fcgi/base/x.h", "/* Return the size of\n * it. */\n", '"of it" (of it'),
    ("fcgi/base/x.c", "/* The worker goes on. */\n", '"goes on"'),
    ("fcgi/base/x.c", "/* " + "\n * ".join([LONG[:240], LONG[240:480], LONG[480:]]) + " */\n", "paragraph of 108 words"),
    ("fcgi/base/x.c", "/* Delete the old rows. */\nint what = nobody;\n", None),
    # Comments of declarations.
    ("fcgi/base/x.h", "/* The name of a file. */\nconst char *file_name(void);\n", '"The name of a file."'),
    ("fcgi/base/x.h", "/* Whether a file\n * exists. */\nbool file_exists(int fd);\n", '"Whether a file exists."'),
    ("fcgi/base/x.h", "/* Returns 0, or -1. */\nint file_open(const char *path,\n              int flags);\n", '"Returns 0'),
    ("fcgi/base/x.h", "/* Return the name of a file. */\nconst char *file_name(void);\n", None),
    ("fcgi/base/x.h", "/* Inside a transaction: delete the row. */\nint row_delete(int id);\n", None),
    ("fcgi/base/x.h", "/* The name of a file. */\nstruct file_name {\n    int x;\n};\nint file_open(void);\n", None),
    ("fcgi/base/x.c", "/* The name of a file. */\nstatic const char *file_name(void);\n", None),
]
