<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

enum OutputKind: string
{
    case Stdout = 'stdout';
    case Stderr = 'stderr';

    /** Both at once, as a terminal shows them. */
    case Terminal = 'pty';
}
