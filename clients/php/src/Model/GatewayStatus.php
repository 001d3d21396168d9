<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum GatewayStatus: string
{
    case Ready = 'ready';
    case NoListener = 'no_listener';
    case LoopbackOnly = 'loopback_only';
    case Blocked = 'blocked';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
