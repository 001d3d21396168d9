<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum DeploymentHostsCondition: string
{
    case Up = 'up';
    case Silent = 'silent';
    case Down = 'down';
    case Lost = 'lost';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
