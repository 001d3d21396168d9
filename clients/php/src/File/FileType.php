<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

/** Of a link, what its target is. */
enum FileType: string
{
    case File = 'FILE_TYPE_FILE';
    case Directory = 'FILE_TYPE_DIRECTORY';

    /** A socket, a device, a link to nowhere. */
    case Unknown = 'FILE_TYPE_UNSPECIFIED';
}
