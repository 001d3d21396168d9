<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

/** The type of a file; for a link, the type of its target. */
enum FileType: string
{
    case File = 'FILE_TYPE_FILE';
    case Directory = 'FILE_TYPE_DIRECTORY';

    /** A socket, a device, a link to nowhere. */
    case Unknown = 'FILE_TYPE_UNSPECIFIED';
}
