# Text is UTF-8, unless the caller says otherwise.
: "${LANG:=C.UTF-8}"
export LANG
