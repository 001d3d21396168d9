# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the manual page, in man(7), of a command from its --help. -v name=COMMAND.
#
# The first lines, until an empty one, are the synopsis; the first sentence after it says what the
# command does. "  --option WORD   text" begins an option. Other lines that are indented are examples.
# Without a description, which means that the command has failed, the exit status is 1.
BEGIN {
    printf ".TH %s 8 \"\" sandlot\n.SH NAME\n", toupper(name)
    part = "synopsis"
}
{
    gsub(/\\/, "\\e")
    gsub(/-/, "\\-")
    if (/^[.']/)
        $0 = "\\&" $0
}
part == "synopsis" && NF == 0 {
    part = "name"
    next
}
part == "synopsis" {
    sub(/^usage:/, "      ")
    synopsis = synopsis "\n.br\n" substr($0, 8)
    next
}
part == "name" {
    short = $0
    sub(/ *[.,:(;"].*/, "", short)
    printf "%s \\- %s\n.SH SYNOPSIS%s\n.SH DESCRIPTION\n", name, tolower(substr(short, 1, 1)) substr(short, 2), synopsis
    part = "text"
}
NF == 0 {
    printf "%s.PP\n", example ? ".fi\n" : ""
    example = 0
    next
}
match($0, /^ +\\-\\-[^ ]+( [^ ]+)?  +/) {
    option = $0
    sub(/^ +/, "", option)
    sub(/  +.*/, "", option)
    printf ".TP\n%s\n%s\n", option, substr($0, RLENGTH + 1)
    options = 1
    next
}
/^ / && !options {
    if (!example)
        print ".nf"
    example = 1
}
{
    if (!example)
        sub(/^ +/, "")
    print
}
END {
    exit part != "text"
}
