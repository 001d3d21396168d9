<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

enum FileChange: string
{
    case Created = 'EVENT_TYPE_CREATE';
    case Written = 'EVENT_TYPE_WRITE';
    case Removed = 'EVENT_TYPE_REMOVE';
    case Renamed = 'EVENT_TYPE_RENAME';
    case ModeChanged = 'EVENT_TYPE_CHMOD';
    case Unknown = 'EVENT_TYPE_UNSPECIFIED';
}
